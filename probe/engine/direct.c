/* SPDX-License-Identifier: MIT */
#include "engine/direct.h"

#include "device/settings.h"
#include "engine/engine.h"

#include <stdlib.h>

enum { HALT_READS = 12 };

static bool run_on(struct direct_engine *self, struct error *error)
{
    direct_new_list(self);
    /* The halt ends a step and the holding off of interrupts */
    if (self->engine.budget.stop != NULL) {
        counter_stop_add_halt(self->engine.budget.stop, &self->list);
    } else {
        core_add_halt(self->core, &self->list);
        core_add_ready(self->core, &self->list);
    }
    direct_add_run(self, &self->list);
    return direct_run_plain(self, error);
}

/* It may show a reset only once: the end of the run must know. */
static bool direct_read_status(const struct direct_engine *self, uint64_t *status, struct error *error)
{
    struct device *device = self->device;
    if (!ledger_read(device->ledger, core_status_register(self->core), status, self->deadline, error))
        return false;
    device->was_reset =
        device->was_reset || (core_has(self->core, STATUS_FORGETS) && core_reset_since(self->core, *status));
    return true;
}

static bool has_left(const struct direct_engine *self)
{
    struct error unread = {0};
    uint64_t status = 0;
    for (int i = 0; i < HALT_READS; i++)
        if (!direct_read_status(self, &status, &unread) || !core_has_not_left(self->core, status))
            return true;
    return false;
}

/* A server that was started anew has changed the trigger by which we let the core go. */
static bool direct_leave_insist(struct direct_engine *self, struct error *error)
{
    return settings_apply_core(self->device->ledger, self->core, APPLY_ALL, self->deadline, error) &&
           run_on(self, error) &&
           (has_left(self) ||
            error_set(error, ERROR_STATE, "the core is left halted: it does not leave Debug state"));
}

/* With the only breakpoint, a stop at one is ours even if its PC cannot be read. */
static bool direct_leave_is_ours(struct direct_engine *self, const struct stop *stop, bool busy, bool *ours,
                                 struct error *error)
{
    bool in_handler;
    if (!direct_is_in_handler(self, stop, &in_handler, error))
        return false;
    bool other_code =
        stop->unreadable != NULL && stop->cause == STOP_BREAKPOINT && self->breakpoints.setup.sole;
    *ours = busy || other_code || in_handler || stop->cause == STOP_RESET || stop->pc == self->region.start ||
            stop->pc == direct_end(self) || others_find(&self->call.others, self->core, stop->pc) != NULL ||
            (self->call.others.n > 0 && self->breakpoint_at == stop->pc);
    return true;
}

static bool keeps_end(const struct direct_engine *self)
{
    return self->engine.keeps_end && self->device->leave == LEAVE_HALTED_AGAIN &&
           self->engine.budget.stop == NULL;
}

/* Resumes the core, if we stopped it or it is at one of our stops. */
static bool leave_stop(struct direct_engine *self, struct error *error)
{
    uint64_t status = 0;
    struct stop stop = {0};
    struct error stays = {0};
    direct_begin_own(self, OWN_MS, self->deadline);
    if (self->device->leave == LEAVE_HALTED_FOREIGN)
        return true;
    if (keeps_end(self) && direct_holds_core(self) && !self->interrupts_held) {
        self->device->kept_halted = true;
        return true;
    }
    bool busy = direct_holds_core(self) || self->core_is == CORE_IS_RESET, halted = !busy;
    /* Right after a resume the core may still read as halted; right after a step, not yet. */
    for (int i = 0; i < HALT_READS && halted != busy; i++) {
        if (!direct_read_status(self, &status, error))
            return false;
        halted = core_state_of(self->core, status) == CORE_HALTED;
    }
    if (!halted && self->interrupts_held) { /* it runs in a handler that could not be held off */
        self->core_is = CORE_IS_OURS;
        direct_new_list(self);
        core_add_halt(self->core, &self->list);
        core_add_let_go(self->core, &self->list);
        return direct_run_plain(self, error);
    }
    if (!halted)
        return true;
    busy = busy || (self->core_is == CORE_IS_STEPPING && core_may_have_stepped(self->core, status));
    if (!device_check_left(self->device, &stays)) {
        device_leave_as(self->device, LEAVE_HALTED_RESET);
        return true;
    }
    struct counter_stop_look look = {0};
    struct error why = {0};
    if (self->engine.budget.stop != NULL && self->core_is != CORE_IS_RESET &&
        !direct_look_at_budget(self, &look, &why) && self->core_is != CORE_IS_RESET)
        return error_copy(error, &why);
    bool ours = look.is_ours;
    /* A reset may occur between the cause and the PC. */
    for (int i = 0; i < STOP_READS && !ours; i++)
        if (!direct_read_stop(self, &stop, error) || !direct_leave_is_ours(self, &stop, busy, &ours, error))
            return false;
    if (self->core_is == CORE_IS_FOREIGN || !ours) {
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
        self->engine.stopped_at = core_code_place(stop.pc);
        return true;
    }
    self->core_is = self->core_is == CORE_IS_RESET ? CORE_IS_RESET : CORE_IS_OURS;
    return run_on(self, error) && (has_left(self) || direct_leave_insist(self, error));
}

