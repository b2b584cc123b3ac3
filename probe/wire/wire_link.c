/* SPDX-License-Identifier: MIT */
/* A link and its debugger, whose requests and answers are on file: around others in a recording, alone in a
 * replay. */
#include "debuggers/debugger.h"

#include "wire/inside.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the debugger --------------------------------------------------------------------------------------- */

struct wire_debugger {
    struct debugger debugger; /* first */
    struct debugger_ops ops;
    struct wire *wire;
    struct debugger *inner; /* NULL: a replay */
};

static struct wire_debugger *wire_debugger_of(const struct debugger *debugger)
{
    return (struct wire_debugger *)debugger;
}

/* The one at the other end, which has to know what was decided here. */
static struct debugger *inner_of(struct debugger *debugger)
{
    struct debugger *inner = wire_debugger_of(debugger)->inner;
    if (inner != NULL) {
        inner->stays_halted = debugger->stays_halted;
        inner->undoing = debugger->undoing;
        debugger->facts = inner->facts; /* a connection that was made again may have others */
    }
    return inner;
}

/* How it is to leave the core, which the inner one is given; `debugger` may be NULL. */
static const char *wire_debugger_leaves(struct debugger *debugger)
{
    if (debugger == NULL)
        return "-";
    (void)inner_of(debugger);
    return debugger->stays_halted ? "halted" : "running";
}

static bool wire_link_read_memory(struct debugger *debugger, uint64_t at, void *out, size_t n,
                                  const struct deadline *deadline, struct error *error)
{
    struct wire *wire = wire_debugger_of(debugger)->wire;
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    if (!wire_ask(wire, error, "read-memory %" PRIx64 " %zx", at, n))
        return false;
    bool ok = inner != NULL && inner->ops->read_memory(inner, at, out, n, deadline, &why);
    wire_answer(wire);
    wire_flag(wire, &ok);
    if (ok)
        wire_bytes(wire, out, n);
    return wire_closed(wire, &why, error) && ok;
}

static bool wire_link_write_memory(struct debugger *debugger, uint64_t at, const void *bytes, size_t n,
                                   const struct deadline *deadline, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    struct line text = {0};
    line_add_bytes(&text, bytes, n);
    bool ok = wire_ask(wire_debugger_of(debugger)->wire, error, "write-memory %" PRIx64 "%s", at,
                       text.bytes != NULL ? text.bytes : "") &&
              wire_worked(wire_debugger_of(debugger)->wire,
                          inner != NULL && inner->ops->write_memory(inner, at, bytes, n, deadline, &why),
                          &why, error);
    line_free(&text);
    return ok;
}

static bool wire_link_breakpoint(struct debugger *debugger, uint64_t at, unsigned size, bool set,
                                 const struct deadline *deadline, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(wire_debugger_of(debugger)->wire, error, "%s-breakpoint %" PRIx64 " %u",
                    set ? "set" : "clear", at, size) &&
           wire_worked(wire_debugger_of(debugger)->wire,
                       inner != NULL && inner->ops->breakpoint(inner, at, size, set, deadline, &why), &why,
                       error);
}

static bool wire_link_go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
                         struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(wire_debugger_of(debugger)->wire, error, "go %s",
                    how == DEBUGGER_STEP ? "step" : "run") &&
           wire_worked(wire_debugger_of(debugger)->wire,
                       inner != NULL && inner->ops->go(inner, how, deadline, &why), &why, error);
}

static void pass_stop(struct wire *wire, struct debugger_stop *stop)
{
    uint64_t why = stop->why, halts = stop->halts, cpu = stop->cpu;
    wire_number(wire, DEBUGGER_ENDED, &why);
    wire_text(wire, stop->thread, sizeof stop->thread);
    wire_text(wire, stop->core, sizeof stop->core);
    wire_number(wire, UINT_MAX, &halts);
    wire_flag(wire, &stop->has_cpu);
    wire_number(wire, UINT_MAX, &cpu);
    stop->why = (enum debugger_why)why;
    stop->halts = (unsigned)halts;
    stop->cpu = (unsigned)cpu;
}

