#include "debuggers/debugger.h"

#include "debuggers/access.h"
#include "debuggers/openocd_monitor.h"
#include "links/openocd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_MS = 50, WORD = 4, GATHERED = 64, OPEN_MS = 5000 };

/* DDI 0403 B3.1: below it nothing minds how it is read, code and RAM; a core's own registers from there on.
 */
static const uint64_t PLAIN_MEMORY = 0x40000000, SYSTEM = 0xE0000000;

struct debugger_link {
    struct link link; /* first */
    struct debugger *debugger;
    struct openocd_monitor monitor;
    struct link *beside;  /* OpenOCD's monitor, where the core's memory does not show its PMU; else NULL */
    struct error refusal; /* why there is no way to the PMU at all */
};

static struct debugger_link *self_of(struct link *link)
{
    return (struct debugger_link *)link;
}

static struct outcome fault(const struct error *why, struct error *error)
{
    bool lost = why->kind == ERROR_LINK_LOST || why->kind == ERROR_LINK_PROTOCOL;
    bool wait = why->kind == ERROR_ASLEEP || why->kind == ERROR_CANCELLED;
    error_set(error, why->kind, "%s", why->text);
    return (struct outcome){.why = lost ? LINK_LOST : wait ? NOT_YET : TARGET_FAULT};
}

/* Registers of the system go by the way that was settled for them, all else by memory. */
static enum access_way way_to(const struct debugger *debugger, uint64_t at)
{
    return debugger->access.settled && at >= SYSTEM ? debugger->access.used : ACCESS_MEMORY;
}

static bool read_word(struct debugger *debugger, const struct address *at, uint64_t *out,
                      const struct deadline *deadline, struct error *why)
{
    return access_read(debugger, way_to(debugger, at->offset), at->offset, at->size, out, deadline, why);
}

static bool write_word(struct debugger *debugger, const struct address *at, uint64_t value,
                       const struct deadline *deadline, struct error *why)
{
    return access_write(debugger, way_to(debugger, at->offset), at->offset, at->size, value, deadline, why);
}

/* How many steps from here read words of plain memory in a row. */
static size_t gather(const struct step *steps, size_t n)
{
    size_t length = 0;
    while (length < n && length < GATHERED && steps[length].op == OP_READ && steps[length].at.size == WORD &&
           steps[length].at.offset == steps[0].at.offset + WORD * length &&
           steps[length].at.offset < PLAIN_MEMORY)
        length++;
    return length;
}

static bool read_words(struct debugger *debugger, const struct step *steps, size_t n, uint64_t *results,
                       const struct deadline *deadline, struct error *why)
{
    uint8_t bytes[WORD * GATHERED];
    if (!debugger->ops->read_memory(debugger, steps[0].at.offset, bytes, WORD * n, deadline, why))
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *word = bytes + WORD * i;
        results[i] = word[0] | (uint64_t)word[1] << 8 | (uint64_t)word[2] << 16 | (uint64_t)word[3] << 24;
    }
    return true;
}

static struct outcome execute_one(struct debugger *debugger, const struct step *step, uint64_t *result,
                                  const struct deadline *deadline, struct error *error)
{
    struct error why = {0};
    struct deadline slice = deadline_slice(deadline, SLICE_MS);
    switch (step->op) {
    case OP_TIME:
        *result = (uint64_t)deadline_now_us();
        return (struct outcome){.why = DONE};
    case OP_WRITE:
        *result = 0;
        if (!write_word(debugger, &step->at, step->value, deadline, &why))
            return fault(&why, error);
        return (struct outcome){.why = DONE};
    case OP_READ:
    case OP_UNTIL:
    case OP_EXPECT:
        break;
    case OP_COPY: /* link_execute does these itself */
    case OP_CHECK:
        error_set(error, ERROR_SYSTEM, "a step on a result came to a link");
        return (struct outcome){.why = TARGET_FAULT};
    }
    do {
        if (!read_word(debugger, &step->at, result, deadline, &why))
            return fault(&why, error);
        if (step->op == OP_READ || (*result & step->mask) == step->value)
            return (struct outcome){.why = DONE};
    } while (step->op == OP_UNTIL && !deadline_passed(&slice));
    return (struct outcome){.why = step->op == OP_UNTIL ? NOT_YET : UNEXPECTED, .saw = *result};
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = self_of(link)->debugger;
    struct link *beside = self_of(link)->beside;
    if (beside != NULL)
        return beside->ops->execute(beside, steps, n, results, deadline, error);
    for (size_t done = 0; done < n;) {
        const struct step *step = &steps[done];
        struct error why = {0};
        if (step->op != OP_TIME && (step->at.space != SPACE_MEMORY || step->at.unit != 0)) {
            error_set(error, ERROR_FAULT, "a GDB server shows a core's memory and nothing else");
            return (struct outcome){.why = TARGET_FAULT, .done = done};
        }
        size_t row = gather(step, n - done);
        struct outcome outcome = {.why = DONE};
        if (row < 2) {
            row = 1;
            outcome = execute_one(debugger, step, results + done, deadline, error);
        } else if (!read_words(debugger, step, row, results + done, deadline, &why)) {
            /* One by one, to find the one at fault */
            row = 1;
            outcome = why.kind == ERROR_FAULT ? execute_one(debugger, step, results + done, deadline, error)
                                              : fault(&why, error);
        }
        if (outcome.why != DONE) {
            outcome.done = done;
            return outcome;
        }
        done += row;
    }
    return (struct outcome){.why = DONE, .done = n};
}