static bool direct_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    self->deadline = deadline;
    return direct_restore_borrowed(self, error) && breakpoints_remove(&self->breakpoints, deadline, error) &&
           breakpoints_resume_neighbours(&self->breakpoints, deadline, error) && leave_stop(self, error);
}

/* ---- direct */

enum { LIST_RESERVE = 768, REHIT_STEPS = 40, LOOK_US = 1000000 };

/* The stack shows at both ends which call a stop belongs to. */
static bool is_framed(const struct direct_engine *self)
{
    return self->region.to_return || self->region.in_function;
}

static struct hit_plan plan_of(const struct direct_engine *self, unsigned rehits)
{
    const struct frame *frame = &self->call.frame;
    bool framed = is_framed(self), in_function = self->region.in_function;
    struct hit_plan plan = {.core = self->core,
                            .breakpoints = &self->breakpoints,
                            .reading = &self->device->reading,
                            .start = self->region.start,
                            .end = direct_end(self),
                            .n_start_proofs = !framed       ? 0
                                              : in_function ? 1
                                                            : 2,
                            .n_end_proofs = framed + (framed && frame->is_handler && frame->by != CORE_PC),
                            .spare = self->spare_read ? &self->spare : NULL,
                            .others = self->call.others,
                            .breakpoint_at = self->breakpoint_at,
                            .rehits = rehits,
                            .slow = self->device->slow_clock,
                            .witness = &self->device->witness,
                            .at_end = self->hits.request->at_end,
                            .budget = self->engine.budget,
                            .counter = self->start_counter};
    plan.start_proofs[0] = in_function
                               ? (struct core_proof){.which = self->region.start_base, .value = frame->sp}
                               : (struct core_proof){.which = CORE_LR, .value = frame->lr};
    plan.start_proofs[1] = (struct core_proof){.which = CORE_SP, .value = frame->sp};
    plan.end_proofs[0] =
        (struct core_proof){.which = in_function ? self->region.end_base : CORE_SP, .value = frame->end.sp};
    plan.end_proofs[1] = (struct core_proof){.which = frame->by, .value = frame->lr};
    return plan;
}

static bool step_past_inner(struct direct_engine *self, struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    hit_plan_add_past_start(&plan, &self->list);
    return call_may_step(&self->region, self->core, self->region.start, error) &&
           direct_check_time(self, error) && direct_run_step(self, error);
}

/* --- lists of hits -------------------------------------------------------------------------------------- */

/* Where the hit after one that is complete begins: a round's start is its end. */
static enum segment next_begins(const struct direct_engine *self)
{
    return direct_is_round(self) ? SEGMENT_ENTRY : SEGMENT_AT_START;
}

static void add_hit(struct direct_engine *self, enum segment from, unsigned rehits, bool reset_later,
                    bool stay)
{
    struct hit_plan plan = plan_of(self, rehits);
    plan.reset_later = reset_later;
    plan.stay = stay;
    if (from > SEGMENT_ENTRY) /* read by find_return or find_base */
        plan.n_start_proofs = 0;
    struct hit_steps *hit_steps = hit_results_expect(&self->hits, hit_plan_pairs(&plan), plan.end);
    if (hit_steps != NULL)
        hit_plan_add(&plan, from, &self->list, hit_steps);
}

