#include "engine/debugger_stops.h"

#include "cores/architectures.h"
#include "engine/stops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_MS = 50, STEP_MS = 3000, GRACE_MS = 150 };

/* Each wish gets time of its own: the caller's deadline is that of arming. */
static struct deadline soon(const struct deadline *deadline)
{
    return deadline_in_ms(patience_ms(STEP_MS), deadline->cancel);
}

/* As GDB's descriptions of targets call it. */
static void name_register(const struct core *core, enum core_register which, char *out, size_t size)
{
    static const char *const names[] = {
        [CORE_PC] = "pc", [CORE_SP] = "sp", [CORE_LR] = "lr", [CORE_PSP] = "psp", [CORE_STATUS] = "cpsr"};
    static const char *const x86_names[] = {
        [CORE_PC] = "rip", [CORE_SP] = "rsp", [CORE_LR] = "", [CORE_PSP] = "", [CORE_STATUS] = "eflags"};
    bool wide = core->family == CORE_ARMV8;
    if (which >= CORE_R0)
        snprintf(out, size, "%c%u", wide ? 'x' : 'r', (unsigned)(which - CORE_R0) & 31U);
    else if (which == CORE_LR && wide)
        snprintf(out, size, "x30");
    else if (which == CORE_STATUS && core->family == CORE_M)
        snprintf(out, size, "xpsr");
    else if (core->family == CORE_X86_64)
        snprintf(out, size, "%s", x86_names[which]);
    else
        snprintf(out, size, "%s", names[which]);
}

bool debugger_engine_register(struct debugger_engine *self, enum core_register which, uint64_t *out,
                              const struct deadline *deadline, struct error *error)
{
    char name[8];
    struct deadline limit = soon(deadline);
    name_register(self->core, which, name, sizeof name);
    return self->debugger->ops->read_register(self->debugger, name, out, &limit, error);
}

unsigned debugger_engine_code_size(const struct debugger_engine *self, uint64_t code)
{
    bool thumb = self->core->family == CORE_M || (self->core->family == CORE_ARMV7 && (code & 1) != 0);
    return self->core->family == CORE_X86_64 ? X86_KIND : thumb ? THUMB_KIND : 4;
}

bool debugger_engine_point(struct debugger_engine *self, uint64_t code, bool set,
                           const struct deadline *deadline, struct error *error)
{
    struct deadline limit = soon(deadline);
    return self->debugger->ops->breakpoint(self->debugger, core_place(self->core, code),
                                           debugger_engine_code_size(self, code), set, &limit, error);
}

bool debugger_engine_move(struct debugger_engine *self, uint64_t to, const struct deadline *deadline,
                          struct error *error)
{
    if (self->point == to)
        return true;
    if (self->point != POINT_NONE && !debugger_engine_point(self, self->point, false, deadline, error))
        return false;
    if (self->point != POINT_NONE)
        self->left = self->point;
    self->point = POINT_NONE;
    if (to != POINT_NONE && !debugger_engine_point(self, to, true, deadline, error))
        return false;
    self->point = to;
    return true;
}

void debugger_engine_step_forward(struct debugger_engine *self)
{
    self->since_us = deadline_now_us();
    self->inner = self->lost = 0;
}

static bool in_vain(const struct debugger_engine *self, struct error *error)
{
    double seconds = (double)self->request->timeout_ms / 1000;
    char past[96] = "", lost[96] = "";
    if (self->under_way && self->hit.past > 0)
        snprintf(past, sizeof past, "; the core stopped %" PRIu64 " times there in another frame",
                 self->hit.past);
    if (self->lost > 0)
        snprintf(lost, sizeof lost, "; %" PRIu64 " calls in a row were left without returning", self->lost);
    if (self->under_way || self->lost > 0)
        return error_set(error, ERROR_END, "the end was not reached within %.3g s of the start%s%s%s",
                         seconds, past, lost, core_may_be_unseen(self->core));
    if (self->inner == 0)
        return error_set(error, ERROR_START, "the start was not reached within %.3g s%s", seconds,
                         core_may_be_unseen(self->core));
    return error_set(error, ERROR_START,
                     "the start was reached %" PRIu64
                     " times within %.3g s, each time with a return address inside the function itself "
                     "(0x%08" PRIX64 "): name an end as well",
                     self->inner, seconds, core_place(self->core, self->place.pc));
}

