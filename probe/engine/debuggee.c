/* SPDX-License-Identifier: MIT */
#include "engine/debuggee.h"
#include "cores/architectures.h"
#include "device/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_MS = 50, REQUEST_MS = 3000, READ_MS = 5000, GRACE_MS = 150 };
enum { LIST_ROOM = READING_STEPS + WITNESS_ROOM + 8 };

/* Each request has its own time: the caller's deadline is that of arming. */
static struct deadline request_time(const struct debugger_engine *self)
{
    return deadline_in_ms(patience_ms(REQUEST_MS), self->deadline->cancel);
}

struct deadline debuggee_read_time(const struct debugger_engine *self)
{
    return deadline_in_ms(patience_ms(READ_MS), self->deadline->cancel);
}

bool debuggee_register(struct debugger_engine *self, enum core_register which, uint64_t *out,
                       struct error *error)
{
    char name[8];
    struct deadline limit = request_time(self);
    core_register_name(self->core, which, name, sizeof name);
    if (which == CORE_LR && core_has(self->core, WIDE_REGISTERS))
        snprintf(name, sizeof name, "x30");
    return self->debugger->ops->read_register(self->debugger, name, out, &limit, error);
}

unsigned debuggee_code_size(const struct debugger_engine *self, uint64_t code)
{
    return core_has(self->core, PROGRAM_ONLY) ? X86_KIND : core_is_thumb(self->core, code) ? THUMB_KIND : 4;
}

bool debuggee_set_breakpoint(struct debugger_engine *self, uint64_t code, bool set, struct error *error)
{
    struct deadline limit = request_time(self);
    return self->debugger->ops->breakpoint(self->debugger, core_place(self->core, code),
                                           debuggee_code_size(self, code), set, &limit, error);
}

bool debuggee_move_breakpoint(struct debugger_engine *self, uint64_t to, struct error *error)
{
    if (self->breakpoint == to)
        return true;
    if (self->breakpoint != BREAKPOINT_NONE && !debuggee_set_breakpoint(self, self->breakpoint, false, error))
        return false;
    if (self->breakpoint != BREAKPOINT_NONE)
        self->left = self->breakpoint;
    self->breakpoint = BREAKPOINT_NONE;
    if (to != BREAKPOINT_NONE && !debuggee_set_breakpoint(self, to, true, error))
        return false;
    self->breakpoint = to;
    return true;
}

bool debuggee_set_others(struct debugger_engine *self, bool set, struct error *error)
{
    for (; set && self->n_set < self->call.others.n; self->n_set++)
        if (!debuggee_set_breakpoint(self, self->call.others.items[self->n_set].at, true, error))
            return false;
    for (; !set && self->n_set > 0; self->n_set--)
        if (!debuggee_set_breakpoint(self, self->call.others.items[self->n_set - 1].at, false, error))
            return false;
    return true;
}

bool debuggee_read_counters(struct debugger_engine *self, uint64_t *values, bool *pending, bool *reset,
                            struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    struct deadline limit = debuggee_read_time(self);
    size_t at = values != NULL ? reading_add(&self->device->reading, false, NULL, &list) : SIZE_MAX;
    size_t pending_at = pending != NULL ? core_add_pending(self->core, &list) : SIZE_MAX;
    bool may_reset = reset != NULL && core_has_run_control(self->core);
    struct witness_places places;
    if (reset != NULL)
        witness_add(&self->device->witness, self->core, NULL, &list, &places);
    size_t reset_at = may_reset ? core_add_reset_seen(self->core, &list) : SIZE_MAX;
    if (list.n > 0 && !run_list(self->device->ledger, self->core, &list, results, &limit, error))
        return false;
    if (values != NULL)
        reading_take(&self->device->reading, false, results, at, values);
    if (pending != NULL)
        *pending = pending_at != SIZE_MAX && core_pending(self->core, results[pending_at]);
    if (reset != NULL)
        *reset = may_reset && core_reset_seen(self->core, results[reset_at]);
    if (reset == NULL || *reset)
        return true;
    uint64_t saw = 0;
    const struct witness_item *changed = witness_changed(&self->device->witness, results, &places, &saw);
    return changed == NULL || witness_tell(changed, saw, error);
}

/* --- from stop to stop ---------------------------------------------------------------------------------- */

uint64_t debuggee_end(const struct debugger_engine *self)
{
    return self->region.to_return ? self->call.frame.end.pc : self->region.end;
}