/* Hits that no step of the list and no held hit stands for yet. */
static uint64_t hits_left(const struct direct_engine *self)
{
    uint64_t known = self->hits.hits + self->hits.n_held + self->hits.n;
    return self->hits.request->hits > known ? self->hits.request->hits - known : 0;
}

static bool room_for(const struct direct_engine *self, size_t passages, size_t each)
{
    return self->hits.n + passages <= HIT_RESULTS_ROOM && passages <= hits_left(self) &&
           self->list.n + (passages - 1) * each < LIST_ROOM - LIST_RESERVE;
}

static void begin_list(struct direct_engine *self)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    if (self->core_is == CORE_IS_AT_END)
        hit_plan_add_resume(&plan, &self->list);
}

static bool can_look_later(const struct direct_engine *self)
{
    const struct hit_results *hits = &self->hits;
    return hits->n_held > 0 && hits->n_held + HIT_RESULTS_ROOM <= HIT_RESULTS_HELD &&
           deadline_now_us() - self->looked_us < LOOK_US;
}

static enum batch batch_from(const struct direct_engine *self, enum segment from)
{
    bool overran = from >= SEGMENT_AT_END && self->hits.under_way && self->hits.hit.overran;
    bool unknown = is_framed(self) && !self->expects_frame;
    return unknown || self->call.took_other_exit || overran || direct_has_shared_counter(self) ? BATCH_ONE
                                                                                               : self->batch;
}

/* The core stays halted at the end of a hit. */
static bool is_inspected(const struct direct_engine *self)
{
    return self->hits.sink->ended != NULL || engine_is_to_prove(&self->engine, &self->region, true);
}

/* If hits are rare, each checks for resets; otherwise the first one of some lists and the very last one do.
 * If more lists follow, this one leaves the core halted at its end: then one packet resumes the core and
 * waits for the next start. */
static void plan_hits(struct direct_engine *self, enum segment from, unsigned rehits)
{
    enum batch batch = batch_from(self, from);
    bool round = direct_is_round(self), fast = batch == BATCH_FAST;
    bool later = fast && !round && rehits == 0 && hits_left(self) > HIT_RESULTS_ROOM && can_look_later(self);
    bool keeps = keeps_end(self);
    bool stays = is_inspected(self) || (keeps && hits_left(self) <= 1);
    if (!later)
        self->looked_us = deadline_now_us();
    self->batch = BATCH_FAST;
    add_hit(self, from, rehits, later && !stays, stays && !round);
    for (size_t each = 0, before;
         batch != BATCH_ONE && !stays && room_for(self, 1, 0) && !(keeps && hits_left(self) <= 1);
         each = self->list.n - before + 1) {
        before = self->list.n;
        bool more = room_for(self, 2, each);
        stays = fast && !round && each > 0 && !more && hits_left(self) > 1;
        add_hit(self, next_begins(self), 0, (fast && more) || stays, stays);
    }
}

static bool direct_reach_start(struct direct_engine *self, struct error *error)
{
    begin_list(self);
    core_add_wait_halt(self->core, &self->list);
    core_add_expect_stop(self->core, &self->breakpoints.setup, &self->list, self->region.start, true);
    return direct_run_list(self, error) &&
           (direct_ran_whole(self) || direct_confirm_stop(self, self->region.start, error));
}

static bool show_end(struct direct_engine *self, struct error *error)
{
    const struct engine_sink *sink = self->hits.sink;
    bool enough = self->hits.enough;
    if (!is_inspected(self))
        return true;
    self->hits.enough = false; /* it would cut short the lists that read */
    bool ok = engine_prove(&self->engine, &self->region, true, error) &&
              (sink->ended == NULL || sink->ended(sink->context, error));
    self->hits.enough = enough;
    progress_note(&self->progress);
    return ok;
}

static bool leave_end(struct direct_engine *self, struct error *error)
{
    if (self->core_is != CORE_IS_AT_END || keeps_end(self))
        return true;
    self->hits.enough = false;
    begin_list(self);
    bool ok = direct_run_plain(self, error);
    self->hits.enough = true;
    return ok;
}