static size_t views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct debugger_facts *facts = &self_of(link)->debugger->facts;
    struct link *beside = self_of(link)->beside;
    if (beside != NULL)
        return beside->ops->views(beside, out, room, error);
    bool is_program = facts->profile == PROFILE_X86_64;
    if (!is_program && facts->profile != PROFILE_M && facts->profile != PROFILE_UNKNOWN) {
        *error = self_of(link)->refusal;
        return 0;
    }
    if (room == 0)
        return 0;
    *out = (struct link_view){.is_core = true, .state = VIEW_HALTED};
    snprintf(out->name, sizeof out->name, "%s",
             facts->core[0] != '\0'     ? facts->core
             : facts->server[0] != '\0' ? facts->server
                                        : "GDB server");
    snprintf(out->type, sizeof out->type, is_program ? "x86_64" : "cortex_m");
    return 1;
}

static void describe(struct link *link, char *out, size_t size)
{
    const struct debugger_facts *facts = &self_of(link)->debugger->facts;
    const struct access *access = &self_of(link)->debugger->access;
    bool by_monitor = access->settled && access->used != ACCESS_MEMORY && access->used != ACCESS_WAYS;
    snprintf(out, size, "%s%s%s%s", facts->name, facts->server[0] != '\0' ? "  " : "", facts->server,
             by_monitor ? ", PMU by its monitor" : "");
}

static struct debugger *debugger_of(struct link *link)
{
    return self_of(link)->debugger;
}

static void close_link(struct link *link)
{
    struct debugger *debugger = self_of(link)->debugger;
    link_close(self_of(link)->beside);
    debugger->ops->close(debugger, !debugger->stays_halted);
    free(link);
}

/* The debug registers of a Cortex-A or R are not in what the core sees, nor is its PMU: OpenOCD reaches them.
 */
static bool open_beside(struct debugger_link *self, const struct deadline *deadline, struct error *error)
{
    struct debugger_facts *facts = &self->debugger->facts;
    struct access *access = &self->debugger->access;
    openocd_monitor_init(&self->monitor, self->debugger);
    if (!facts->has_cores &&
        !openocd_monitor_target(&self->monitor, facts->core, sizeof facts->core, deadline, error))
        return false;
    self->beside = openocd_through(&self->monitor.transport, facts->name, deadline, error);
    if (self->beside == NULL)
        return false;
    access->used = ACCESS_OPENOCD;
    return openocd_monitor_way(&self->monitor, access->why[ACCESS_OPENOCD],
                               sizeof access->why[ACCESS_OPENOCD], deadline, error);
}

static bool settle_arm(struct debugger_link *self, const struct deadline *deadline, struct error *error)
{
    const struct debugger_facts *facts = &self->debugger->facts;
    struct access *access = &self->debugger->access;
    bool is_openocd = strcmp(facts->server, "OpenOCD") == 0;
    access->settled = true;
    access->used = ACCESS_WAYS;
    access_say(access, ACCESS_MEMORY, "what the core itself sees has no PMU in it");
    error_set(
        &self->refusal, ERROR_NO_COUNTER,
        "%s shows a core of architecture \"%s\" by its memory and registers, where no PMU is. A Cortex-A "
        "or R is measured through OpenOCD, whose monitor reaches its debug registers",
        facts->server[0] != '\0' ? facts->server : "the GDB server", facts->architecture);
    if (is_openocd && !open_beside(self, deadline, error))
        return false;
    access_say_not_openocd(access, facts->server);
    access_say(access, ACCESS_JLINK, is_openocd ? "not needed" : "sees what the core sees");
    access_say(access, ACCESS_PYOCD, is_openocd ? "not needed" : "sees what the core sees");
    return true;
}

/* How the PMU is reached: see access.h. A program's is another link's. */
static bool settle_access(struct debugger_link *self, struct error *error)
{
    struct debugger *debugger = self->debugger;
    struct deadline soon = deadline_in_ms(patience_ms(OPEN_MS), NULL);
    switch (debugger->facts.profile) {
    case PROFILE_X86_64:
        return true;
    case PROFILE_M:
    case PROFILE_UNKNOWN:
        return access_settle_m(debugger, &soon, error);
    case PROFILE_ARM:
    case PROFILE_AARCH64:
    case PROFILE_OTHER:
        break;
    }
    return settle_arm(self, &soon, error);
}

struct link *debugger_link_new(struct debugger *debugger, struct error *error)
{
    static const struct link_ops ops = {.execute = execute,
                                        .views = views,
                                        .describe = describe,
                                        .debugger = debugger_of,
                                        .close = close_link,
                                        .exact_faults = true};
    struct debugger_link *self = calloc(1, sizeof *self);
    if (self == NULL) {
        debugger->ops->close(debugger, true);
        error_set(error, ERROR_SYSTEM, "out of memory");
        return NULL;
    }
    self->link.ops = &ops;
    self->debugger = debugger;
    debugger->stays_halted = debugger->facts.was_halted;
    if (settle_access(self, error))
        return &self->link;
    close_link(&self->link);
    return NULL;
}
