/* SPDX-License-Identifier: MIT */
#include "device/run.h"
#include "device/settings.h"
#include "engine/direct.h"

#include <inttypes.h>
#include <stdio.h>

bool direct_has_shared_counter(const struct direct_engine *self)
{
    return self->engine.budget.stop != NULL && self->engine.budget.stop->is_shared;
}

bool direct_read_register(struct direct_engine *self, enum core_register which, uint64_t *out,
                          struct error *error)
{
    direct_new_registers(self);
    size_t at = core_add_register(self->core, &self->list, which);
    if (!direct_run_plain(self, error))
        return false;
    *out = core_register_value(self->core, which, self->results, at);
    return true;
}

/* What --context can be given, by CONTEXTIDR, if it can be read. */
static bool describe_context(struct direct_engine *self, char *out, size_t size, struct error *error)
{
    struct error unread = {0};
    size_t at;
    snprintf(out, size, "cannot be read from there");
    direct_new_registers(self);
    if (!core_add_context(self->core, &self->list, &at))
        return true;
    if (direct_run_plain(self, &unread))
        snprintf(out, size, "was 0x%" PRIX64 " at this stop%s", self->results[at],
                 self->results[at] == 0 ? ": this system may not keep it" : "");
    return direct_restore_borrowed(self, error);
}