/* --- when a list ends early ----------------------------------------------------------------------------- */

/* One instruction past a stop at `here`, with no breakpoint set. */
static bool step_off(struct direct_engine *self, uint64_t here, struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    hit_plan_add_step(&plan, here, &self->list);
    return direct_run_step(self, error);
}

/* Resumed onto its breakpoint for a re-hit, the core may take an interrupt first, whose handler runs the same
 * code: its stops at what is watched are the run's own, and it returns. */
static bool direct_come_back(struct direct_engine *self, uint64_t wanted, struct error *error)
{
    bool to_start = wanted == self->region.start;
    for (;;) {
        struct hit_plan plan = plan_of(self, 0);
        struct stop stop = {0};
        if (self->call.others.n == 0)
            break;
        if (!direct_restore_borrowed(self, error) || !direct_read_stop(self, &stop, error))
            return false;
        bool own = stop.unreadable == NULL && stop.cause == STOP_BREAKPOINT && stop.pc != wanted &&
                   others_find(&self->call.others, self->core, stop.pc) != NULL;
        if (!own)
            break;
        self->core_is = CORE_IS_OURS;
        if (!direct_check_time(self, error) || !call_may_step(&self->region, self->core, stop.pc, error) ||
            !step_off(self, stop.pc, error))
            return false;
        direct_new_list(self);
        if (to_start)
            hit_plan_add_to_start(&plan, &self->list);
        else
            (void)hit_plan_add_on(&plan, &self->list);
        core_add_wait_halt(self->core, &self->list);
        if (!direct_run_plain(self, error))
            return false;
    }
    return direct_confirm_stop(self, wanted, error);
}

static bool run_past(struct direct_engine *self, size_t pending, struct error *error)
{
    if (!direct_run_step(self, error))
        return false;
    hit_results_passed(&self->hits, pending != SIZE_MAX && core_pending(self->core, self->results[pending]));
    return true;
}

/* After that, on to the end. */
static bool run_on_to_end(struct direct_engine *self, struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    return run_past(self, hit_plan_add_on(&plan, &self->list), error);
}

/* The handler went on in a function whose exits were not known before. */
static bool go_on_to_new_exits(struct direct_engine *self, uint64_t here, struct error *error)
{
    const struct call_access access = direct_access(self);
    if (!step_off(self, here, error) || !call_watch_exits(&self->call, &access, error))
        return false;
    self->breakpoint_at = self->call.frame.end.pc;
    self->expects_frame = self->expects_frame && self->call.handler == HANDLER_EXITS;
    call_doubt(&self->call, &self->region, &self->engine);
    return breakpoints_prepare(&self->breakpoints, self->breakpoint_at, self->deadline, error) &&
           run_on_to_end(self, error);
}

/* Steps past a stop at `here` that is not this hit's. */
static bool go_on_past(struct direct_engine *self, uint64_t here, struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    if (!direct_check_time(self, error) || !call_may_step(&self->region, self->core, here, error))
        return false;
    if (self->call.exits_changed)
        return go_on_to_new_exits(self, here, error);
    direct_new_list(self);
    hit_plan_add_step(&plan, here, &self->list);
    return run_past(self, hit_plan_add_on(&plan, &self->list), error);
}