static enum debugger_wait wait_for_stop(struct debugger *debugger, struct debugger_stop *stop,
                                        const struct deadline *deadline, struct error *error)
{
    struct wire *wire = wire_debugger_of(debugger)->wire;
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    *stop = (struct debugger_stop){0};
    if (!wire_ask(wire, error, "wait"))
        return DEBUGGER_GONE;
    uint64_t how = inner != NULL ? inner->ops->wait(inner, stop, deadline, &why) : DEBUGGER_GONE;
    wire_answer(wire);
    wire_number(wire, DEBUGGER_GONE, &how);
    if (how == DEBUGGER_STOPPED)
        pass_stop(wire, stop);
    return wire_closed(wire, &why, error) ? (enum debugger_wait)how : DEBUGGER_GONE;
}

static bool wire_link_interrupt(struct debugger *debugger, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(wire_debugger_of(debugger)->wire, error, "interrupt") &&
           wire_worked(wire_debugger_of(debugger)->wire, inner != NULL && inner->ops->interrupt(inner, &why),
                       &why, error);
}

static bool wire_link_read_register(struct debugger *debugger, const char *name, uint64_t *out,
                                    const struct deadline *deadline, struct error *error)
{
    struct wire *wire = wire_debugger_of(debugger)->wire;
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    if (!wire_ask(wire, error, "read-register %s", name))
        return false;
    bool ok = inner != NULL && inner->ops->read_register(inner, name, out, deadline, &why);
    wire_answer(wire);
    wire_flag(wire, &ok);
    if (ok)
        wire_number(wire, UINT64_MAX, out);
    return wire_closed(wire, &why, error) && ok;
}

static bool wire_link_monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                              const struct deadline *deadline, struct error *error)
{
    struct wire *wire = wire_debugger_of(debugger)->wire;
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    out[0] = '\0';
    if (!wire_ask(wire, error, "monitor %s", command))
        return false;
    bool ok = inner != NULL && inner->ops->monitor(inner, command, out, size, deadline, &why);
    wire_answer(wire);
    wire_flag(wire, &ok);
    wire_text(wire, out, size);
    return wire_closed(wire, &why, error) && ok;
}

static bool wire_link_is_running(const struct debugger *debugger)
{
    struct wire *wire = wire_debugger_of(debugger)->wire;
    const struct debugger *inner = wire_debugger_of(debugger)->inner;
    if (!wire_ask(wire, NULL, "is-running"))
        return false;
    bool running = inner != NULL && inner->ops->is_running(inner);
    wire_answer(wire);
    wire_flag(wire, &running);
    return wire_answered(wire, NULL) && running;
}

/* The link that the inner debugger belongs to closes it. */
static void close_nothing(struct debugger *debugger, bool run)
{
    (void)debugger;
    (void)run;
}

static const struct debugger_ops all_debugger_ops = {.read_memory = wire_link_read_memory,
                                                     .write_memory = wire_link_write_memory,
                                                     .breakpoint = wire_link_breakpoint,
                                                     .go = wire_link_go,
                                                     .wait = wait_for_stop,
                                                     .interrupt = wire_link_interrupt,
                                                     .read_register = wire_link_read_register,
                                                     .monitor = wire_link_monitor,
                                                     .is_running = wire_link_is_running,
                                                     .close = close_nothing};

static void pass_facts(struct wire *wire, struct debugger_facts *facts)
{
    uint64_t server = facts->server, profile = facts->profile, cpu = facts->cpu;
    wire_text(wire, facts->name, sizeof facts->name);
    wire_number(wire, SERVERS - 1, &server);
    wire_text(wire, facts->architecture, sizeof facts->architecture);
    wire_text(wire, facts->core, sizeof facts->core);
    wire_number(wire, PROFILE_OTHER, &profile);
    bool *const flags[] = {&facts->has_cores, &facts->was_halted, &facts->is_emulator, &facts->is_attended,
                           &facts->has_cpu};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        wire_flag(wire, flags[i]);
    wire_number(wire, UINT_MAX, &cpu);
    facts->server = (enum server)server;
    facts->profile = (enum debugger_profile)profile;
    facts->cpu = (unsigned)cpu;
}

static void pass_access(struct wire *wire, struct access *access)
{
    uint64_t used = access->used;
    wire_flag(wire, &access->settled);
    wire_number(wire, ACCESS_WAYS, &used);
    wire_flag(wire, &access->only_looks);
    for (size_t i = 0; i < ACCESS_WAYS; i++)
        wire_text(wire, access->why[i], sizeof access->why[i]);
    access->used = (enum access_way)used;
}