bool direct_check_mode(struct direct_engine *self, struct error *error)
{
    char context[128];
    direct_new_registers(self);
    size_t mode = self->core->ops->processes->add_mode(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    if (!self->core->ops->processes->in_user_mode(self->core, self->results[mode])) {
        self->region.process.which = PROCESS_ANY; /* it need not be asked again */
        return true;
    }
    return describe_context(self, context, sizeof context, error) &&
           error_advise(error, ERROR_STATE,
                        "--context ID measures where CONTEXTIDR is ID; --context any measures everywhere.",
                        "0x%08" PRIX64
                        " is run in user mode, where other processes may have other code.\nCONTEXTIDR %s",
                        core_code_place(self->region.start), context);
}

static bool direct_start_read_for_call(void *context, enum core_register which, uint64_t *out,
                                       struct error *error)
{
    return direct_read_register(context, which, out, error);
}

static bool can_stop(void *context, unsigned n, uint64_t at, bool *can, struct error *error)
{
    struct direct_engine *self = context;
    *can = false;
    if (!breakpoints_prepare(&self->breakpoints, at, self->deadline, error))
        return false;
    *can = breakpoints_can_have_extra(&self->breakpoints, n, at);
    return true;
}

struct call_access direct_access(struct direct_engine *self)
{
    return (struct call_access){.device = self->device,
                                .region = &self->region,
                                .deadline = self->deadline,
                                .context = self,
                                .read = direct_start_read_for_call,
                                .can_stop = can_stop};
}

bool direct_find_base(struct direct_engine *self, struct error *error)
{
    enum core_register base = self->region.start_base;
    direct_new_registers(self);
    size_t at = core_add_register(self->core, &self->list, base);
    size_t reset = core_add_reset_seen(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    frame_find_base(&self->call.frame, self->core, &self->region,
                    core_register_value(self->core, base, self->results, at));
    self->expects_frame = true;
    return true;
}

static bool direct_start_find_counter(struct direct_engine *self, struct error *error)
{
    struct counter_stop_look look = {0};
    bool ok = !direct_has_shared_counter(self) || direct_look_at_budget(self, &look, error);
    self->start_counter = look.value;
    return ok;
}

enum { SPARE_CHANGES = 3 };

bool direct_has_spare(struct direct_engine *self)
{
    bool by_core = self->device->reading.by_core != NULL;
    if (self->spare_changes >= SPARE_CHANGES)
        return false;
    return (self->region.to_return && !self->lr_changes &&
            core_spare_register(self->core, by_core, true, &self->spare.held.which)) ||
           core_spare_register(self->core, by_core, false, &self->spare.held.which);
}

void direct_note_change(struct direct_engine *self)
{
    self->lr_changes = self->lr_changes || self->spare.held.which == CORE_LR;
    self->spare_changes += self->spare_changes < SPARE_CHANGES;
    self->spare_read = self->expects_frame = false; /* it is read with the next frame */
}

/* Halted at the start: what the spare register holds now, and probably at the end: functions keep it. */
static void note_spare(struct direct_engine *self, bool same_call, const struct core_spare_at *at)
{
    uint64_t before = self->spare.held.value;
    self->spare = core_spare_take(self->core, self->spare.held.which, at, self->results);
    if (self->spare_read && same_call && self->spare.held.value != before)
        direct_note_change(self);
    self->spare_read = self->spare_changes < SPARE_CHANGES;
}

/* For counters that the core itself reads, in regions that need no frame. */
bool direct_find_spare(struct direct_engine *self, struct error *error)
{
    direct_new_registers(self);
    const struct core_spare_at at = core_spare_add(self->core, self->spare.held.which, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    note_spare(self, false, &at);
    return true;
}

bool direct_find_return(struct direct_engine *self, bool *inner, struct error *error)
{
    direct_new_registers(self);
    size_t lr = core_add_register(self->core, &self->list, CORE_LR);
    size_t sp = core_add_register(self->core, &self->list, CORE_SP);
    bool has = direct_has_spare(self);
    const struct core_spare_at spare =
        has ? core_spare_add(self->core, self->spare.held.which, &self->list) : (struct core_spare_at){0};
    size_t reset = core_add_reset_seen(self->core, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    struct frame before = self->call.frame;
    if (self->hits.over)
        call_over(&self->call, &self->region);
    self->hits.over = false;
    self->call.frame.lr = core_register_value(self->core, CORE_LR, self->results, lr);
    self->call.frame.sp = core_register_value(self->core, CORE_SP, self->results, sp);
    if (has)
        note_spare(self, self->call.frame.lr == before.lr && self->call.frame.sp == before.sp, &spare);
    const struct call_access access = direct_access(self);
    if (!call_enter(&self->call, &access, NULL, inner, error))
        return false;
    self->breakpoint_at = self->call.frame.end.pc;
    self->hits.drops = !*inner && self->call.is_partial;
    self->hits.is_whole = self->call.has_ended;
    self->expects_frame =
        !*inner && !(self->call.frame.is_handler && self->call.handler == HANDLER_INTERRUPTED);
    self->progress.inner += *inner;
    self->progress.by_jump = self->call.by_jump;
    if (*inner)
        return true;
    if (!direct_start_find_counter(self, error))
        return false;
    /* The start first: a full table of breakpoint instructions drops the one that was used longest ago. */
    return breakpoints_prepare(&self->breakpoints, self->region.start, self->deadline, error) &&
           breakpoints_prepare(&self->breakpoints, self->call.frame.end.pc, self->deadline, error);
}

/* ---- direct list */

enum {
    STOP_TRIES = 2,
    PLAIN_TRIES = 3,
    NAP_US = 5000,
    READ_MS = 1000,
    LIST_MS = 5000,
    BREAKPOINTS_CHECK_US = 50000,
    RESET_CHECK_US = 50000,
    OVERDUE_US = 2000000 /* held hits are confirmed even if no list has checked */
};

/* For a single read, whatever deadline the list has. */
static struct deadline read_time(const volatile sig_atomic_t *cancel)
{
    return deadline_in_ms(patience_ms(READ_MS), cancel);
}

uint64_t direct_end(const struct direct_engine *self)
{
    return self->region.to_return ? self->call.frame.end.pc : self->region.end;
}

bool direct_is_round(const struct direct_engine *self)
{
    return self->region.start == direct_end(self);
}

bool direct_holds_core(const struct direct_engine *self)
{
    return self->core_is == CORE_IS_OURS || self->core_is == CORE_IS_AT_END;
}

bool direct_ends_halted(const struct direct_engine *self)
{
    return self->core_is == CORE_IS_OURS && self->hits.n > 0 && !direct_is_round(self);
}

/* --- progress ------------------------------------------------------------------------------------------- */

void direct_begin(struct direct_engine *self, const struct engine_request *request,
                  const struct engine_sink *sink)
{
    static const struct engine_sink quiet;
    hit_results_begin(&self->hits, request, sink != NULL ? sink : &quiet);
    self->advances = self->hits.advances;
    progress_note(&self->progress);
}

void direct_begin_own(struct direct_engine *self, int64_t timeout_ms, const struct deadline *deadline)
{
    self->deadline = deadline;
    self->own = (struct engine_request){.timeout_ms = timeout_ms};
    direct_begin(self, &self->own, NULL);
}

static const struct raw_hit *hit_under_way(const struct direct_engine *self)
{
    return self->hits.under_way ? &self->hits.hit : NULL;
}

static bool is_late(struct direct_engine *self)
{
    if (self->hits.advances != self->advances) {
        self->advances = self->hits.advances;
        progress_note(&self->progress);
    }
    return progress_is_late(&self->progress, self->hits.request, hit_under_way(self));
}

static bool tell_late(const struct direct_engine *self, struct error *error)
{
    struct deadline soon = read_time(NULL);
    uint64_t at;
    if (breakpoints_are_overwritten(&self->breakpoints, &soon, &at))
        return error_advise(error, hit_under_way(self) != NULL ? ERROR_END : ERROR_START,
                            "Begin when it has copied its code.",
                            "the program has written over the breakpoint instruction at 0x%08" PRIX64, at);
    return progress_tell(&self->progress, self->hits.request, self->core, hit_under_way(self),
                         self->call.frame.end.pc, error);
}

bool direct_check_time(struct direct_engine *self, struct error *error)
{
    return !is_late(self) || tell_late(self, error);
}

/* --- lists ---------------------------------------------------------------------------------------------- */

bool direct_prepare(struct direct_engine *self, const struct process *process, unsigned extra,
                    struct error *error)
{
    if (!process_check(process, self->core, error))
        return false;
    self->breakpoints.by_context = process->which == PROCESS_ID;
    self->breakpoints.context = process->id;
    breakpoints_want_extra(&self->breakpoints, extra);
    return settings_watch_resets(self->device->ledger, &self->device->chosen->core, self->deadline, error);
}

void direct_new_list(struct direct_engine *self)
{
    self->list = (struct steps){.items = self->items, .room = LIST_ROOM};
    self->done = 0;
    hit_results_expect_none(&self->hits);
}

void direct_add_run(const struct direct_engine *self, struct steps *list)
{
    if (self->engine.budget.stop != NULL)
        counter_stop_add_run(self->engine.budget.stop, list);
    else
        core_add_run(self->core, list);
}

void direct_new_registers(struct direct_engine *self)
{
    direct_new_list(self);
    core_add_ready(self->core, &self->list);
}

static enum segment segment_at(const struct direct_engine *self, size_t at)
{
    const struct hit_steps *hit_steps = hit_results_current(&self->hits);
    return hit_steps != NULL ? hit_steps_segment(hit_steps, at) : SEGMENT_AT_START;
}

/* What a reset or another debugger did stays until the core is let go. */
static enum core_is core_is_after(enum core_is is, enum step_mark mark)
{
    if (is == CORE_IS_FOREIGN || is == CORE_IS_RESET)
        return is;
    switch (mark) {
    case MARK_RUNS:
    case MARK_RUNS_HELD:
        return CORE_IS_FREE;
    case MARK_STEPS:
        return is >= CORE_IS_OURS ? is : CORE_IS_STEPPING;
    case MARK_AWAITS_HALT:
        return is == CORE_IS_FREE ? CORE_IS_STOPPED : is == CORE_IS_STEPPING ? CORE_IS_OURS : is;
    case MARK_PROVES_STOP:
        return is == CORE_IS_STOPPED ? CORE_IS_OURS : is;
    case MARK_NONE:
    case MARK_HOLDS:
    case MARK_CONTROLS:
    case MARK_BORROWS:
        break;
    }
    return is;
}

/* Steps [from, outcome->done) were carried out; if the answer was lost, perhaps a single step after them. */
static void note_steps(struct direct_engine *self, size_t from, const struct outcome *outcome)
{
    for (size_t i = from; i < outcome->done; i++) {
        enum step_mark mark = self->items[i].mark;
        self->core_is = core_is_after(self->core_is, mark);
        self->engine.resumes += mark == MARK_RUNS || mark == MARK_RUNS_HELD || mark == MARK_STEPS;
        if (step_controls(&self->items[i]))
            self->interrupts_held = mark == MARK_HOLDS || mark == MARK_RUNS_HELD;
    }
    for (size_t i = outcome->done; outcome->why == LINK_LOST && i < self->list.n; i++)
        if (self->items[i].mark == MARK_STEPS)
            self->core_is = core_is_after(self->core_is, MARK_STEPS);
}

/* --- while a list waits --------------------------------------------------------------------------------- */

/* The first witness that has changed. The core may be running: registers that only it can read are checked
 * with the next hits. */
static const struct witness_item *find_changed(const struct direct_engine *self, uint64_t *saw,
                                               struct error *unread)
{
    const struct witness *witness = &self->device->witness;
    struct deadline soon = read_time(NULL);
    for (size_t i = 0; i < witness->n; i++) {
        const struct witness_item *item = &witness->items[i];
        if (item->at.space != SPACE_CORE && ledger_read(self->device->ledger, item->at, saw, &soon, unread) &&
            (*saw & item->mask) != item->value)
            return item;
    }
    return NULL;
}

/* Another client of the server did something with the core: whether it halts for that client, or ran on. */
static void note_moved(struct direct_engine *self)
{
    struct error unread = {0};
    bool has = false;
    self->core_is = device_server_has(self->device, &has, &unread) && has ? CORE_IS_FOREIGN : CORE_IS_FREE;
}

/* Another client of the server did it, which ends the next list that waits. */
static bool by_client(struct direct_engine *self, struct error *error)
{
    uint64_t status;
    struct error why = {0};
    struct deadline soon = read_time(self->deadline->cancel);
    if (!link_has_server(self->device->link) ||
        ledger_read(self->device->ledger, core_status_register(self->core), &status, &soon, &why) ||
        why.kind != ERROR_RESET)
        return false;
    note_moved(self);
    (void)error_copy(error, &why);
    return true;
}

/* A reset clears the mark alone; who clears what else is in its register has written it. */
bool direct_tell_reset(struct direct_engine *self, struct error *error)
{
    uint64_t saw = 0;
    struct error unread = {0};
    const struct witness_item *changed =
        core_marks_resets(self->core) ? find_changed(self, &saw, &unread) : NULL;
    self->core_is = CORE_IS_RESET;
    if (changed != NULL && changed->at.offset == core_reset_register(self->core).offset)
        return witness_tell(changed, saw, error);
    return !by_client(self, error) && error_reset(error);
}

static bool was_reset_meanwhile(const struct direct_engine *self)
{
    uint64_t cause;
    struct deadline soon = read_time(NULL);
    struct error ignored = {0};
    return ledger_read(self->device->ledger, core_reset_register(self->core), &cause, &soon, &ignored) &&
           core_reset_seen(self->core, cause);
}

/* The core has run on since. A reset that is caught ends the wait by itself. */
static bool direct_check_reset(struct direct_engine *self, struct error *error)
{
    int64_t now = deadline_now_us();
    if (self->core->resets == RESETS_CAUGHT || now - self->reset_checked_us < RESET_CHECK_US)
        return true;
    self->reset_checked_us = now;
    return !was_reset_meanwhile(self) || direct_tell_reset(self, error);
}

bool direct_tell_cause(struct direct_engine *self, const struct error *why, struct error *error)
{
    bool may_be = why->kind != ERROR_RESET && why->kind != ERROR_WRITTEN && why->kind != ERROR_LINK_LOST &&
                  why->kind != ERROR_CANCELLED && why->kind != ERROR_SYSTEM;
    if (may_be && self->core->resets == RESETS_NOTICED && was_reset_meanwhile(self))
        return direct_tell_reset(self, error);
    return error_copy(error, why);
}

/* If every stop is a comparator's, the wait would never end once the comparator is cleared. A core that lost
 * its power has lost them all. */
static bool check_breakpoints(struct direct_engine *self, bool late, struct error *error)
{
    struct error cleared = {0};
    uint8_t size = 0;
    struct deadline soon = read_time(self->deadline->cancel);
    int64_t now = deadline_now_us();
    (void)core_breakpoint_instruction(self->core, &size);
    if (size != 0 || (!late && now - self->breakpoints_checked_us < BREAKPOINTS_CHECK_US) ||
        self->core_is != CORE_IS_FREE) /* then it halts without one */
        return true;
    self->breakpoints_checked_us = now;
    if (breakpoints_check(&self->breakpoints, &soon, &cleared))
        return true;
    return was_reset_meanwhile(self) ? direct_tell_reset(self, error) : error_copy(error, &cleared);
}

/* Unless the link checks each write, a write's fault may show only at the step after it. To go on from there
 * would be to go on without the write. */
static bool write_may_be_lost(const struct direct_engine *self, size_t at, enum why why)
{
    return why == TARGET_FAULT && at > 0 && self->items[at - 1].op == OP_WRITE &&
           !link_faults_are_exact(self->device->link);
}

/* Reads the running counters, so that no wrap goes unseen. A sleeping target may refuse now and answer next
 * time. */
static bool poll_counters(struct direct_engine *self, struct error *error)
{
    uint64_t values[READING_ROOM], before_us, after_us;
    struct error unread = {0};
    struct deadline soon = read_time(self->deadline->cancel);
    if (self->hits.sink->poll == NULL || self->device->reading.by_core != NULL)
        return true; /* not wanted, or the core would have to be halted */
    if (device_read(self->device, values, &before_us, &after_us, &soon, &unread)) {
        hit_results_poll(&self->hits, values, before_us, after_us);
        return true;
    }
    bool over = !error_is_refusal(&unread) && unread.kind != ERROR_CANCELLED;
    return !over || error_copy(error, &unread);
}

bool direct_check_neighbours(struct direct_engine *self, bool now, struct error *error)
{
    struct deadline soon = read_time(NULL);
    struct error why = {0};
    if (breakpoints_check_neighbours(&self->breakpoints, now, &soon, &why))
        return true;
    bool later = error_is_refusal(&why);
    return later || error_copy(error, &why);
}

/* --- hits that are held until a reset is ruled out ------------------------------------------------------ */

static bool is_sound(struct direct_engine *self, struct error *error)
{
    const struct hit_results *hits = &self->hits;
    if (hits->was_reset || (hits->changed != NULL && was_reset_meanwhile(self)))
        return direct_tell_reset(self, error);
    return hits->changed == NULL || witness_tell(hits->changed, hits->changed_to, error);
}

static bool release_held(struct direct_engine *self, bool was_reset, struct error *unread)
{
    struct hit_results *hits = &self->hits;
    if (!was_reset && hits->changed == NULL) {
        hits->changed = find_changed(self, &hits->changed_to, unread);
        was_reset = hits->changed != NULL && was_reset_meanwhile(self); /* a reset changes them, too */
    }
    if (unread->kind != ERROR_NONE)
        return false;
    if (hits->changed != NULL)
        hits->n_held = hits->n_rehits = 0;
    hit_results_release(hits, was_reset);
    return true;
}

static bool confirm_held(struct direct_engine *self, int tries, struct error *error)
{
    if (self->hits.n_held > 0)
        self->looked_us = deadline_now_us();
    for (; self->hits.n_held > 0; tries--) {
        uint64_t cause;
        struct error unread = {0};
        struct deadline soon = read_time(NULL);
        if (ledger_read(self->device->ledger, core_reset_register(self->core), &cause, &soon, &unread) &&
            release_held(self, core_reset_seen(self->core, cause), &unread))
            continue;
        if (tries <= 1)
            return error_copy(error, &unread);
        deadline_nap_us(NAP_US);
    }
    return is_sound(self, error);
}

bool direct_confirm_held(struct direct_engine *self, struct error *error)
{
    return confirm_held(self, PLAIN_TRIES, error);
}

/* --- running a list ------------------------------------------------------------------------------------- */

/* The wait for a stop at a breakpoint reads the register that has its cause. Another debugger that reads it
 * clears it, as OpenOCD does: then the core is halted, and the wait would never end. */
static bool cause_was_cleared(struct direct_engine *self, size_t at)
{
    struct address cause = core_cause_register(self->core), status = core_status_register(self->core);
    const struct step *wait = &self->items[at];
    struct deadline soon = read_time(NULL);
    struct error unread = {0};
    uint64_t now, causes;
    return at < self->list.n && wait->op == OP_UNTIL && wait->at.offset == cause.offset &&
           cause.offset != status.offset && ledger_read(self->device->ledger, status, &now, &soon, &unread) &&
           core_state_of(self->core, now) == CORE_HALTED &&
           ledger_read(self->device->ledger, cause, &causes, &soon, &unread) &&
           (causes & wait->mask) != wait->value;
}

/* The step after `done` is not done yet. Whether to try it again; `waits`: it waits for a halt, `late`:
 * nothing went on for too long. */
static bool may_go_on(struct direct_engine *self, const struct outcome *outcome, bool waits, bool late,
                      const struct error *refused, struct error *error)
{
    bool at_end = waits && segment_at(self, self->done) == SEGMENT_AT_END;
    if (outcome->why == NOT_YET) {
        enum core_state state = waits ? core_state_of(self->core, outcome->saw) : CORE_RUNNING;
        if (state == CORE_LOCKUP)
            return error_lockup(error);
        if (waits && !check_breakpoints(self, late, error))
            return false;
        self->device->slept |= at_end && state == CORE_ASLEEP;
        self->engine.saw_sleep |= state == CORE_ASLEEP;
        if (late)
            return was_reset_meanwhile(self) ? direct_tell_reset(self, error) : tell_late(self, error);
        if (!direct_check_reset(self, error))
            return false;
        return !at_end || poll_counters(self, error);
    }
    if (outcome->why == LINK_LOST || refused->kind == ERROR_SYSTEM || late ||
        write_may_be_lost(self, self->done, outcome->why))
        return error_copy(error, refused);
    deadline_nap_us(NAP_US);
    return true;
}

static bool is_refused(const struct outcome *outcome)
{
    return outcome->why == TARGET_WAIT || outcome->why == TARGET_FAULT;
}

bool direct_ran_whole(const struct direct_engine *self)
{
    return self->done == self->list.n;
}

/* What a piece shows of the core, and of hits. */
static bool direct_take_piece(struct direct_engine *self, const struct run_piece *piece, struct error *error)
{
    const struct outcome *outcome = &piece->outcome;
    bool held = direct_holds_core(self);
    self->done = outcome->done;
    self->saw = outcome->saw;
    note_steps(self, piece->from, outcome);
    if (outcome->why == LINK_LOST && link_has_server(self->device->link) &&
        (piece->refused.kind == ERROR_MOVED || piece->refused.kind == ERROR_RESET))
        note_moved(self);
    /* A long list may take many calls, and in most of it the core is halted. One that gets nowhere waits
     * whatever the core was when it began: a reset may have let it run. */
    held = outcome->why == NOT_YET ? outcome->done > piece->from : held && direct_holds_core(self);
    progress_add(&self->progress, is_refused(outcome) ? PROGRESS_REFUSED
                                  : held              ? PROGRESS_HELD
                                                      : PROGRESS_WENT_ON);
    hit_results_take(&self->hits, self->results, self->done);
    return is_sound(self, error) &&
           (outcome->why == LINK_LOST || direct_check_neighbours(self, false, error));
}

/* While there is nothing else to do, or at last. */
static bool confirm_due(struct direct_engine *self, bool waits, struct error *error)
{
    struct error unread = {0};
    bool due =
        waits || deadline_cancelled(self->deadline) || deadline_now_us() - self->looked_us > OVERDUE_US;
    return !due || confirm_held(self, 1, &unread) || is_sound(self, error);
}

bool direct_run_list(struct direct_engine *self, struct error *error)
{
    struct run_piece piece = run_begin(0);
    const struct outcome *outcome = &piece.outcome;
    for (;;) {
        struct deadline patient = deadline_in_ms(patience_ms(LIST_MS), self->deadline->cancel);
        run_next(self->device->ledger, &self->list, self->results, &patient, &piece);
        bool not_yet = outcome->why == NOT_YET;
        /* Only the call's time is over. A wait for something that reads as 0 is found by the next call. */
        bool goes_on = not_yet && outcome->done > piece.from && outcome->saw == 0;
        bool waits = not_yet && !goes_on && run_awaits_halt(&self->list, &piece);
        if (waits || is_refused(outcome))
            self->batch = BATCH_RARE;
        if (!direct_take_piece(self, &piece, error) ||
            !confirm_due(self, waits || is_refused(outcome), error))
            return false;
        bool late = is_late(self); /* it also notes the progress of this list */
        /* If the core stays halted after hits, the next list confirms them. */
        if (outcome->why == DONE && direct_ends_halted(self) && !deadline_cancelled(self->deadline))
            return true;
        if (outcome->why == DONE || outcome->why == UNEXPECTED ||
            (not_yet && cause_was_cleared(self, self->done)))
            return direct_confirm_held(self, error);
        if (not_yet && run_is_stuck(&piece))
            return was_reset_meanwhile(self) ? direct_tell_reset(self, error) : run_tell_stuck(error);
        if (!not_yet) /* but has an answer */
            piece.went_on_us = deadline_now_us();
        if ((!goes_on || late) && !may_go_on(self, outcome, waits, late, &piece.refused, error))
            return false;
        if (deadline_cancelled(self->deadline))
            return error_set(error, ERROR_CANCELLED, "cancelled");
        if (self->hits.enough)
            return true;
        if (self->hits.sink->tick != NULL)
            self->hits.sink->tick(self->hits.sink->context,
                                  segment_at(self, self->done) == SEGMENT_AT_END ? WAIT_END : WAIT_START);
    }
}

bool direct_restore_borrowed(struct direct_engine *self, struct error *error)
{
    bool known = self->core_is == CORE_IS_RESET, was_reset = known || self->hits.was_reset;
    bool settled = run_settle(self->device->ledger, self->core, &self->list, &self->done, self->results,
                              &was_reset, self->deadline, error);
    self->hits.was_reset = self->hits.was_reset || (was_reset && !known);
    return settled;
}

bool direct_run_plain(struct direct_engine *self, struct error *error)
{
    size_t at = 0;
    for (int i = 0; i < PLAIN_TRIES; i++) {
        if (!direct_run_list(self, error))
            return false;
        at = self->done;
        if (direct_ran_whole(self) || self->hits.enough)
            return true;
        if (!direct_restore_borrowed(self, error))
            return false;
    }
    return error_set(error, ERROR_FAULT, "0x%08" PRIX64 " never had the expected value, but 0x%08" PRIX64,
                     self->items[at].at.offset, self->saw);
}

bool direct_run_step(struct direct_engine *self, struct error *error)
{
    return direct_run_list(self, error) &&
           (direct_ran_whole(self) || self->hits.enough || direct_confirm_stop(self, UINT64_MAX, error));
}

/* --- stops ---------------------------------------------------------------------------------------------- */

static void note_stopped(struct direct_engine *self, uint64_t status)
{
    struct core *core = &self->device->chosen->core;
    core_note_state(core, status);
    self->device->reading.may_hide_events |= core_may_hide_events(core);
}

bool direct_read_stop(struct direct_engine *self, struct stop *stop, struct error *error)
{
    bool held = self->interrupts_held;
    direct_new_list(self);
    core_add_wait_halt(self->core, &self->list);
    if (held)
        core_add_hold(self->core, &self->list, false);
    size_t cause = core_add_cause(self->core, &self->list);
    if (core_may_be_unreadable(self->core)) {
        if (!direct_run_plain(self, error))
            return false;
        uint64_t status = self->results[cause];
        const char *why = core_unreadable(self->core, status);
        if (why != NULL) {
            *stop = (struct stop){.cause = core_cause(self->core, status, 0), .unreadable = why};
            return true;
        }
        note_stopped(self, status);
        direct_new_list(self);
        cause = core_add_cause(self->core, &self->list);
    }
    core_add_ready(self->core, &self->list);
    size_t pc = core_add_register(self->core, &self->list, CORE_PC);
    size_t status = core_add_register(self->core, &self->list, CORE_STATUS);
    if (!direct_run_plain(self, error))
        return false;
    *stop = (struct stop){.pc = core_register_value(self->core, CORE_PC, self->results, pc),
                          .status = core_register_value(self->core, CORE_STATUS, self->results, status)};
    stop->cause = core_cause(self->core, self->results[cause], stop->status);
    return true;
}

bool direct_look_at_budget(struct direct_engine *self, struct counter_stop_look *look, struct error *error)
{
    direct_new_list(self);
    core_add_wait_halt(self->core, &self->list);
    core_add_ready(self->core, &self->list);
    struct counter_stop_places at = counter_stop_add_look(self->engine.budget.stop, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    *look = counter_stop_look(self->engine.budget.stop, self->results, &at);
    return !look->was_reset || direct_tell_reset(self, error);
}

bool direct_is_in_handler(struct direct_engine *self, const struct stop *stop, bool *is, struct error *error)
{
    *is = stop->unreadable == NULL && stop->cause == STOP_BREAKPOINT;
    return !*is || handler_stop_check(self->device->ledger, self->core, stop->pc, stop->status, is,
                                      self->deadline, error);
}

bool direct_go_on_in_handler(struct direct_engine *self, bool wait, struct error *error)
{
    direct_new_list(self);
    core_add_clear_breakpoint(self->core, &self->list);
    direct_add_run(self, &self->list);
    if (wait)
        core_add_wait_breakpoint(self->core, &self->list);
    return direct_check_time(self, error) && direct_run_plain(self, error);
}

static bool tell_state(const char *unreadable, struct error *error)
{
    return error_advise(error, ERROR_STATE,
                        "--elf decides which of both is measured; without one it is AArch64.",
                        "the core has stopped, but %s, and the measured program in the other", unreadable);
}

bool direct_check_state(struct direct_engine *self, struct error *error)
{
    uint64_t status;
    if (!core_may_be_unreadable(self->core))
        return true;
    if (!ledger_read(self->device->ledger, core_status_register(self->core), &status, self->deadline, error))
        return false;
    const char *why = core_unreadable(self->core, status);
    if (why != NULL)
        return tell_state(why, error);
    note_stopped(self, status);
    return true;
}

bool direct_confirm_stop(struct direct_engine *self, uint64_t wanted, struct error *error)
{
    struct stop stop = {0};
    if (!direct_restore_borrowed(self, error))
        return false;
    for (int i = 0; i < STOP_TRIES; i++) {
        if (!direct_read_stop(self, &stop, error))
            return false;
        if (stop.unreadable != NULL && stop.cause != STOP_RESET)
            return tell_state(stop.unreadable, error);
        bool stays = stop.cause == STOP_REQUEST && core_has(self->core, RUN_BY_TRIGGER);
        bool ours = stop.pc == wanted && stop.cause != STOP_RESET && !stays;
        self->core_is = ours ? CORE_IS_OURS : CORE_IS_STOPPED;
        if (ours)
            return true;
        bool in_handler;
        if (!direct_is_in_handler(self, &stop, &in_handler, error))
            return false;
        if (in_handler && !direct_go_on_in_handler(self, true, error))
            return false;
        i -= in_handler;
    }
    self->core_is = stop.cause == STOP_RESET ? CORE_IS_RESET : CORE_IS_FOREIGN;
    return foreign_stop_tell(&self->engine, self->core, stop.cause, NULL, stop.pc, error);
}