/* This one has no end. `add` brings the core to the next start, or is to find it there. */
static bool begin_again(struct direct_engine *self, enum segment *from,
                        void (*add)(const struct hit_plan *, struct steps *), struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    *from = add == hit_plan_add_anew ? SEGMENT_ENTRY : SEGMENT_AT_START;
    self->progress.lost++;
    if (!direct_check_time(self, error) || !direct_confirm_held(self, error)) /* they precede it */
        return false;
    direct_new_list(self);
    if (self->engine.budget.stop != NULL)
        counter_stop_add_disarm(self->engine.budget.stop, &self->list);
    size_t after = steps_add(&self->list, step_time(TIME_AFTER));
    add(&plan, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    hit_results_stopped(&self->hits, self->results[after]);
    hit_results_left(&self->hits);
    return true;
}

/* The next instruction sets the stack pointer: if that removes the call's frame, it is left. */
static bool see_whether_left(struct direct_engine *self, uint64_t here, enum segment *from,
                             struct error *error)
{
    uint64_t sp = 0;
    if (!step_off(self, here, error) || !direct_read_register(self, CORE_SP, &sp, error))
        return false;
    if (call_is_left(&self->call, sp))
        return begin_again(self, from, hit_plan_add_to_start, error);
    *from = SEGMENT_AT_END;
    return run_on_to_end(self, error);
}

/* The core has stopped only now: the list took the stop before for the end of the hit. */
static bool direct_note_time(struct direct_engine *self, struct error *error)
{
    direct_new_list(self);
    size_t after = steps_add(&self->list, step_time(TIME_AFTER));
    if (!direct_run_plain(self, error))
        return false;
    hit_results_stopped(&self->hits, self->results[after]);
    return true;
}

/* Halted within the hit. */
static bool read_until_now(struct direct_engine *self, struct error *error)
{
    direct_new_registers(self);
    size_t at = reading_add(&self->device->reading, false, NULL, &self->list);
    if (!direct_run_plain(self, error))
        return false;
    reading_take(&self->device->reading, false, self->results, at, self->hits.hit.to);
    return direct_restore_borrowed(self, error);
}

/* The hit runs on to its end, with what is left of its budget or without one, or it ends here. */
static bool go_on_after_overrun(struct direct_engine *self, const struct counter_stop_look *look,
                                struct error *error)
{
    struct counter_stop *stop = self->engine.budget.stop;
    const struct engine_sink *sink = self->hits.sink;
    enum overrun_next next = OVERRUN_GOES_ON;
    uint64_t more = 0;
    size_t pending = SIZE_MAX;
    self->core_is = CORE_IS_OURS;
    if (self->device->reading.has_exceptions && !read_until_now(self, error))
        return false;
    if (sink->overrun != NULL)
        next = sink->overrun(sink->context, &self->hits.hit, look, core_code_place(direct_end(self)), &more,
                             self->deadline, error);
    if (next == OVERRUN_FAILS)
        return false;
    hit_results_overran(&self->hits, next != OVERRUN_IS_NONE);
    progress_note(&self->progress);
    self->hits.enough = next == OVERRUN_STAYS;
    direct_new_registers(self);
    if (next == OVERRUN_STAYS)
        counter_stop_add_stay(stop, &self->list);
    else if (next == OVERRUN_IS_NONE)
        counter_stop_add_arm(stop, &self->list, more, look->value);
    else
        counter_stop_add_disarm(stop, &self->list);
    if (next != OVERRUN_STAYS) {
        pending = core_add_pending(self->core, &self->list);
        direct_add_run(self, &self->list);
    }
    bool ok = direct_run_plain(self, error);
    if (ok && pending != SIZE_MAX && core_pending(self->core, self->results[pending]))
        self->hits.hit.tainted = true;
    if (ok && next == OVERRUN_STAYS)
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
    return ok;
}

/* *over: the core did not reach the end, for its budget was used up. */
static bool check_budget(struct direct_engine *self, bool *over, struct error *error)
{
    struct counter_stop_look look = {0};
    *over = false;
    if (self->engine.budget.stop == NULL)
        return true;
    if (!direct_restore_borrowed(self, error))
        return false;
    for (int i = 0; i < STOP_READS && !*over; i++) {
        if (!direct_look_at_budget(self, &look, error))
            return false;
        *over = look.is_ours;
    }
    return !*over || go_on_after_overrun(self, &look, error);
}

static bool look_at_other(struct direct_engine *self, const struct other_stop *other, enum segment *from,
                          struct error *error)
{
    const struct call_access access = direct_access(self);
    enum call_stop what;
    self->core_is = CORE_IS_OURS;
    if (!call_look(&self->call, &access, other, &what, error))
        return false;
    switch (what) {
    case CALL_IS_LEFT:
        return begin_again(self, from, hit_plan_add_resume, error);
    case CALL_BEGINS:
        self->expects_frame = false; /* it is at the start, which is read before the next list */
        return begin_again(self, from, hit_plan_add_anew, error);
    case CALL_MAY_LEAVE:
        return see_whether_left(self, other->at, from, error);
    case CALL_ENDS:
        *from = SEGMENT_FRAME;
        return direct_note_time(self, error);
    case CALL_IS_MADE:
    case CALL_STAYS_HERE:
        break;
    }
    *from = SEGMENT_AT_END;
    return go_on_past(self, other->at, error);
}

/* The core did not stop at the end, or it was read before it had. */
static bool confirm_end(struct direct_engine *self, enum segment *from, struct error *error)
{
    struct stop stop = {0};
    bool in_handler, over;
    *from = SEGMENT_AT_END;
    if (!check_budget(self, &over, error))
        return false;
    if (over)
        return true;
    *from = SEGMENT_FRAME;
    if (self->call.others.n > 0 || (self->core->quirks & HALTS_IN_HANDLER) != 0) {
        if (!direct_restore_borrowed(self, error) || !direct_read_stop(self, &stop, error))
            return false;
        bool ours = stop.unreadable == NULL && stop.cause == STOP_BREAKPOINT;
        const struct other_stop *other = ours ? others_find(&self->call.others, self->core, stop.pc) : NULL;
        if (other != NULL)
            return look_at_other(self, other, from, error);
        if (!direct_is_in_handler(self, &stop, &in_handler, error))
            return false;
        if (in_handler) { /* it ran just as the end was reached, which is awaited again */
            *from = SEGMENT_AT_END;
            hit_results_interrupted(&self->hits);
            return direct_go_on_in_handler(self, false, error);
        }
    }
    return direct_confirm_stop(self, direct_end(self), error) && direct_note_time(self, error);
}

/* The stack pointer is another call's, or it was read before it was there. */
static bool look_at_frame(struct direct_engine *self, enum segment *from, struct error *error)
{
    const struct call_access access = direct_access(self);
    bool ours = false;
    if (!call_check_end(&self->call, &access, &ours, error))
        return false;
    if (ours && self->spare_read)
        direct_note_change(self);
    *from = ours ? SEGMENT_FINISH : SEGMENT_AT_END;
    return ours || go_on_past(self, direct_end(self), error);
}

/* A re-hit at the end failed after the end was read: the hit itself is complete. */
static bool finish_by_hand(struct direct_engine *self, const struct hit_steps *hit_steps, struct error *error)
{
    hit_results_complete(&self->hits, hit_steps, self->results);
    if (!direct_come_back(self, direct_end(self), error))
        return false;
    hit_results_hold(&self->hits);
    if (!direct_confirm_held(self, error) || !show_end(self, error))
        return false;
    direct_new_list(self);
    if (!direct_is_round(self)) {
        struct hit_plan plan = plan_of(self, 0);
        hit_plan_add_resume(&plan, &self->list);
    }
    return self->list.n == 0 || direct_run_plain(self, error);
}

static bool direct_recover(struct direct_engine *self, size_t at, enum segment *from, struct error *error)
{
    const struct hit_steps hit_steps = *hit_results_current(&self->hits);
    switch (hit_steps_segment(&hit_steps, at)) {
    case SEGMENT_AT_START:
        *from = SEGMENT_ENTRY;
        return direct_confirm_stop(self, self->region.start, error);
    case SEGMENT_ENTRY:
        self->expects_frame = false;
        *from = SEGMENT_ENTRY;
        return true;
    case SEGMENT_LEAVE:
        if (self->items[at].once)
            direct_note_change(self);
        else if (self->items[at].at.offset == direct_end(self))
            return breakpoints_refuse(direct_end(self), error);
        *from = SEGMENT_LEAVE;
        return direct_come_back(self, self->region.start, error);
    case SEGMENT_AT_END:
        return confirm_end(self, from, error);
    case SEGMENT_FRAME:
        return look_at_frame(self, from, error);
    case SEGMENT_FINISH:
        if (at < hit_steps.reading_at[1][0] && self->items[at].once) { /* the end is not read yet */
            direct_note_change(self);
            *from = SEGMENT_FINISH;
            return direct_come_back(self, direct_end(self), error);
        }
        *from = next_begins(self);
        return finish_by_hand(self, &hit_steps, error);
    case SEGMENTS:
        break;
    }
    return true;
}

/* --- the engine ----------------------------------------------------------------------------------------- */

/* The last engine left the core at the end of its last hit. */
static bool leave_kept(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    direct_begin_own(self, OWN_MS, deadline);
    direct_new_list(self);
    core_add_clear_breakpoint(self->core, &self->list);
    direct_add_run(self, &self->list);
    return direct_run_plain(self, error);
}

static bool direct_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                       struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    self->deadline = deadline;
    const struct call_access access = direct_access(self);
    self->region = *region;
    self->device->slept = false;
    if (self->device->kept_halted && !leave_kept(self, deadline, error))
        return false;
    self->device->kept_halted = false;
    self->core_is = direct_holds_core(self) ? CORE_IS_OURS : CORE_IS_FREE;
    self->spare_read = false;
    self->spare_changes = 0;
    self->lr_changes = false;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    self->hits.drops = self->hits.over = false;
    if (!direct_prepare(self, &region->process, call_stops(region), error))
        return false;
    if (!breakpoints_prepare(&self->breakpoints, self->region.start, deadline, error) ||
        (!region->to_return && !breakpoints_prepare(&self->breakpoints, self->region.end, deadline, error)) ||
        !call_begin(&self->call, &access, error))
        return false;
    self->breakpoint_at = self->region.end;
    direct_new_list(self);
    breakpoints_add_move(&self->breakpoints, &self->list, BREAKPOINT_NONE, self->region.start);
    breakpoints_add_proof(&self->breakpoints, &self->list, self->region.start);
    direct_begin_own(self, deadline_left_us(deadline) / 1000, deadline);
    if (!direct_run_list(self, error))
        return false;
    if (!direct_ran_whole(self))
        return breakpoints_refuse(region->start, error);
    if (region->may_be_left && region->to_return && self->breakpoints.n_extra == region->n_writers &&
        self->breakpoints.comparator_held)
        self->call.doubt = "no second breakpoint is free" CALL_COUNTS_ON;
    call_doubt(&self->call, region, engine);
    return true;
}