static bool is_late_by_now(const struct debugger_engine *self)
{
    return deadline_now_us() - self->since_us > self->request->timeout_ms * 1000;
}

bool debugger_engine_check_time(const struct debugger_engine *self, struct error *error)
{
    return !is_late_by_now(self) || in_vain(self, error);
}

/* A thread that came to the breakpoint before it was moved, while another one's stop was reported, is
 * reported only now. It has nothing to wait for any more. */
static bool is_late(struct debugger_engine *self, const char *previous, bool *late,
                    const struct deadline *deadline, struct error *error)
{
    uint64_t pc;
    *late = false;
    if (self->stop.why != DEBUGGER_TRAP || self->stop.thread[0] == '\0' || self->left == POINT_NONE ||
        self->left == self->point || strcmp(self->stop.thread, previous) == 0)
        return true;
    if (!debugger_engine_register(self, CORE_PC, &pc, deadline, error))
        return false;
    *late = core_place(self->core, pc) == core_place(self->core, self->left);
    return true;
}

/* A core about to stop by itself is not asked to: OpenOCD would keep that for whoever resumes it next. */
static bool given_up(struct debugger_engine *self)
{
    struct deadline grace = deadline_in_ms(patience_ms(GRACE_MS), NULL);
    struct error ignored = {0};
    return self->debugger->ops->wait(self->debugger, &self->stop, &grace, &ignored) != DEBUGGER_STOPPED;
}

bool debugger_engine_run(struct debugger_engine *self, enum engine_wait wait, const struct deadline *deadline,
                         struct error *error)
{
    const struct debugger_ops *ops = self->debugger->ops;
    struct deadline limit = soon(deadline);
    struct debugger_stop previous = self->stop;
    bool late;
    if (!debugger_run(self->debugger, &limit, error))
        return false;
    for (;;) {
        struct deadline slice = deadline_in_ms(SLICE_MS, deadline->cancel);
        switch (ops->wait(self->debugger, &self->stop, &slice, error)) {
        case DEBUGGER_STOPPED:
            if (!is_late(self, previous.thread, &late, deadline, error))
                return false;
            if (!late)
                return true;
            limit = soon(deadline);
            if (!ops->go(self->debugger, DEBUGGER_RUN, &limit, error))
                return false;
            break;
        case DEBUGGER_GONE:
            return false;
        case DEBUGGER_RUNS:
            break;
        }
        if (deadline_cancelled(deadline))
            return !given_up(self) || error_set(error, ERROR_CANCELLED, "cancelled");
        if (!debugger_engine_check_time(self, error))
            return false;
        if (self->sink->tick != NULL)
            self->sink->tick(self->sink->context, wait);
    }
}

/* A server may have cleared the reason of the stop already: then it is told by where the core stands. */
static bool is_reset(struct debugger_engine *self, uint64_t pc, const struct deadline *deadline)
{
    uint64_t cause, table, entry;
    struct deadline limit = soon(deadline);
    struct error unread = {0};
    struct ledger *ledger = self->device->ledger;
    if (!core_has_run_control(self->core))
        return false;
    if (ledger_read(ledger, core_reset_register(self->core), &cause, &limit, &unread) &&
        core_reset_seen(self->core, cause))
        return true;
    return self->core->family == CORE_M &&
           ledger_read(ledger, cortex_m_vectors(self->core), &table, &limit, &unread) &&
           ledger_read(ledger, core_word(self->core, table + 4), &entry, &limit, &unread) &&
           core_code_place(entry) == pc;
}

