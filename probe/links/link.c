#include "links/link.h"

#include "base/state.h"

#include <stdio.h>
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

static bool check(const struct step *step, uint64_t *result)
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
            if (!check(some, &results[done]))
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
