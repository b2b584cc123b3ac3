/* Two links used as one. */
#include "links/link.h"

#include <stdio.h>
#include <stdlib.h>

struct combined {
    struct link link; /* first */
    struct link_ops ops;
    struct link *control, *counters;
};

static struct combined *self_of(struct link *link)
{
    return (struct combined *)link;
}

static struct link *owner(const struct combined *self, const struct step *step)
{
    return step->at.space == SPACE_MSR ? self->counters : self->control;
}

/* How many steps from here belong to one link. The links' clocks differ: OP_TIME uses ours. */
static size_t gather(const struct combined *self, const struct step *steps, size_t n)
{
    size_t length = 0;
    while (length < n && steps[length].op != OP_TIME && owner(self, &steps[length]) == owner(self, &steps[0]))
        length++;
    return length;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    const struct combined *self = self_of(link);
    for (size_t done = 0; done < n;) {
        size_t length = gather(self, steps + done, n - done);
        if (length == 0) {
            results[done++] = (uint64_t)deadline_now_us();
            continue;
        }
        struct outcome outcome =
            link_execute(owner(self, &steps[done]), steps + done, length, results + done, deadline, error);
        done += outcome.done;
        if (outcome.why != DONE) {
            outcome.done = done;
            return outcome;
        }
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct combined *self = self_of(link);
    size_t first = link_views(self->control, out, room, error);
    if (first == 0)
        return 0;
    size_t second = first < room ? link_views(self->counters, out + first, room - first, error) : 0;
    for (size_t i = first; i < first + second; i++)
        out[i].counts_only = true;
    return second > 0 ? first + second : 0;
}

static void describe(struct link *link, char *out, size_t size)
{
    char control[128], counters[128];
    link_describe(self_of(link)->control, control, sizeof control);
    link_describe(self_of(link)->counters, counters, sizeof counters);
    snprintf(out, size, "%s, counters by %s", control, counters);
}

static bool hold(struct link *link, bool on, struct error *error)
{
    return link_hold(self_of(link)->control, on, error);
}

static void hold_while(struct link *link, const struct step *halted)
{
    link_hold_while(self_of(link)->control, halted);
}

static bool server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                       struct error *error)
{
    return link_server_run(self_of(link)->control, unit, run, deadline, error);
}

static bool claim_both(struct link *link, const struct claim *claim, struct error *error)
{
    return link_claim(self_of(link)->control, claim, error) &&
           link_claim(self_of(link)->counters, claim, error);
}

static bool recover_both(struct link *link, struct error *error)
{
    return link_server_recover(self_of(link)->control, error) &&
           link_server_recover(self_of(link)->counters, error);
}

static struct debugger *debugger_of(struct link *link)
{
    return link_debugger(self_of(link)->control);
}

/* The counters' link restores its registers before the core's link lets go of the core. */
static bool end_combined(struct link *link, struct error *error)
{
    link_close(self_of(link)->counters);
    self_of(link)->counters = NULL;
    return link_end(self_of(link)->control, error);
}

static void close_combined(struct link *link)
{
    link_close(self_of(link)->counters);
    link_close(self_of(link)->control);
    free(link);
}

struct link *link_combined_new(struct link *control, struct link *counters, struct error *error)
{
    struct combined *self = calloc(1, sizeof *self);
    if (self == NULL) {
        link_close(counters);
        link_close(control);
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    self->ops =
        (struct link_ops){.execute = execute,
                          .views = views,
                          .describe = describe,
                          .hold = hold,
                          .hold_while = hold_while,
                          .claim = claim_both,
                          .recover = recover_both,
                          .server_run = link_has_server(control) ? server_run : NULL,
                          .debugger = debugger_of,
                          .end = end_combined,
                          .close = close_combined,
                          .exact_faults = link_faults_are_exact(control) && link_faults_are_exact(counters),
                          .comes_back = link_comes_back(control) || link_comes_back(counters)};
    self->link.ops = &self->ops;
    self->control = control;
    self->counters = counters;
    snprintf(self->link.name, sizeof self->link.name, "%.120s, counters by %.120s", link_identity(control),
             link_identity(counters));
    return &self->link;
}
