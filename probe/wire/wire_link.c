/* A link whose requests and answers are on file: around another one in a recording, alone in a replay. */
#include "debuggers/debugger.h"
#include "wire/inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wire_link {
    struct link link; /* first */
    struct link_ops ops;
    struct wire *wire;
    struct link *inner; /* NULL: a replay */
    struct debugger *debugger;
};

static struct wire_link *self_of(struct link *link)
{
    return (struct wire_link *)link;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    struct wire *wire = self_of(link)->wire;
    struct link *inner = self_of(link)->inner;
    struct outcome outcome = {.why = LINK_LOST};
    struct error why = {0};
    if (!wire_ask_steps(wire, steps, n, error))
        return outcome;
    if (inner != NULL)
        outcome = inner->ops->execute(inner, steps, n, results, deadline, &why);
    wire_answer(wire);
    wire_outcome(wire, steps, n, &outcome, results);
    return wire_closed(wire, &why, error) ? outcome : (struct outcome){.why = LINK_LOST};
}

static void pass_view(struct wire *wire, struct link_view *view)
{
    uint64_t unit = view->unit, port = view->port, core = view->core_id, state = view->state;
    wire_number(wire, UINT16_MAX, &unit);
    wire_text(wire, view->name, sizeof view->name);
    wire_text(wire, view->type, sizeof view->type);
    wire_flag(wire, &view->is_core);
    wire_flag(wire, &view->has_port);
    wire_number(wire, UINT16_MAX, &port);
    wire_number(wire, UINT64_MAX, &view->debug_base);
    wire_number(wire, UINT_MAX, &core);
    wire_number(wire, VIEW_RESET, &state);
    wire_flag(wire, &view->counts_only);
    view->unit = (uint16_t)unit;
    view->port = (uint16_t)port;
    view->core_id = (unsigned)core;
    view->state = (enum view_state)state;
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    struct wire *wire = self_of(link)->wire;
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    if (!wire_ask(wire, error, "views"))
        return 0;
    uint64_t n = inner != NULL ? link_views(inner, out, room, &why) : 0;
    wire_answer(wire);
    wire_number(wire, room, &n);
    for (size_t i = 0; i < n; i++) {
        if (inner == NULL)
            out[i] = (struct link_view){0};
        pass_view(wire, &out[i]);
    }
    return wire_closed(wire, &why, error) ? (size_t)n : 0;
}

static void describe(struct link *link, char *out, size_t size)
{
    struct wire *wire = self_of(link)->wire;
    struct link *inner = self_of(link)->inner;
    out[0] = '\0';
    if (!wire_ask(wire, NULL, "describe"))
        return;
    if (inner != NULL)
        link_describe(inner, out, size);
    wire_answer(wire);
    wire_text(wire, out, size);
    (void)wire_answered(wire, NULL);
}

static bool hold(struct link *link, bool on, struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "hold %d", on) &&
           wire_worked(self_of(link)->wire, inner != NULL && link_hold(inner, on, &why), &why, error);
}

static void hold_while(struct link *link, const struct step *halted)
{
    struct wire *wire = self_of(link)->wire;
    struct link *inner = self_of(link)->inner;
    struct line step = {0};
    if (halted != NULL)
        wire_step(&step, halted);
    if (wire_ask(wire, NULL, "hold-while %s", step.bytes != NULL ? step.bytes : "-")) {
        if (inner != NULL)
            link_hold_while(inner, halted);
        wire_answer(wire);
        (void)wire_answered(wire, NULL);
    }
    line_free(&step);
}

/* Who claims it is not asked: that is a process of the host. */
static bool claim(struct link *link, const struct claim *claim, struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "claim") &&
           wire_worked(self_of(link)->wire, inner != NULL && link_claim(inner, claim, &why), &why, error);
}

static bool recover(struct link *link, struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "recover") &&
           wire_worked(self_of(link)->wire, inner != NULL && link_server_recover(inner, &why), &why, error);
}

static bool server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                       struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "server-%s %u", run ? "run" : "halt", unit) &&
           wire_worked(self_of(link)->wire,
                       inner != NULL && link_server_run(inner, unit, run, deadline, &why), &why, error);
}

static bool server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                          struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "server-forget %u", unit) &&
           wire_worked(self_of(link)->wire, inner != NULL && link_server_forget(inner, unit, deadline, &why),
                       &why, error);
}