/* What has to be known at the start before hits can be planned: whose code runs, where the call ends, the
 * spare register. *again: the function called itself, and is stepped past its entry. */
static bool look_at_start(struct direct_engine *self, enum segment *from, bool *again, struct error *error)
{
    bool by_core = self->device->reading.by_core != NULL, inner = false;
    bool frame = is_framed(self) && !self->expects_frame;
    bool spare = by_core && !is_framed(self) && !self->spare_read && direct_has_spare(self);
    bool mode = self->core->processes && self->region.process.which == PROCESS_NOT_SAID;
    *again = false;
    bool prove = engine_is_to_prove(&self->engine, &self->region, false);
    if (*from > SEGMENT_ENTRY || (!mode && !frame && !spare && !prove))
        return true;
    if (*from == SEGMENT_AT_START && !direct_reach_start(self, error))
        return false;
    *from = SEGMENT_ENTRY;
    if (!engine_prove(&self->engine, &self->region, false, error) ||
        (mode && !direct_check_mode(self, error)))
        return false;
    if (spare)
        return direct_find_spare(self, error);
    if (!frame)
        return true;
    if (self->region.in_function ? !direct_find_base(self, error) : !direct_find_return(self, &inner, error))
        return false;
    *again = inner;
    *from = inner ? SEGMENT_AT_START : SEGMENT_LEAVE;
    return !inner || step_past_inner(self, error);
}