bool debuggee_check_time(const struct debugger_engine *self, struct error *error)
{
    const struct raw_hit *hit = self->under_way ? &self->hit : NULL;
    return !progress_is_late(&self->progress, self->request, hit) ||
           progress_tell(&self->progress, self->request, self->core, hit, self->call.frame.end.pc, error);
}

/* Another thread may have reached the breakpoint before it was moved; the debugger reports that stop only
 * now. */
static bool is_outdated(struct debugger_engine *self, const char *previous, bool *outdated,
                        struct error *error)
{
    uint64_t pc;
    *outdated = false;
    if (self->stop.why != DEBUGGER_TRAP || self->stop.thread[0] == '\0' || self->left == BREAKPOINT_NONE ||
        self->left == self->breakpoint || strcmp(self->stop.thread, previous) == 0)
        return true;
    if (!debuggee_register(self, CORE_PC, &pc, error))
        return false;
    *outdated = core_place(self->core, pc) == core_place(self->core, self->left);
    return true;
}

/* After a cancellation, a core that is about to stop by itself is not asked to: OpenOCD would keep the
 * request for the next resume. */
static bool stops_by_itself(struct debugger_engine *self)
{
    struct deadline grace = deadline_in_ms(patience_ms(GRACE_MS), NULL);
    struct error ignored = {0};
    return self->debugger->ops->wait(self->debugger, &self->stop, &grace, &ignored) == DEBUGGER_STOPPED;
}

bool debuggee_run_to_stop(struct debugger_engine *self, enum engine_wait wait, struct error *error)
{
    const struct debugger_ops *ops = self->debugger->ops;
    struct deadline limit = request_time(self);
    struct debugger_stop previous = self->stop;
    bool outdated;
    progress_add(&self->progress, PROGRESS_HELD);
    if (!debugger_run(self->debugger, &limit, error))
        return false;
    for (;;) {
        struct deadline slice = deadline_in_ms(SLICE_MS, self->deadline->cancel);
        enum debugger_wait come = ops->wait(self->debugger, &self->stop, &slice, error);
        progress_add(&self->progress, PROGRESS_WENT_ON);
        switch (come) {
        case DEBUGGER_STOPPED:
            if (!is_outdated(self, previous.thread, &outdated, error))
                return false;
            if (!outdated) {
                self->stepped = BREAKPOINT_NONE;
                return true;
            }
            limit = request_time(self);
            if (!ops->go(self->debugger, DEBUGGER_RUN, &limit, error))
                return false;
            break;
        case DEBUGGER_GONE:
            return false;
        case DEBUGGER_RUNS:
            break;
        }
        if (deadline_cancelled(self->deadline))
            return stops_by_itself(self) || error_set(error, ERROR_CANCELLED, "cancelled");
        if (!debuggee_check_time(self, error))
            return false;
        if (self->sink->tick != NULL)
            self->sink->tick(self->sink->context, wait);
    }
}

bool debuggee_step(struct debugger_engine *self, struct error *error)
{
    const struct debugger_ops *ops = self->debugger->ops;
    struct deadline limit = request_time(self);
    uint64_t here = self->breakpoint;
    if (!debuggee_move_breakpoint(self, BREAKPOINT_NONE, error))
        return false;
    self->steps = true;
    self->stepped = here;
    if (!ops->go(self->debugger, DEBUGGER_STEP, &limit, error))
        return false;
    switch (ops->wait(self->debugger, &self->stop, &limit, error)) {
    case DEBUGGER_STOPPED:
        self->steps = false;
        return true;
    case DEBUGGER_RUNS:
        return deadline_cancelled(self->deadline)
                   ? error_set(error, ERROR_CANCELLED, "cancelled")
                   : error_set(error, ERROR_ASLEEP, "the core does not finish a single step");
    case DEBUGGER_GONE:
        break;
    }
    return false;
}

static bool stopped_by_reset(struct debugger_engine *self)
{
    uint64_t cause, status;
    struct deadline limit = request_time(self);
    struct error unread = {0};
    return ledger_read(self->device->ledger, core_cause_register(self->core), &cause, &limit, &unread) &&
           debuggee_register(self, CORE_STATUS, &status, &unread) &&
           core_cause(self->core, cause, status) == STOP_RESET;
}

/* The server may have read, and so cleared, what shows resets. Then the cause of the stop shows them, or the
 * PC does on a Cortex-M, where the cause stays until someone clears it. */
