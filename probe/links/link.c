/* SPDX-License-Identifier: MIT */
#include "links/link.h"

#include "base/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps on results: links do not know them. A copy becomes a plain write once its result is there; a
 * check is made here, before any later step is sent. */

enum { COPIED = 256 };

/* How many steps can go out as they are, or with their copies made: up to a check, or to a copy whose result
 * is not there yet. */
static size_t find_part(const struct step *steps, size_t n, bool *copies)
{
    size_t length = 0;
    *copies = false;
    for (; length < n && steps[length].op != OP_CHECK; length++) {
        if (steps[length].op != OP_COPY)
            continue;
        if (steps[length].back <= length || length >= COPIED)
            break;
        *copies = true;
    }
    return *copies && length > COPIED ? COPIED : length;
}

static void make_copies(const struct step *steps, size_t n, const uint64_t *results, struct step *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = steps[i];
        if (steps[i].op != OP_COPY)
            continue;
        out[i].op = OP_WRITE;
        out[i].value = *(results + i - steps[i].back);
    }
}

static bool combined_check(const struct step *step, uint64_t *result)
{
    *result = *(result - step->back);
    return (*result & step->mask) == step->value;
}

struct outcome link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    struct deadline budget = deadline_in_ms(LINK_BUDGET_MS, NULL);
    while (done < n) {
        struct step made[COPIED];
        if (done > 0 && deadline_passed(&budget))
            return (struct outcome){.why = NOT_YET, .done = done};
        const struct step *some = steps + done;
        if (some->op == OP_CHECK) {
            if (!combined_check(some, &results[done]))
                return (struct outcome){.why = UNEXPECTED, .done = done, .saw = results[done]};
            done++;
            continue;
        }
        bool copies;
        size_t length = find_part(some, n - done, &copies);
        if (copies) {
            make_copies(some, length, results + done, made);
            some = made;
        }
        struct outcome outcome = link->ops->execute(link, some, length, results + done, deadline, error);
        outcome.done += done;
        done += length;
        if (outcome.why != DONE)
            return outcome;
    }
    return (struct outcome){.why = DONE, .done = n};
}

bool link_release(struct link *link, const struct deadline *deadline, struct error *error)
{
    return link->ops->release == NULL || link->ops->release(link, deadline, error);
}

bool link_trace_can(struct link *link)
{
    return link->ops->trace_can != NULL && link->ops->trace_can(link);
}

bool link_trace_start(struct link *link, struct link_trace *trace, struct error *error)
{
    return link->ops->trace_start(link, trace, error);
}

bool link_trace_read(struct link *link, uint8_t *out, size_t room, size_t *n, bool *lost, struct error *error)
{
    return link->ops->trace_read(link, out, room, n, lost, error);
}

size_t link_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    return link->ops->views(link, out, room, error);
}

void link_describe(struct link *link, char *out, size_t size)
{
    link->ops->describe(link, out, size);
}

bool link_hold(struct link *link, bool hold, struct error *error)
{
    return link->ops->hold == NULL || link->ops->hold(link, hold, error);
}

void link_hold_while(struct link *link, const struct step *halted)
{
    if (link->ops->hold_while != NULL)
        link->ops->hold_while(link, halted);
}

bool link_claim(struct link *link, const struct claim *claim, struct error *error)
{
    return link->ops->claim == NULL || link->ops->claim(link, claim, error);
}

bool link_server_recover(struct link *link, struct error *error)
{
    return link->ops->recover == NULL || link->ops->recover(link, error);
}

bool link_faults_are_exact(const struct link *link)
{
    return link->ops->exact_faults;
}

struct debugger *link_debugger(struct link *link)
{
    return link->ops->debugger == NULL ? NULL : link->ops->debugger(link);
}

bool link_mark_cacheable(struct link *link, uint16_t unit)
{
    if (link->ops->mark_cacheable != NULL)
        link->ops->mark_cacheable(link, unit);
    return link->ops->mark_cacheable != NULL && !link_has_server(link);
}

void link_leave_power(struct link *link, enum link_power power)
{
    if (link->ops->leave_power != NULL)
        link->ops->leave_power(link, power);
}

bool link_comes_back(const struct link *link)
{
    return link->ops->comes_back;
}

bool link_has_server(const struct link *link)
{
    return link->ops->server_run != NULL;
}

bool link_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                     struct error *error)
{
    return link->ops->server_run == NULL || link->ops->server_run(link, unit, run, deadline, error);
}

bool link_server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                        struct error *error)
{
    return link->ops->server_forget == NULL || link->ops->server_forget(link, unit, deadline, error);
}