/* One list of hits, from segment *from on; then *from is where the next one begins. *rehits are made at both
 * ends of its first hit; 0 once they are. */
static bool direct_run_some(struct direct_engine *self, enum segment *from, unsigned *rehits,
                            struct error *error)
{
    uint64_t before = self->hits.hits;
    if (*from <= SEGMENT_LEAVE || *from == SEGMENT_AT_END)
        call_forget_exit(&self->call, self->core);
    begin_list(self);
    plan_hits(self, *from, *rehits);
    if (!direct_run_list(self, error))
        return false;
    size_t at = self->done;
    bool complete = direct_ran_whole(self);
    if (complete && direct_ends_halted(self))
        self->core_is = CORE_IS_AT_END;
    if (self->hits.hits > before) {
        *rehits = 0;
        if (!show_end(self, error))
            return false;
    }
    if (self->hits.enough)
        return true;
    if (!complete)
        return direct_restore_borrowed(self, error) && direct_recover(self, at, from, error);
    self->spare_changes = 0;
    *from = next_begins(self);
    return true;
}

static bool run_hits(struct direct_engine *self, const struct engine_request *request,
                     const struct engine_sink *sink, struct error *error)
{
    enum segment from = SEGMENT_AT_START;
    /* The re-hits at both ends of the first hit have to fit into one list. */
    size_t fit = (LIST_ROOM - LIST_RESERVE) / (2 * (REHIT_STEPS + reading_steps(&self->device->reading)));
    unsigned rehits = request->rehits < ENGINE_REHITS ? request->rehits : ENGINE_REHITS;
    rehits = rehits < fit ? rehits : (unsigned)fit;
    direct_begin(self, request, sink);
    self->batch = BATCH_RARE;
    while (!self->hits.enough) {
        bool again;
        if (deadline_cancelled(self->deadline))
            return direct_confirm_held(self, error) && error_set(error, ERROR_CANCELLED, "cancelled");
        if (direct_has_shared_counter(self) && from <= SEGMENT_ENTRY)
            self->expects_frame = false;
        if (!look_at_start(self, &from, &again, error) ||
            (!again && !direct_run_some(self, &from, &rehits, error)))
            return false;
    }
    return leave_end(self, error) && direct_check_neighbours(self, true, error);
}

