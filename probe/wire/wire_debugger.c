/* A debugger whose requests and answers are on file, as wire_link.c has a link's. */
#include "debuggers/debugger.h"
#include "wire/inside.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

struct wire_debugger {
    struct debugger debugger; /* first */
    struct debugger_ops ops;
    struct wire *wire;
    struct debugger *inner; /* NULL: a replay */
};

static struct wire_debugger *self_of(const struct debugger *debugger)
{
    return (struct wire_debugger *)debugger;
}

/* The one at the other end, which has to know what was decided here. */
static struct debugger *inner_of(struct debugger *debugger)
{
    struct debugger *inner = self_of(debugger)->inner;
    if (inner != NULL) {
        inner->stays_halted = debugger->stays_halted;
        inner->undoing = debugger->undoing;
        debugger->facts = inner->facts; /* a connection that was made again may have others */
    }
    return inner;
}

const char *wire_debugger_leaves(struct debugger *debugger)
{
    if (debugger == NULL)
        return "-";
    (void)inner_of(debugger);
    return debugger->stays_halted ? "halted" : "running";
}

static bool read_memory(struct debugger *debugger, uint64_t at, void *out, size_t n,
                        const struct deadline *deadline, struct error *error)
{
    struct wire *wire = self_of(debugger)->wire;
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

static bool write_memory(struct debugger *debugger, uint64_t at, const void *bytes, size_t n,
                         const struct deadline *deadline, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    struct line text = {0};
    line_add_bytes(&text, bytes, n);
    bool ok = wire_ask(self_of(debugger)->wire, error, "write-memory %" PRIx64 "%s", at,
                       text.bytes != NULL ? text.bytes : "") &&
              wire_worked(self_of(debugger)->wire,
                          inner != NULL && inner->ops->write_memory(inner, at, bytes, n, deadline, &why),
                          &why, error);
    line_free(&text);
    return ok;
}

static bool breakpoint(struct debugger *debugger, uint64_t at, unsigned size, bool set,
                       const struct deadline *deadline, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(self_of(debugger)->wire, error, "%s-breakpoint %" PRIx64 " %u", set ? "set" : "clear", at,
                    size) &&
           wire_worked(self_of(debugger)->wire,
                       inner != NULL && inner->ops->breakpoint(inner, at, size, set, deadline, &why), &why,
                       error);
}

static bool go(struct debugger *debugger, enum debugger_go how, const struct deadline *deadline,
               struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(self_of(debugger)->wire, error, "go %s", how == DEBUGGER_STEP ? "step" : "run") &&
           wire_worked(self_of(debugger)->wire, inner != NULL && inner->ops->go(inner, how, deadline, &why),
                       &why, error);
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
    struct wire *wire = self_of(debugger)->wire;
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

static bool interrupt(struct debugger *debugger, struct error *error)
{
    struct debugger *inner = inner_of(debugger);
    struct error why = {0};
    return wire_ask(self_of(debugger)->wire, error, "interrupt") &&
           wire_worked(self_of(debugger)->wire, inner != NULL && inner->ops->interrupt(inner, &why), &why,
                       error);
}

static bool read_register(struct debugger *debugger, const char *name, uint64_t *out,
                          const struct deadline *deadline, struct error *error)
{
    struct wire *wire = self_of(debugger)->wire;
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

static bool monitor(struct debugger *debugger, const char *command, char *out, size_t size,
                    const struct deadline *deadline, struct error *error)
{
    struct wire *wire = self_of(debugger)->wire;
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

static bool is_running(const struct debugger *debugger)
{
    struct wire *wire = self_of(debugger)->wire;
    const struct debugger *inner = self_of(debugger)->inner;
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

static const struct debugger_ops all_ops = {.read_memory = read_memory,
                                            .write_memory = write_memory,
                                            .breakpoint = breakpoint,
                                            .go = go,
                                            .wait = wait_for_stop,
                                            .interrupt = interrupt,
                                            .read_register = read_register,
                                            .monitor = monitor,
                                            .is_running = is_running,
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

struct debugger *wire_debugger_new(struct wire *wire, struct debugger *inner)
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
    self->ops = all_ops;
    if (!has_monitor)
        self->ops.monitor = NULL;
    self->debugger.ops = &self->ops;
    return &self->debugger;
}

void wire_debugger_free(struct debugger *debugger)
{
    if (debugger != NULL)
        free(self_of(debugger));
}