bool link_server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                       struct error *error)
{
    return link->ops->server_reset == NULL || link->ops->server_reset(link, unit, halt, deadline, error);
}

bool link_lock(struct link *link, const char *name, struct error *error)
{
    snprintf(link->name, sizeof link->name, "%s", name);
    return link->lock != NULL || lock_take(name, &link->lock, error);
}

const char *link_identity(const struct link *link)
{
    return link->name;
}

void link_end_name(char *out, size_t size, const char *kind, const char *host, uint16_t port)
{
    bool here = strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
    snprintf(out, size, "%s %.150s:%u", kind, here ? "localhost" : host, port);
}

bool link_end(struct link *link, struct error *error)
{
    return link == NULL || link->ops->end == NULL || link->ops->end(link, error);
}

void link_close(struct link *link)
{
    struct lock *lock = link != NULL ? link->lock : NULL;
    if (link != NULL)
        link->ops->close(link);
    lock_free(lock);
}

/* ---- two links used as one */

struct combined {
    struct link link; /* first */
    struct link_ops ops;
    struct link *control, *counters;
};

static struct combined *combined_self_of(struct link *link)
{
    return (struct combined *)link;
}

static struct link *owner(const struct combined *self, const struct step *step)
{
    return step->at.space == SPACE_MSR ? self->counters : self->control;
}

/* How many steps from here belong to one link. The links' clocks differ: OP_TIME uses ours. */
static size_t combined_gather(const struct combined *self, const struct step *steps, size_t n)
{
    size_t length = 0;
    while (length < n && steps[length].op != OP_TIME && owner(self, &steps[length]) == owner(self, &steps[0]))
        length++;
    return length;
}

static struct outcome combined_execute(struct link *link, const struct step *steps, size_t n,
                                       uint64_t *results, const struct deadline *deadline,
                                       struct error *error)
{
    const struct combined *self = combined_self_of(link);
    for (size_t done = 0; done < n;) {
        size_t length = combined_gather(self, steps + done, n - done);
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

static size_t combined_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct combined *self = combined_self_of(link);
    size_t first = link_views(self->control, out, room, error);
    if (first == 0)
        return 0;
    size_t second = first < room ? link_views(self->counters, out + first, room - first, error) : 0;
    for (size_t i = first; i < first + second; i++)
        out[i].counts_only = true;
    return second > 0 ? first + second : 0;
}

static void combined_describe(struct link *link, char *out, size_t size)
{
    char control[128], counters[128];
    link_describe(combined_self_of(link)->control, control, sizeof control);
    link_describe(combined_self_of(link)->counters, counters, sizeof counters);
    snprintf(out, size, "%s, counters by %s", control, counters);
}

static bool combined_hold(struct link *link, bool on, struct error *error)
{
    return link_hold(combined_self_of(link)->control, on, error);
}

static void combined_hold_while(struct link *link, const struct step *halted)
{
    link_hold_while(combined_self_of(link)->control, halted);
}

static bool combined_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                                struct error *error)
{
    return link_server_run(combined_self_of(link)->control, unit, run, deadline, error);
}

static bool claim_both(struct link *link, const struct claim *claim, struct error *error)
{
    return link_claim(combined_self_of(link)->control, claim, error) &&
           link_claim(combined_self_of(link)->counters, claim, error);
}

static bool recover_both(struct link *link, struct error *error)
{
    return link_server_recover(combined_self_of(link)->control, error) &&
           link_server_recover(combined_self_of(link)->counters, error);
}

static struct debugger *combined_debugger_of(struct link *link)
{
    return link_debugger(combined_self_of(link)->control);
}

/* The counters' link restores its registers before the core's link lets go of the core. */
static bool end_combined(struct link *link, struct error *error)
{
    link_close(combined_self_of(link)->counters);
    combined_self_of(link)->counters = NULL;
    return link_end(combined_self_of(link)->control, error);
}

static void close_combined(struct link *link)
{
    link_close(combined_self_of(link)->counters);
    link_close(combined_self_of(link)->control);
    free(link);
}

struct link *link_combined_new(struct link *control, struct link *counters, struct error *error)
{
    struct combined *self = calloc(1, sizeof *self);
    if (self == NULL) {
        link_close(counters);
        link_close(control);
        return error_memory_null(error);
    }
    self->ops =
        (struct link_ops){.execute = combined_execute,
                          .views = combined_views,
                          .describe = combined_describe,
                          .hold = combined_hold,
                          .hold_while = combined_hold_while,
                          .claim = claim_both,
                          .recover = recover_both,
                          .server_run = link_has_server(control) ? combined_server_run : NULL,
                          .debugger = combined_debugger_of,
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