static bool is_reset(struct debugger_engine *self, uint64_t pc)
{
    uint64_t cause, table, entry;
    struct deadline limit = request_time(self);
    struct error unread = {0};
    struct ledger *ledger = self->device->ledger;
    if (!core_has_run_control(self->core))
        return false;
    if (ledger_read(ledger, core_reset_register(self->core), &cause, &limit, &unread) &&
        core_reset_seen(self->core, cause))
        return true;
    if (!core_has(self->core, SYSTEM_SPACE))
        return stopped_by_reset(self);
    return ledger_read(ledger, cortex_m_vectors(self->core), &table, &limit, &unread) &&
           ledger_read(ledger, core_word(self->core, table + 4), &entry, &limit, &unread) &&
           core_code_place(entry) == pc;
}

/* While the core is halted in a handler that ran just as the breakpoint was reached: lets it run on to the
 * breakpoint. *pc is where it is halted. */
static bool leave_handlers(struct debugger_engine *self, uint64_t wanted, uint64_t *pc, struct error *error)
{
    for (;;) {
        uint64_t status = 0;
        bool is = core_place(self->core, *pc) != core_place(self->core, wanted) &&
                  self->stop.why == DEBUGGER_TRAP && (self->core->quirks & HALTS_IN_HANDLER) != 0;
        struct deadline limit = request_time(self);
        if (!is)
            return true;
        if (!debuggee_register(self, CORE_STATUS, &status, error) ||
            !handler_stop_check(self->device->ledger, self->core, *pc, status, &is, &limit, error))
            return false;
        if (!is)
            return true;
        if (!debuggee_check_time(self, error) || !debuggee_run_to_stop(self, WAIT_END, error) ||
            !debuggee_register(self, CORE_PC, pc, error))
            return false;
        self->disturbed = self->hit.tainted = true;
        self->hit.after_us = (uint64_t)deadline_now_us();
        self->hit.pairs += 1 + self->stop.halts;
        self->hit.steps += self->stop.steps;
    }
}

static bool is_on_core(const struct debugger_engine *self, uint64_t pc, struct error *error)
{
    const char *name = self->device->chosen->view.name;
    return self->stop.core[0] == '\0' || strcmp(self->stop.core, name) == 0 ||
           error_set(error, ERROR_NO_CORE,
                     "stopped on %s at 0x%08" PRIX64 ", and the counters are those of %s: -C says which core",
                     self->stop.core, core_place(self->core, pc), name);
}

/* A server that lost its target may say that the core stopped, and read zeros: the core's own register knows
 * better. */
static bool debuggee_is_halted(struct debugger_engine *self, struct error *error)
{
    uint64_t status = 0;
    struct error why = {0};
    struct deadline limit = debuggee_read_time(self);
    if (!core_has_run_control(self->core) || self->debugger->facts.is_emulator)
        return true;
    bool read = ledger_read(self->device->ledger, core_status_register(self->core), &status, &limit, &why);
    if (!read && why.kind != ERROR_FAULT)
        return error_copy(error, &why);
    enum core_state state = read ? core_state_of(self->core, status) : CORE_HIDDEN;
    return state == CORE_HALTED || state == CORE_LOCKUP ||
           error_set(error, ERROR_NO_TARGET, "%s says that the core stopped, but it is not halted",
                     self->debugger->facts.name);
}

bool debuggee_confirm_stop(struct debugger_engine *self, uint64_t wanted, struct error *error)
{
    static const enum stop_cause causes[] = {
        [DEBUGGER_TRAP] = STOP_BREAKPOINT,   [DEBUGGER_REQUESTED] = STOP_REQUEST,
        [DEBUGGER_FAULT] = STOP_FAULT,       [DEBUGGER_WATCHPOINT] = STOP_WATCHPOINT,
        [DEBUGGER_OTHERS] = STOP_BREAKPOINT, [DEBUGGER_ENDED] = STOP_OTHER};
    enum debugger_why why;
    uint64_t pc;
    if (!debuggee_register(self, CORE_PC, &pc, error) || !leave_handlers(self, wanted, &pc, error) ||
        !is_on_core(self, pc, error))
        return false;
    why = self->stop.why;
    if (core_place(self->core, pc) == core_place(self->core, wanted) && why != DEBUGGER_WATCHPOINT &&
        why != DEBUGGER_OTHERS)
        return true;
    if (why == DEBUGGER_REQUESTED && deadline_cancelled(self->deadline))
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (!debuggee_is_halted(self, error))
        return false;
    bool reset = is_reset(self, core_place(self->core, pc));
    self->foreign_stop = !reset;
    const char *who = why == DEBUGGER_FAULT   ? "a fault"
                      : why == DEBUGGER_ENDED ? "the end of the program"
                                              : NULL;
    return foreign_stop_tell(&self->engine, self->core, reset ? STOP_RESET : causes[why], who, pc, error);
}