/* Passes what it is as parts of an answer; `inner` NULL: a replay. NULL: out of memory. */
static struct debugger *wire_debugger_new(struct wire *wire, struct debugger *inner)
{
    struct wire_debugger *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    bool has_monitor = inner != NULL && inner->ops->monitor != NULL;
    self->wire = wire;
    self->inner = inner;
    if (inner != NULL)
        self->debugger = *inner;
    pass_facts(wire, &self->debugger.facts);
    pass_access(wire, &self->debugger.access);
    wire_flag(wire, &self->debugger.stays_halted);
    wire_flag(wire, &has_monitor);
    self->ops = all_debugger_ops;
    if (!has_monitor)
        self->ops.monitor = NULL;
    self->debugger.ops = &self->ops;
    return &self->debugger;
}

static void wire_debugger_free(struct debugger *debugger)
{
    if (debugger != NULL)
        free(wire_debugger_of(debugger));
}

/* --- the link ------------------------------------------------------------------------------------------- */

struct wire_link {
    struct link link; /* first */
    struct link_ops ops;
    struct wire *wire;
    struct link *inner; /* NULL: a replay */
    struct debugger *debugger;
};

static struct wire_link *wire_link_self_of(struct link *link)
{
    return (struct wire_link *)link;
}

static struct outcome wire_link_execute(struct link *link, const struct step *steps, size_t n,
                                        uint64_t *results, const struct deadline *deadline,
                                        struct error *error)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
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

static size_t wire_link_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
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

static void wire_link_describe(struct link *link, char *out, size_t size)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
    out[0] = '\0';
    if (!wire_ask(wire, NULL, "describe"))
        return;
    if (inner != NULL)
        link_describe(inner, out, size);
    wire_answer(wire);
    wire_text(wire, out, size);
    (void)wire_answered(wire, NULL);
}

static bool wire_link_hold(struct link *link, bool on, struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "hold %d", on) &&
           wire_worked(wire_link_self_of(link)->wire, inner != NULL && link_hold(inner, on, &why), &why,
                       error);
}

static void wire_link_hold_while(struct link *link, const struct step *halted)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
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
static bool wire_link_claim(struct link *link, const struct claim *claim, struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "claim") &&
           wire_worked(wire_link_self_of(link)->wire, inner != NULL && link_claim(inner, claim, &why), &why,
                       error);
}

static bool wire_link_recover(struct link *link, struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "recover") &&
           wire_worked(wire_link_self_of(link)->wire, inner != NULL && link_server_recover(inner, &why), &why,
                       error);
}

static bool wire_link_server_run(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                                 struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "server-%s %u", run ? "run" : "halt", unit) &&
           wire_worked(wire_link_self_of(link)->wire,
                       inner != NULL && link_server_run(inner, unit, run, deadline, &why), &why, error);
}

static bool server_forget(struct link *link, uint16_t unit, const struct deadline *deadline,
                          struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "server-forget %u", unit) &&
           wire_worked(wire_link_self_of(link)->wire,
                       inner != NULL && link_server_forget(inner, unit, deadline, &why), &why, error);
}

static bool server_reset(struct link *link, uint16_t unit, bool halt, const struct deadline *deadline,
                         struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "server-reset %u%s", unit, halt ? " halt" : "") &&
           wire_worked(wire_link_self_of(link)->wire,
                       inner != NULL && link_server_reset(inner, unit, halt, deadline, &why), &why, error);
}

static struct debugger *wire_link_debugger_of(struct link *link)
{
    return wire_link_self_of(link)->debugger;
}

static void leave_power(struct link *link, enum link_power power)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
    if (!wire_ask(wire, NULL, "power %d", (int)power))
        return;
    if (inner != NULL)
        link_leave_power(inner, power);
    wire_answer(wire);
    (void)wire_answered(wire, NULL);
}

/* It asks the other end nothing, so it is in no recording. */
static void wire_link_mark_cacheable(struct link *link, uint16_t unit)
{
    struct link *inner = wire_link_self_of(link)->inner;
    if (inner != NULL)
        (void)link_mark_cacheable(inner, unit);
}

