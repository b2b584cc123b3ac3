#include "links/link.h"

#include <stdio.h>
#include <string.h>

/* ---- copies of results: no link knows them, each gets plain writes once the result is there */

enum { COPIED = 64 };

static size_t find_copy(const struct step *steps, size_t n)
{
    size_t at = 0;
    while (at < n && steps[at].op != OP_COPY)
        at++;
    return at;
}

/* From a copy on, up to one of a result that is not there yet. */
static size_t make_copies(const struct step *steps, size_t n, const uint64_t *results, struct step *out)
{
    size_t length = 0;
    for (; length < n && length < COPIED; length++) {
        out[length] = steps[length];
        if (steps[length].op != OP_COPY)
            continue;
        if (steps[length].value <= length && length > 0)
            break;
        out[length].op = OP_WRITE;
        out[length].value = *(results + length - steps[length].value);
    }
    return length;
}

struct outcome link_execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                            const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    while (done < n) {
        struct step made[COPIED];
        const struct step *some = steps + done;
        size_t length = find_copy(some, n - done);
        if (length == 0) {
            length = make_copies(some, n - done, results + done, made);
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

bool link_faults_are_exact(const struct link *link)
{
    return link->ops->exact_faults;
}

struct debugger *link_debugger(struct link *link)
{
    return link->ops->debugger == NULL ? NULL : link->ops->debugger(link);
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

void link_close(struct link *link)
{
    if (link != NULL)
        link->ops->close(link);
}