/* A stop in a handler that came just when the breakpoint was reached: on to that, and `pc` is it then. */
static bool leave_handlers(struct debugger_engine *self, uint64_t wanted, uint64_t *pc,
                           const struct deadline *deadline, struct error *error)
{
    for (;;) {
        uint64_t status = 0;
        bool is = core_place(self->core, *pc) != core_place(self->core, wanted) &&
                  self->stop.why == DEBUGGER_TRAP && self->core->halts_in_handler;
        struct deadline limit = soon(deadline);
        if (!is)
            return true;
        if (!debugger_engine_register(self, CORE_STATUS, &status, deadline, error) ||
            !handler_stop_check(self->device->ledger, self->core, *pc, status, &is, &limit, error))
            return false;
        if (!is)
            return true;
        if (!debugger_engine_check_time(self, error) ||
            !debugger_engine_run(self, WAIT_END, deadline, error) ||
            !debugger_engine_register(self, CORE_PC, pc, deadline, error))
            return false;
        self->disturbed = self->hit.tainted = true;
        self->hit.after_us = (uint64_t)deadline_now_us();
        self->hit.pairs += 1 + self->stop.halts;
        self->hit.steps += (self->stop.halts + 1) / 2;
    }
}

bool debugger_engine_prove(struct debugger_engine *self, uint64_t wanted, const struct deadline *deadline,
                           struct error *error)
{
    static const char *const whys[] = {[DEBUGGER_TRAP] = "someone else's breakpoint",
                                       [DEBUGGER_REQUESTED] = "someone else's halt request",
                                       [DEBUGGER_FAULT] = "a fault",
                                       [DEBUGGER_WATCHPOINT] = "someone else's watchpoint",
                                       [DEBUGGER_OTHERS] = "someone else's breakpoint",
                                       [DEBUGGER_ENDED] = "the end of the program"};
    uint64_t pc;
    if (!debugger_engine_register(self, CORE_PC, &pc, deadline, error) ||
        !leave_handlers(self, wanted, &pc, deadline, error))
        return false;
    const char *name = self->device->chosen->view.name;
    if (self->stop.core[0] != '\0' && strcmp(self->stop.core, name) != 0)
        return error_set(error, ERROR_NO_CORE,
                         "stopped on %s at 0x%08" PRIX64
                         ", and the counters are those of %s: -C says which core",
                         self->stop.core, core_place(self->core, pc), name);
    if (core_place(self->core, pc) == core_place(self->core, wanted) &&
        self->stop.why != DEBUGGER_WATCHPOINT && self->stop.why != DEBUGGER_OTHERS)
        return true;
    if (self->stop.why == DEBUGGER_REQUESTED && deadline_cancelled(deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    self->engine.stopped_at = core_place(self->core, pc);
    self->was_reset = is_reset(self, core_place(self->core, pc), deadline);
    if (self->was_reset)
        return error_set(error, ERROR_RESET, "the target was reset");
    self->foreign = true;
    return error_set(error, ERROR_FOREIGN_STOP, "stopped by %s at 0x%08" PRIX64, whys[self->stop.why],
                     core_place(self->core, pc));
}

bool debugger_engine_step(struct debugger_engine *self, const struct deadline *deadline, struct error *error)
{
    const struct debugger_ops *ops = self->debugger->ops;
    struct deadline limit = soon(deadline);
    if (!debugger_engine_move(self, POINT_NONE, deadline, error) ||
        !ops->go(self->debugger, DEBUGGER_STEP, &limit, error))
        return false;
    switch (ops->wait(self->debugger, &self->stop, &limit, error)) {
    case DEBUGGER_STOPPED:
        return true;
    case DEBUGGER_RUNS:
        return deadline_cancelled(deadline)
                   ? error_set(error, ERROR_CANCELLED, "cancelled")
                   : error_set(error, ERROR_ASLEEP, "the core does not come to the end of a single step");
    case DEBUGGER_GONE:
        break;
    }
    return false;
}