static bool release(struct link *link, const struct deadline *deadline, struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "release") &&
           wire_worked(wire_link_self_of(link)->wire, inner != NULL && link_release(inner, deadline, &why),
                       &why, error);
}

static bool wire_link_trace_can(struct link *link)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
    if (!wire_ask(wire, NULL, "trace-can"))
        return false;
    bool can = inner != NULL && link_trace_can(inner);
    wire_answer(wire);
    wire_flag(wire, &can);
    return wire_answered(wire, NULL) && can;
}

static bool wire_link_trace_start(struct link *link, struct link_trace *trace, struct error *error)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    if (!wire_ask(wire, error, "trace-start %u %" PRIx64 " %" PRIx32 " %" PRIx32, trace->tpiu.unit,
                  trace->tpiu.offset, trace->clock_hz, trace->baud))
        return false;
    bool ok = inner != NULL && link_trace_start(inner, trace, &why);
    uint64_t baud = trace->baud;
    wire_answer(wire);
    wire_flag(wire, &ok);
    wire_number(wire, UINT32_MAX, &baud);
    wire_flag(wire, &trace->fixed);
    wire_text(wire, trace->why, sizeof trace->why);
    trace->baud = (uint32_t)baud;
    return wire_closed(wire, &why, error) && ok;
}

static bool wire_link_trace_read(struct link *link, uint8_t *out, size_t room, size_t *n, bool *lost,
                                 struct error *error)
{
    struct wire *wire = wire_link_self_of(link)->wire;
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    *n = 0;
    *lost = false;
    if (!wire_ask(wire, error, "trace-read %zx", room))
        return false;
    bool ok = inner != NULL && link_trace_read(inner, out, room, n, lost, &why);
    uint64_t count = *n;
    wire_answer(wire);
    wire_flag(wire, &ok);
    wire_number(wire, room, &count);
    if (count > 0)
        wire_bytes(wire, out, (size_t)count);
    wire_flag(wire, lost);
    *n = (size_t)count;
    return wire_closed(wire, &why, error) && ok;
}

static bool wire_link_end(struct link *link, struct error *error)
{
    struct link *inner = wire_link_self_of(link)->inner;
    struct error why = {0};
    return wire_ask(wire_link_self_of(link)->wire, error, "end %s",
                    wire_debugger_leaves(wire_link_self_of(link)->debugger)) &&
           wire_worked(wire_link_self_of(link)->wire, inner != NULL && link_end(inner, &why), &why, error);
}

static void wire_link_close_link(struct link *link)
{
    struct wire_link *self = wire_link_self_of(link);
    bool asked = wire_ask(self->wire, NULL, "close %s", wire_debugger_leaves(self->debugger));
    link_close(self->inner);
    if (asked) {
        wire_answer(self->wire);
        (void)wire_answered(self->wire, NULL);
    }
    wire_debugger_free(self->debugger);
    free(self);
}

static const struct link_ops all_ops = {.execute = wire_link_execute,
                                        .views = wire_link_views,
                                        .describe = wire_link_describe,
                                        .hold = wire_link_hold,
                                        .hold_while = wire_link_hold_while,
                                        .claim = wire_link_claim,
                                        .recover = wire_link_recover,
                                        .server_run = wire_link_server_run,
                                        .server_forget = server_forget,
                                        .server_reset = server_reset,
                                        .debugger = wire_link_debugger_of,
                                        .mark_cacheable = wire_link_mark_cacheable,
                                        .leave_power = leave_power,
                                        .release = release,
                                        .trace_can = wire_link_trace_can,
                                        .trace_start = wire_link_trace_start,
                                        .trace_read = wire_link_trace_read,
                                        .end = wire_link_end,
                                        .close = wire_link_close_link};

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
    bool opened = self->wire->linked = inner != NULL;
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
        error_memory(error);
    link_close(inner);
    wire_debugger_free(self->debugger);
    return NULL;
}

struct link *wire_connect(struct wire *wire, struct link *(*open)(void *context, struct error *),
                          void *context, struct error *error)
{
    struct wire_link *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_memory_null(error);
    self->wire = wire;
    self->link.ops = &self->ops;
    struct link *link = wire_ask(wire, error, "connect") ? connect_new(self, open, context, error) : NULL;
    if (link == NULL)
        free(self);
    return link;
}