static bool server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                         struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "server-reset %u%s", unit, halt ? " halt" : "") &&
           wire_worked(self_of(link)->wire,
                       inner != NULL && link_server_reset(inner, unit, halt, deadline, &why), &why, error);
}

static struct debugger *debugger_of(struct link *link)
{
    return self_of(link)->debugger;
}

static void leave_power(struct link *link, enum link_power power)
{
    struct wire *wire = self_of(link)->wire;
    struct link *inner = self_of(link)->inner;
    if (!wire_ask(wire, NULL, "power %d", (int)power))
        return;
    if (inner != NULL)
        link_leave_power(inner, power);
    wire_answer(wire);
    (void)wire_answered(wire, NULL);
}

static bool release(struct link *link, const struct deadline *deadline, struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "release") &&
           wire_worked(self_of(link)->wire, inner != NULL && link_release(inner, deadline, &why), &why,
                       error);
}

static bool end(struct link *link, struct error *error)
{
    struct link *inner = self_of(link)->inner;
    struct error why = {0};
    return wire_ask(self_of(link)->wire, error, "end %s", wire_debugger_leaves(self_of(link)->debugger)) &&
           wire_worked(self_of(link)->wire, inner != NULL && link_end(inner, &why), &why, error);
}

static void close_link(struct link *link)
{
    struct wire_link *self = self_of(link);
    bool asked = wire_ask(self->wire, NULL, "close %s", wire_debugger_leaves(self->debugger));
    link_close(self->inner);
    if (asked) {
        wire_answer(self->wire);
        (void)wire_answered(self->wire, NULL);
    }
    wire_debugger_free(self->debugger);
    free(self);
}

static const struct link_ops all_ops = {.execute = execute,
                                        .views = views,
                                        .describe = describe,
                                        .hold = hold,
                                        .hold_while = hold_while,
                                        .claim = claim,
                                        .recover = recover,
                                        .server_run = server_run,
                                        .server_forget = server_forget,
                                        .server_reset = server_reset,
                                        .debugger = debugger_of,
                                        .leave_power = leave_power,
                                        .release = release,
                                        .end = end,
                                        .close = close_link};

/* What callers can know of a link without asking it. */
static bool pass_nature(struct wire_link *self)
{
    struct link *inner = self->inner;
    struct debugger *debugger = inner != NULL ? link_debugger(inner) : NULL;
    bool has_server = inner != NULL && link_has_server(inner), has_debugger = debugger != NULL;
    self->ops = all_ops;
    self->ops.exact_faults = inner != NULL && link_faults_are_exact(inner);
    self->ops.comes_back = inner != NULL && link_comes_back(inner);
    wire_flag(self->wire, &has_server);
    wire_flag(self->wire, &self->ops.exact_faults);
    wire_flag(self->wire, &self->ops.comes_back);
    wire_text(self->wire, self->link.note, sizeof self->link.note);
    wire_flag(self->wire, &has_debugger);
    if (!has_server)
        self->ops.server_run = NULL;
    if (has_debugger)
        self->debugger = wire_debugger_new(self->wire, debugger);
    return !has_debugger || self->debugger != NULL;
}

static struct link *connect_new(struct wire_link *self, struct link *(*open)(void *context, struct error *),
                                void *context, struct error *error)
{
    struct error why = {0};
    struct link *inner = self->inner = self->wire->replays ? NULL : open(context, &why);
    bool opened = inner != NULL;
    if (inner != NULL) {
        memcpy(self->link.name, inner->name, sizeof self->link.name);
        memcpy(self->link.note, inner->note, sizeof self->link.note);
    }
    wire_answer(self->wire);
    wire_flag(self->wire, &opened);
    bool ok = !opened || pass_nature(self);
    bool answered = wire_closed(self->wire, &why, error);
    if (ok && answered && opened)
        return &self->link;
    error_copy(error, &why);
    if (!ok)
        error_set(error, ERROR_SYSTEM, "out of memory");
    link_close(inner);
    wire_debugger_free(self->debugger);
    return NULL;
}

struct link *wire_connect(struct wire *wire, struct link *(*open)(void *context, struct error *),
                          void *context, struct error *error)
{
    struct wire_link *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_null(error, ERROR_SYSTEM, "out of memory");
    self->wire = wire;
    self->link.ops = &self->ops;
    struct link *link = wire_ask(wire, error, "connect") ? connect_new(self, open, context, error) : NULL;
    if (link == NULL)
        free(self);
    return link;
}
