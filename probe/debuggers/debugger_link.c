/* SPDX-License-Identifier: MIT */
#include "debuggers/debugger.h"

#include "base/arm_debug.h"
#include "debuggers/openocd_monitor.h"
#include "links/claim.h"
#include "links/openocd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLICE_MS = 50, WORD = 4, GATHERED = 64, OPEN_MS = 5000, END_MS = 500 };

/* DDI 0403 B3.1: code and RAM are below it, and may be read in pieces of any size. */
static const uint64_t PLAIN_MEMORY = 0x40000000;
static const uint32_t DHCSR_RESERVED = 0xF8000000;

struct debugger_link {
    struct link link; /* first */
    struct debugger *debugger;
    struct openocd_monitor monitor;
    struct link *openocd;   /* through its monitor, if the core's memory does not show its PMU; else NULL */
    char claim[CLAIM_TEXT]; /* our mark in the server; "": none */
    struct error refusal;   /* why nothing can be measured, or ERROR_NONE */
};

static struct debugger_link *debugger_link_self_of(struct link *link)
{
    return (struct debugger_link *)link;
}

/* --- steps --------------------------------------------------------------------------------------------- */

static struct outcome fault(const struct error *why, struct error *error)
{
    bool lost = why->kind == ERROR_LINK_LOST || why->kind == ERROR_LINK_PROTOCOL;
    bool wait = why->kind == ERROR_ASLEEP || why->kind == ERROR_CANCELLED;
    error_copy(error, why);
    return (struct outcome){.why = lost ? LINK_LOST : wait ? NOT_YET : TARGET_FAULT};
}

static uint64_t little_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

static bool debugger_link_read_value(struct debugger *debugger, uint64_t at, unsigned size, uint64_t *out,
                                     const struct deadline *deadline, struct error *why)
{
    uint8_t bytes[8] = {0};
    if (!debugger->ops->read_memory(debugger, at, bytes, size, deadline, why))
        return false;
    *out = little_endian(bytes, size);
    return true;
}

static bool write_value(struct debugger *debugger, uint64_t at, unsigned size, uint64_t value,
                        const struct deadline *deadline, struct error *why)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return debugger->ops->write_memory(debugger, at, bytes, size, deadline, why);
}

/* How many steps from here read words of plain memory in a row. */
static size_t debugger_link_gather(const struct step *steps, size_t n)
{
    size_t length = 0;
    while (length < n && length < GATHERED && steps[length].op == OP_READ && steps[length].at.size == WORD &&
           steps[length].at.offset == steps[0].at.offset + WORD * length &&
           steps[length].at.offset < PLAIN_MEMORY)
        length++;
    return length;
}

static bool debugger_read_words(struct debugger *debugger, const struct step *steps, size_t n,
                                uint64_t *results, const struct deadline *deadline, struct error *why)
{
    uint8_t bytes[WORD * GATHERED];
    if (!debugger->ops->read_memory(debugger, steps[0].at.offset, bytes, WORD * n, deadline, why))
        return false;
    for (size_t i = 0; i < n; i++)
        results[i] = little_endian(bytes + WORD * i, WORD);
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
        if (!write_value(debugger, step->at.offset, step->at.size, step->value, deadline, &why))
            return fault(&why, error);
        return (struct outcome){.why = DONE};
    case OP_READ:
    case OP_UNTIL:
    case OP_EXPECT:
        break;
    case OP_COPY: /* link_execute carries these out */
    case OP_CHECK:
        error_set(error, ERROR_SYSTEM, "a step on a result reached a link");
        return (struct outcome){.why = TARGET_FAULT};
    }
    do {
        if (!debugger_link_read_value(debugger, step->at.offset, step->at.size, result, deadline, &why))
            return fault(&why, error);
        if (step->op == OP_READ || (*result & step->mask) == step->value)
            return (struct outcome){.why = DONE};
    } while (step->op == OP_UNTIL && !deadline_passed(&slice));
    return (struct outcome){.why = step->op == OP_UNTIL ? NOT_YET : UNEXPECTED, .saw = *result};
}