static bool direct_read_registers(struct engine *engine, struct register_value *registers, size_t n,
                                  const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    const struct deadline *before = self->deadline;
    size_t at[ENGINE_REGISTERS];
    self->deadline = deadline; /* in `ended` the run's is kept */
    bool ok = direct_check_state(self, error);
    direct_new_registers(self);
    for (size_t i = 0; i < n; i++)
        at[i] = core_add_register(self->core, &self->list, registers[i].which);
    ok = ok && direct_run_plain(self, error);
    for (size_t i = 0; ok && i < n; i++) {
        registers[i].value = core_register_value(self->core, registers[i].which, self->results, at[i]);
        registers[i].known = true;
    }
    self->deadline = before;
    return ok;
}

static bool direct_engine_run(struct engine *engine, const struct engine_request *request,
                              const struct engine_sink *sink, const struct deadline *deadline,
                              struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    struct error why = {0};
    self->deadline = deadline;
    bool ran = run_hits(self, request, sink, &why);
    engine->holds_core = direct_holds_core(self);
    engine->under_way = !ran && self->hits.under_way && !self->hits.drops ? &self->hits.hit : NULL;
    call_doubt(&self->call, &self->region, engine);
    return ran || direct_tell_cause(self, &why, error);
}

/* A core that another debugger has halted is left to it by disarm. */
static bool direct_stand(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    uint64_t status;
    direct_begin_own(self, OWN_MS, deadline);
    if (!settings_prepare_halts(self->device->ledger, &self->device->chosen->core, deadline, error) ||
        !ledger_read(self->device->ledger, core_status_register(self->core), &status, deadline, error))
        return false;
    if (core_state_of(self->core, status) == CORE_HALTED)
        return error_set(error, ERROR_FOREIGN_STOP, "another debugger halted the core");
    direct_new_list(self);
    core_add_halt(self->core, &self->list);
    core_add_ready(self->core, &self->list);
    self->core_is = CORE_IS_OURS;
    return direct_run_plain(self, error);
}

static void direct_free_engine(struct engine *engine)
{
    free(engine);
}

struct engine *direct_new(struct device *device)
{
    static const struct engine_ops ops = {.arm = direct_arm,
                                          .run = direct_engine_run,
                                          .scout = direct_scout,
                                          .walk = direct_walk,
                                          .stand = direct_stand,
                                          .read_registers = direct_read_registers,
                                          .disarm = direct_disarm,
                                          .free = direct_free_engine};
    struct direct_engine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->device = device;
    self->core = &device->chosen->core;
    breakpoints_init(&self->breakpoints, device->ledger, &device->chosen->core, device);
    hit_results_init(&self->hits, self->core, &device->reading, &device->witness);
    return &self->engine;
}