static struct outcome debugger_link_execute(struct link *link, const struct step *steps, size_t n,
                                            uint64_t *results, const struct deadline *deadline,
                                            struct error *error)
{
    struct debugger *debugger = debugger_link_self_of(link)->debugger;
    struct link *openocd = debugger_link_self_of(link)->openocd;
    if (openocd != NULL) {
        /* What happened to the connection the debugger knows best */
        const struct error *cause = &debugger_link_self_of(link)->monitor.why;
        struct error its = {0};
        struct outcome outcome = openocd->ops->execute(openocd, steps, n, results, deadline, &its);
        error_copy(error, outcome.why == LINK_LOST && cause->kind != ERROR_NONE ? cause : &its);
        return outcome;
    }
    for (size_t done = 0; done < n;) {
        const struct step *step = &steps[done];
        struct error why = {0};
        if (step->op != OP_TIME && (step->at.space != SPACE_MEMORY || step->at.unit != 0)) {
            error_set(error, ERROR_FAULT, "a GDB server shows only a core's memory");
            return (struct outcome){.why = TARGET_FAULT, .done = done};
        }
        size_t row = debugger_link_gather(step, n - done);
        struct outcome outcome = {.why = DONE};
        if (row < 2) {
            row = 1;
            outcome = execute_one(debugger, step, results + done, deadline, error);
        } else if (!debugger_read_words(debugger, step, row, results + done, deadline, &why)) {
            /* One by one, to find the step at fault */
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

static size_t debugger_link_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct debugger_facts *facts = &debugger_link_self_of(link)->debugger->facts;
    struct link *openocd = debugger_link_self_of(link)->openocd;
    if (openocd != NULL)
        return openocd->ops->views(openocd, out, room, error);
    bool is_program = facts->profile == PROFILE_X86_64;
    if (debugger_link_self_of(link)->refusal.kind != ERROR_NONE) {
        *error = debugger_link_self_of(link)->refusal;
        return 0;
    }
    if (room == 0)
        return 0;
    *out = (struct link_view){.is_core = true, .state = VIEW_HALTED};
    snprintf(out->name, sizeof out->name, "%s",
             facts->core[0] != '\0'            ? facts->core
             : facts->server != SERVER_UNKNOWN ? server_row(facts->server)->name
                                               : "GDB server");
    snprintf(out->type, sizeof out->type, is_program ? "x86_64" : "cortex_m");
    return 1;
}

static void debugger_link_describe(struct link *link, char *out, size_t size)
{
    const struct debugger_facts *facts = &debugger_link_self_of(link)->debugger->facts;
    snprintf(out, size, "%s%s%s%s", facts->name, facts->server != SERVER_UNKNOWN ? "  " : "",
             server_row(facts->server)->name,
             debugger_link_self_of(link)->openocd != NULL ? ", PMU by its monitor" : "");
}

static struct debugger *debugger_link_debugger_of(struct link *link)
{
    return debugger_link_self_of(link)->debugger;
}

static const struct server_row *server_row_of(const struct debugger *debugger)
{
    return server_row(debugger->facts.server);
}

static bool debugger_link_mark_server(void *context, const char *mine, const char *dead,
                                      char found[CLAIM_TEXT], struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(OPEN_MS), NULL);
    return openocd_monitor_mark(context, mine, dead, found, CLAIM_TEXT, &soon, error);
}

/* A user's GDB is its own master. */
static bool claim_server(struct link *link, const struct claim *claim, struct error *error)
{
    struct debugger_link *self = debugger_link_self_of(link);
    const struct claim_place place = {.context = &self->monitor, .mark = debugger_link_mark_server};
    if (!server_row_of(self->debugger)->has_memory || self->debugger->facts.is_attended)
        return true;
    if (!claim_take(claim, &place, self->debugger->facts.name, error))
        return false;
    claim_write(claim, self->claim);
    return true;
}

/* A debugger halts the core when it is spoken to: the last word lets it go. */
static bool end_link(struct link *link, struct error *error)
{
    struct debugger *debugger = debugger_link_self_of(link)->debugger;
    struct deadline soon = deadline_in_ms(patience_ms(END_MS), NULL);
    struct error ignored = {0};
    debugger->undoing = true;
    if (debugger_link_self_of(link)->claim[0] != '\0')
        openocd_monitor_unmark(&debugger_link_self_of(link)->monitor, debugger_link_self_of(link)->claim,
                               &soon, &ignored);
    debugger_link_self_of(link)->claim[0] = '\0';
    return debugger->stays_halted || debugger->ops->let_go == NULL || debugger->ops->let_go(debugger, error);
}

static void debugger_link_close_link(struct link *link)
{
    struct debugger *debugger = debugger_link_self_of(link)->debugger;
    link_close(debugger_link_self_of(link)->openocd);
    debugger->ops->close(debugger, !debugger->stays_halted);
    free(link);
}

/* --- access to the PMU --------------------------------------------------------------------------------- */

static void debugger_explain(struct debugger *debugger, enum access_way way, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void debugger_explain(struct debugger *debugger, enum access_way way, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(debugger->access.why[way], sizeof debugger->access.why[way], format, arguments);
    va_end(arguments);
}

static void explain_no_openocd(struct debugger *debugger)
{
    if (debugger->facts.server != SERVER_UNKNOWN)
        debugger_explain(debugger, ACCESS_OPENOCD, "the server is %s", server_row_of(debugger)->name);
    else
        debugger_explain(debugger, ACCESS_OPENOCD, "the server is not OpenOCD");
}

/* DCRDR keeps what is written to it while no register is transferred: writes another value, and restores. */
static bool writes_work(struct debugger *debugger, bool *work, uint64_t *kept,
                        const struct deadline *deadline, struct error *why)
{
    uint64_t after;
    if (!debugger_link_read_value(debugger, DCRDR, WORD, kept, deadline, why) ||
        !write_value(debugger, DCRDR, WORD, *kept ^ UINT32_MAX, deadline, why) ||
        !debugger_link_read_value(debugger, DCRDR, WORD, &after, deadline, why))
        return false;
    *work = after == (*kept ^ UINT32_MAX);
    return !*work || write_value(debugger, DCRDR, WORD, *kept, deadline, why);
}

/* On silicon the core's own register says halted, too, if the debugger says so. */
static bool find_emulator(struct debugger *debugger, const struct deadline *deadline, struct error *why)
{
    uint64_t status;
    if (!debugger_link_read_value(debugger, DHCSR, WORD, &status, deadline, why))
        return false;
    debugger->facts.is_emulator |= (status & DHCSR_S_HALT) == 0 || (status & DHCSR_RESERVED) != 0;
    return true;
}

/* A Cortex-M's PMU is in its memory. Some servers show it there and ignore what is written. */
static bool try_memory(struct debugger_link *self, const struct deadline *deadline, struct error *why)
{
    struct debugger *debugger = self->debugger;
    uint64_t id, kept;
    bool work;
    if (!debugger_link_read_value(debugger, CPUID, WORD, &id, deadline, why)) {
        if (why->kind == ERROR_FAULT)
            error_set(
                &self->refusal, ERROR_NO_CORE,
                "%s. A Cortex-M needs a server that reaches 0xE0000000 and up, such as OpenOCD or pyOCD",
                why->text);
        return false;
    }
    if (id == 0 || id == UINT32_MAX) {
        debugger_explain(debugger, ACCESS_MEMORY, "no Cortex-M is there: CPUID 0x%08" PRIX64, id);
        return true;
    }
    if (!writes_work(debugger, &work, &kept, deadline, why))
        return false;
    debugger->access.only_looks = !work;
    if (work)
        debugger_explain(debugger, ACCESS_MEMORY, "in use");
    else
        debugger_explain(debugger, ACCESS_MEMORY,
                         "writes are ignored: DCRDR stays 0x%08" PRIX64
                         ". Take a server that writes there, such as OpenOCD or pyOCD",
                         kept);
    return work || find_emulator(debugger, deadline, why);
}

static bool settle_m(struct debugger_link *self, const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = self->debugger;
    struct error why = {0};
    debugger->access = (struct access){.settled = true, .used = ACCESS_MEMORY, .only_looks = true};
    if (!try_memory(self, deadline, &why)) {
        if (why.kind != ERROR_FAULT)
            return error_copy(error, &why);
        if (debugger->access.why[ACCESS_MEMORY][0] == '\0')
            debugger_explain(debugger, ACCESS_MEMORY, "%s", why.text);
    }
    if (!debugger->access.only_looks)
        debugger_explain(debugger, ACCESS_OPENOCD, "not needed");
    else if (server_row_of(debugger)->reaches_buses)
        debugger_explain(debugger, ACCESS_OPENOCD, "reads the same memory of a Cortex-M");
    else
        explain_no_openocd(debugger);
    return true;
}

/* The debug registers and the PMU of a Cortex-A or R are not in the core's memory: OpenOCD reaches them. */
static bool open_openocd(struct debugger_link *self, const struct deadline *deadline, struct error *error)
{
    struct debugger_facts *facts = &self->debugger->facts;
    struct access *access = &self->debugger->access;
    if (!facts->has_cores &&
        !openocd_monitor_target(&self->monitor, facts->core, sizeof facts->core, deadline, error))
        return false;
    self->openocd = openocd_through(&self->monitor.transport, facts->name, deadline, error);
    if (self->openocd == NULL)
        return false;
    access->used = ACCESS_OPENOCD;
    return openocd_monitor_way(&self->monitor, access->why[ACCESS_OPENOCD],
                               sizeof access->why[ACCESS_OPENOCD], deadline, error);
}

static bool settle_arm(struct debugger_link *self, const struct deadline *deadline, struct error *error)
{
    struct debugger *debugger = self->debugger;
    const struct debugger_facts *facts = &debugger->facts;
    debugger->access = (struct access){.settled = true, .used = ACCESS_WAYS};
    debugger_explain(debugger, ACCESS_MEMORY, "the core itself sees no PMU in its memory");
    if (server_row_of(debugger)->reaches_buses)
        return open_openocd(self, deadline, error);
    explain_no_openocd(debugger);
    error_advise(&self->refusal, ERROR_NO_COUNTER,
                 facts->is_emulator ? DEBUGGER_ADVICE_EMULATOR
                                    : "OpenOCD's monitor reaches the PMU of a Cortex-A or R.",
                 "%s shows a core of architecture \"%s\" by its memory and registers, where no PMU is",
                 facts->server != SERVER_UNKNOWN ? server_row_of(debugger)->name : "the GDB server",
                 facts->architecture);
    return true;
}

/* A program's counters are on another link: nothing is settled for them. */
static bool settle_access(struct debugger_link *self, struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(OPEN_MS), NULL);
    switch (self->debugger->facts.profile) {
    case PROFILE_X86_64:
        return true;
    case PROFILE_M:
    case PROFILE_UNKNOWN:
        return settle_m(self, &soon, error);
    case PROFILE_ARM:
    case PROFILE_AARCH64:
    case PROFILE_OTHER:
        break;
    }
    return settle_arm(self, &soon, error);
}

struct link *debugger_link_new(struct debugger *debugger, struct error *error)
{
    static const struct link_ops ops = {.execute = debugger_link_execute,
                                        .views = debugger_link_views,
                                        .describe = debugger_link_describe,
                                        .debugger = debugger_link_debugger_of,
                                        .claim = claim_server,
                                        .end = end_link,
                                        .close = debugger_link_close_link,
                                        .exact_faults = true};
    struct debugger_link *self = calloc(1, sizeof *self);
    if (self == NULL) {
        debugger->ops->close(debugger, true);
        return error_memory_null(error);
    }
    self->link.ops = &ops;
    self->debugger = debugger;
    openocd_monitor_init(&self->monitor, debugger);
    debugger->stays_halted = debugger->facts.was_halted;
    if (settle_access(self, error))
        return &self->link;
    struct error left = {0};
    if (!end_link(&self->link, &left))
        error_add(error, &left);
    debugger_link_close_link(&self->link);
    return NULL;
}
