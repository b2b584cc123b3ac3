#include "cores/architectures.h"
#include "device/blocks.h"
#include "engine/direct_list.h"
#include "engine/engine.h"
#include "engine/stops.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_RESERVE = 768, REHIT_STEPS = 40 };

/* What belongs to a hit is told by the stack at both ends. */
static bool is_framed(const struct direct_engine *self)
{
    return self->region.to_return || self->region.in_function;
}

static struct hit_plan plan_of(const struct direct_engine *self, unsigned rehits)
{
    return (struct hit_plan){.core = self->core,
                             .breakpoints = &self->breakpoints,
                             .reading = &self->device->reading,
                             .start = self->region.start,
                             .end = direct_end(self),
                             .guess = self->region.to_return || self->region.in_function,
                             .entry_lr = self->entry_lr,
                             .entry_sp = self->entry_sp,
                             .prove_frame = self->region.to_return || self->region.in_function,
                             .end_sp = self->place.sp,
                             .in_function = self->region.in_function,
                             .start_base = self->region.start_base,
                             .end_base = self->region.end_base,
                             .others = self->others,
                             .n_others = self->n_others,
                             .moved = self->moved,
                             .rehits = rehits,
                             .slow = self->device->slow_clock,
                             .witness = &self->device->witness,
                             .at_end = self->hits.request->at_end};
}

/* --- functions ------------------------------------------------------------------------------------------ */

/* Once a run: a function is called, or it is a handler. */
static bool check_entry(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    if (!core_has_exception_modes(self->core) || self->from_call)
        return true;
    direct_new_registers(self);
    size_t status = core_add_register(self->core, &self->list, CORE_STATUS);
    if (!direct_run_plain(self, deadline, error) ||
        !entry_check(self->device, core_register_value(self->core, CORE_STATUS, self->results, status),
                     self->entry_lr, self->region.start, deadline, error))
        return false;
    self->from_call = true;
    return true;
}

/* Where the call of this entry was made, so that it is seen when it is made again. */
static bool find_call(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    uint64_t call = POINT_NONE;
    if (self->by_frame)
        return true;
    self->moved = self->place.pc;
    if (self->watching && self->call_lr == self->entry_lr)
        return true;
    self->watching = false;
    self->n_others = 0;
    self->call_lr = self->entry_lr;
    if (!self->region.may_be_left)
        return true;
    if (!entry_call(self->device, self->entry_lr, &call, deadline, error))
        return false;
    if (call == POINT_NONE)
        return true;
    /* Code that no comparator reaches needs none */
    if (!core_can_compare(self->core, call) &&
        !breakpoints_prepare(&self->breakpoints, call, deadline, error))
        return false;
    self->watching = breakpoints_can_have_extra(&self->breakpoints, 0, call);
    self->others[0] = call;
    self->n_others = self->watching;
    return true;
}

static struct return_place place_of_exit(const struct direct_engine *self, size_t i)
{
    const struct exit_place *exit = &self->region.exits[i];
    return (struct return_place){.pc = core_code(self->core, exit->at, true),
                                 .sp = (self->entry_sp - UINT64_C(4) * exit->popped) & UINT32_MAX};
}

/* Each hit is first expected at the exit that has no condition. */
static void forget_exit(struct direct_engine *self)
{
    if (self->by_exit)
        self->place = place_of_exit(self, 0);
    self->by_exit = false;
}

/* A handler ends at its own return: what comes then may be another handler, or another task. */
static bool find_exits(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    const struct region *region = &self->region;
    if (!exits_check(region, error))
        return false;
    self->watching = false;
    self->n_others = (unsigned)region->n_exits - 1;
    self->place = place_of_exit(self, 0);
    self->moved = self->place.pc;
    for (unsigned i = 0; i < self->n_others; i++) {
        self->others[i] = place_of_exit(self, i + 1).pc;
        if (!breakpoints_prepare(&self->breakpoints, self->others[i], deadline, error))
            return false;
        if (!breakpoints_can_have_extra(&self->breakpoints, i, self->others[i]))
            return error_set(error, ERROR_NO_COMPARATOR,
                             "the handler returns at %zu places, and breakpoint comparators for %u are free: "
                             "name an end",
                             region->n_exits, i + 1);
    }
    return true;
}

/* A call that is the last thing in its function does not return there, but to what happens to come next. */
static bool check_return(const struct direct_engine *self, struct error *error)
{
    const struct region *region = &self->region;
    uint64_t to = core_code_place(self->place.pc);
    if (!entry_check_return(self->core, self->entry_lr, error))
        return false;
    if (self->by_frame || region->is_return == NULL || region->is_return(region->context, to))
        return true;
    return error_set(error, ERROR_STATE,
                     "the call that returns to 0x%08" PRIX64
                     " is the last instruction of its caller: it is not meant to return. Name an end as well",
                     to);
}

/* Halted at a start in the same function as the end: where this frame is then. */
static bool find_frame(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    enum core_register base = self->region.start_base;
    direct_new_registers(self);
    size_t at = core_add_register(self->core, &self->list, base);
    size_t reset = core_add_reset_seen(self->core, &self->list);
    if (!direct_run_plain(self, deadline, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    uint64_t value = core_register_value(self->core, base, self->results, at);
    uint64_t all = self->core->family == CORE_ARMV8 ? UINT64_MAX : UINT32_MAX;
    self->entry_sp = value;
    self->place.sp = (value + (uint64_t)self->region.apart) & all;
    self->guess = true;
    return true;
}

/* Halted at the entry: learns where this call returns to. Sets *inner when the caller is the function itself.
 */
static bool find_return(struct direct_engine *self, bool *inner, const struct deadline *deadline,
                        struct error *error)
{
    direct_new_registers(self);
    size_t lr = core_add_register(self->core, &self->list, CORE_LR);
    size_t sp = core_add_register(self->core, &self->list, CORE_SP);
    size_t reset =
        core_add_reset_seen(self->core, &self->list); /* then these are another program's registers */
    if (!direct_run_plain(self, deadline, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    self->entry_lr = core_register_value(self->core, CORE_LR, self->results, lr);
    self->entry_sp = core_register_value(self->core, CORE_SP, self->results, sp);
    if (!check_entry(self, deadline, error))
        return false;
    self->by_frame = core_returns_by_frame(self->core, self->entry_lr);
    if (self->by_frame) {
        if (!find_exits(self, deadline, error))
            return false;
    } else {
        self->place =
            (struct return_place){.pc = core_code_of_lr(self->core, self->entry_lr), .sp = self->entry_sp};
    }
    *inner = !self->by_frame && self->place.pc >= self->region.low && self->place.pc < self->region.high;
    self->guess = !*inner;
    self->inner += *inner;
    if (!*inner && (!check_return(self, error) || !find_call(self, deadline, error)))
        return false;
    /* The start first, so that it is not the one that makes room. */
    return *inner || (breakpoints_prepare(&self->breakpoints, self->region.start, deadline, error) &&
                      breakpoints_prepare(&self->breakpoints, self->place.pc, deadline, error));
}

static bool step_past_inner(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    hit_plan_add_past(&plan, self->region.start, self->region.start, &self->list);
    return direct_check_time(self, error) && direct_run_plain(self, deadline, error);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static void add_hit(struct direct_engine *self, enum segment from, unsigned rehits, bool reset_later)
{
    struct hit_plan plan = plan_of(self, rehits);
    plan.reset_later = reset_later || self->ends_halted;
    plan.stay = self->ends_halted;
    if (from > SEGMENT_ENTRY) /* proved by find_return or find_frame itself */
        plan.guess = false;
    struct hit_steps *hit_steps = hit_results_expect(&self->hits, plan.start == plan.end ? 2 : 1, plan.end);
    if (hit_steps != NULL)
        hit_plan_add(&plan, from, &self->list, hit_steps);
}

/* Hits that nothing stands for yet, neither in the list nor held. */
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
    if (self->resume_first)
        hit_plan_add_resume(&plan, &self->list);
    self->resume_first = false;
}

/* The last one, and others now and then, look for resets; all do where hits come slowly. Where more lists are
 * to come the core stays at the end of this one, and what lets it go is in one packet with the next start. */
static void plan_hits(struct direct_engine *self, enum segment from, unsigned rehits)
{
    bool round = self->region.start == direct_end(self);
    bool many = (!is_framed(self) || self->guess) && !self->by_exit;
    bool hold = many && !self->slow;
    self->slow = false;
    add_hit(self, from, rehits, false);
    for (size_t each = 0, before; many && !self->ends_halted && room_for(self, 1, 0);
         each = self->list.n - before + 1) {
        before = self->list.n;
        bool group_ends = self->hits.n % HIT_RESULTS_HELD == 0;
        bool more = room_for(self, 2, each);
        self->ends_halted = hold && !round && each > 0 && !more && hits_left(self) > 1;
        add_hit(self, round ? SEGMENT_ENTRY : SEGMENT_AT_START, 0, hold && !group_ends && each > 0 && more);
    }
}

/* Waits at the start, where something is to be looked at before the first hit. */
static bool reach_start(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    size_t at = 0;
    uint64_t saw = 0;
    begin_list(self);
    core_add_wait_halt(self->core, &self->list);
    core_add_expect_stop(self->core, &self->breakpoints.setup, &self->list, self->region.start, true);
    if (!direct_run_list(self, &at, &saw, deadline, error))
        return false;
    return at == self->list.n || direct_confirm_stop(self, self->region.start, deadline, error);
}

static bool go_on_after_wrong_frame(struct direct_engine *self, const struct deadline *deadline,
                                    struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_list(self);
    size_t pending = hit_plan_add_past_stop(&plan, direct_end(self), &self->list);
    if (!direct_check_time(self, error) || !direct_run_plain(self, deadline, error))
        return false;
    hit_results_passed(&self->hits, pending != SIZE_MAX && core_pending(self->core, self->results[pending]));
    return true;
}

/* At the call that is watched. In the frame of the one that is waited for, that one has not returned, and
 * never will; in another, it is another's. */
static bool look_at_call(struct direct_engine *self, enum segment *from, const struct deadline *deadline,
                         struct error *error)
{
    struct hit_plan plan = plan_of(self, 0);
    direct_new_registers(self);
    size_t sp = core_add_register(self->core, &self->list, CORE_SP);
    if (!direct_run_plain(self, deadline, error))
        return false;
    self->halted_by_us = true;
    bool ours = core_register_value(self->core, CORE_SP, self->results, sp) == self->entry_sp;
    if (ours)
        self->lost++;
    if (!direct_check_time(self, error))
        return false;
    direct_new_list(self);
    size_t pending = SIZE_MAX;
    if (ours)
        hit_plan_add_resume(&plan, &self->list);
    else
        pending = hit_plan_add_past_stop(&plan, self->others[0], &self->list);
    if (ours)
        hit_results_left(&self->hits);
    if (!direct_run_plain(self, deadline, error))
        return false;
    *from = ours ? SEGMENT_AT_START : SEGMENT_AT_END;
    if (!ours)
        hit_results_passed(&self->hits,
                           pending != SIZE_MAX && core_pending(self->core, self->results[pending]));
    return true;
}

/* The core has stopped only now: what the list took for the end of its run was the stop before. */
static bool note_time(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    direct_new_list(self);
    size_t after = steps_add(&self->list, step_time(TIME_AFTER));
    if (!direct_run_plain(self, deadline, error))
        return false;
    hit_results_stopped(&self->hits, self->results[after]);
    return true;
}

/* At one of a handler's other exits, which it may pass without returning. */
static bool look_at_exit(struct direct_engine *self, size_t which, enum segment *from,
                         const struct deadline *deadline, struct error *error)
{
    direct_new_registers(self);
    size_t status = core_add_register(self->core, &self->list, CORE_STATUS);
    if (!direct_run_plain(self, deadline, error))
        return false;
    self->halted_by_us = true;
    self->place = place_of_exit(self, which);
    self->by_exit = true;
    *from = SEGMENT_FRAME;
    if (!self->region.exits[which].conditional ||
        cortex_m_condition_holds(core_register_value(self->core, CORE_STATUS, self->results, status)))
        return note_time(self, deadline, error);
    *from = SEGMENT_AT_END;
    return go_on_after_wrong_frame(self, deadline, error);
}

/* Stopped in a handler that came just when the end was reached: that runs first, and the end is waited for
 * again. */
static bool go_on_in_handler(struct direct_engine *self, enum segment *from, const struct deadline *deadline,
                             struct error *error)
{
    direct_new_list(self);
    core_add_clear_breakpoint(self->core, &self->list);
    core_add_run(self->core, &self->list);
    *from = SEGMENT_AT_END;
    hit_results_interrupted(&self->hits);
    return direct_check_time(self, error) && direct_run_plain(self, deadline, error);
}

/* Not the end, as it seems, or seen before it was there. */
static bool confirm_end(struct direct_engine *self, enum segment *from, const struct deadline *deadline,
                        struct error *error)
{
    struct stop stop = {0};
    bool in_handler;
    *from = SEGMENT_FRAME;
    if (self->n_others > 0 || self->core->halts_in_handler) {
        if (!direct_restore_borrowed(self, deadline, error) || !direct_look(self, &stop, deadline, error))
            return false;
        bool ours = stop.unreadable == NULL && stop.cause == STOP_BREAKPOINT;
        if (ours && self->watching && stop.pc == self->others[0])
            return look_at_call(self, from, deadline, error);
        for (unsigned i = 0; ours && !self->watching && i < self->n_others; i++)
            if (stop.pc == self->others[i])
                return look_at_exit(self, i + 1, from, deadline, error);
        if (!direct_is_in_handler(self, &stop, &in_handler, deadline, error))
            return false;
        if (in_handler)
            return go_on_in_handler(self, from, deadline, error);
    }
    return direct_confirm_stop(self, direct_end(self), deadline, error) && note_time(self, deadline, error);
}

/* The stack pointer was not what it should be, or was read before it was there. */
static bool look_at_frame(struct direct_engine *self, enum segment *from, const struct deadline *deadline,
                          struct error *error)
{
    direct_new_registers(self);
    enum core_register base = self->region.in_function ? self->region.end_base : CORE_SP;
    size_t sp = core_add_register(self->core, &self->list, base);
    if (!direct_run_plain(self, deadline, error))
        return false;
    bool ours = core_register_value(self->core, base, self->results, sp) == self->place.sp;
    *from = ours ? SEGMENT_FINISH : SEGMENT_AT_END;
    return ours || go_on_after_wrong_frame(self, deadline, error);
}

/* A re-hit at the end went wrong after the end was read: the hit itself is whole. */
static bool finish_by_hand(struct direct_engine *self, const struct hit_steps *hit_steps,
                           const struct deadline *deadline, struct error *error)
{
    struct hit_steps whole = *hit_steps; /* and its results, which looking at the stop overwrites */
    uint64_t results[LIST_ROOM];
    memcpy(results, self->results, sizeof results);
    if (!direct_confirm_stop(self, direct_end(self), deadline, error))
        return false;
    direct_new_list(self);
    struct witness_places places;
    witness_add(&self->device->witness, self->core, &self->list, &places);
    size_t reset = core_add_reset_seen(self->core, &self->list); /* as in the list */
    if (!direct_run_plain(self, deadline, error))
        return false;
    if (core_reset_seen(self->core, self->results[reset]))
        return direct_tell_reset(self, error);
    uint64_t saw = 0;
    const struct witness_item *changed =
        witness_changed(&self->device->witness, self->results, &places, &saw);
    if (changed != NULL)
        return witness_tell(changed, saw, error);
    hit_results_deliver(&self->hits, &whole, results);
    direct_new_list(self);
    if (self->region.start != direct_end(self)) {
        struct hit_plan plan = plan_of(self, 0);
        hit_plan_add_resume(&plan, &self->list);
    }
    return self->list.n == 0 || direct_run_plain(self, deadline, error);
}

/* What step `at` stands for in a list that ended there; sets the segment to go on from. */
static bool recover(struct direct_engine *self, size_t at, enum segment *from,
                    const struct deadline *deadline, struct error *error)
{
    const struct hit_steps hit_steps = *hit_results_current(&self->hits);
    switch (hit_steps_segment(&hit_steps, at)) {
    case SEGMENT_AT_START:
        *from = SEGMENT_ENTRY;
        return direct_confirm_stop(self, self->region.start, deadline, error);
    case SEGMENT_ENTRY:
        self->guess = false;
        *from = SEGMENT_ENTRY;
        return true;
    case SEGMENT_LEAVE:
        if (self->items[at].at.offset == direct_end(self))
            return error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64,
                             direct_end(self));
        *from = SEGMENT_LEAVE;
        return direct_confirm_stop(self, self->region.start, deadline, error);
    case SEGMENT_AT_END:
        return confirm_end(self, from, deadline, error);
    case SEGMENT_FRAME:
        return look_at_frame(self, from, deadline, error);
    case SEGMENT_FINISH:
        *from = self->region.start == direct_end(self) ? SEGMENT_ENTRY : SEGMENT_AT_START;
        return finish_by_hand(self, &hit_steps, deadline, error);
    case SEGMENTS:
        break;
    }
    return true;
}

static bool direct_run(struct engine *engine, const struct engine_request *request,
                       const struct engine_sink *sink, const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    enum segment from = SEGMENT_AT_START;
    /* Both ends of the first passage have to fit into one list. */
    size_t fit = (LIST_ROOM - LIST_RESERVE) / (2 * (REHIT_STEPS + reading_steps(&self->device->reading)));
    unsigned rehits = request->rehits < REHITS ? request->rehits : REHITS;
    rehits = rehits < fit ? rehits : (unsigned)fit;
    direct_begin(self, request, sink);
    self->slow = true;
    while (!self->hits.enough) {
        if (deadline_cancelled(deadline))
            return direct_confirm_held(self, error) && error_set(error, ERROR_CANCELLED, "cancelled");
        if (!self->looked) {
            if (!reach_start(self, deadline, error) || !direct_check_mode(self, deadline, error))
                return false;
            from = SEGMENT_ENTRY;
        }
        if (is_framed(self) && !self->guess && from <= SEGMENT_ENTRY) {
            bool inner = false;
            if (from == SEGMENT_AT_START && !reach_start(self, deadline, error))
                return false;
            if (self->region.in_function ? !find_frame(self, deadline, error)
                                         : !find_return(self, &inner, deadline, error))
                return false;
            if (inner && !step_past_inner(self, deadline, error))
                return false;
            from = inner ? SEGMENT_AT_START : SEGMENT_LEAVE;
            if (inner)
                continue;
        }
        if (from <= SEGMENT_LEAVE || from == SEGMENT_AT_END)
            forget_exit(self);
        size_t at = 0;
        uint64_t saw = 0;
        uint64_t before = self->hits.hits;
        begin_list(self);
        plan_hits(self, from, rehits);
        if (!direct_run_list(self, &at, &saw, deadline, error))
            return false;
        self->resume_first = self->ends_halted && at == self->list.n;
        if (self->hits.hits > before)
            rehits = 0;
        if (self->hits.enough)
            break;
        if (at == self->list.n)
            from = self->region.start == direct_end(self) ? SEGMENT_ENTRY : SEGMENT_AT_START;
        else if (!direct_restore_borrowed(self, deadline, error) ||
                 !recover(self, at, &from, deadline, error))
            return false;
    }
    return direct_look_at_neighbours(self, true, error);
}

static void direct_free(struct engine *engine)
{
    free(engine);
}

struct engine *direct_new(struct device *device)
{
    static const struct engine_ops ops = {
        .arm = direct_arm, .run = direct_run, .disarm = direct_disarm, .free = direct_free};
    struct direct_engine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return NULL;
    self->engine.ops = &ops;
    self->device = device;
    self->core = &device->chosen->core;
    breakpoints_init(&self->breakpoints, device->ledger, &device->chosen->core);
    neighbours_init(&self->neighbours, device);
    self->breakpoints.neighbours = &self->neighbours;
    hit_results_init(&self->hits, self->core, &device->reading, &device->witness);
    return &self->engine;
}

enum { LEAVE_LOOKS = 12 };

bool direct_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    self->region = *region;
    self->device->slept = false;
    self->from_call = self->resume_first = false;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    self->looked = !self->core->processes || region->process.which != PROCESS_NOT_SAID;
    if (!process_check(&region->process, self->core, error))
        return false;
    if (region->process.which == PROCESS_ID)
        breakpoints_set_context(&self->breakpoints, region->process.id);
    if (region->to_return) {
        unsigned exits = region->n_exits > 1 ? (unsigned)region->n_exits - 1 : 0, call = region->may_be_left;
        breakpoints_want_extra(&self->breakpoints, exits > call ? exits : call);
    }
    if (!device_apply_core(self->device->ledger, self->core, APPLY_ALL, deadline, error))
        return false;
    if (!breakpoints_prepare(&self->breakpoints, self->region.start, deadline, error) ||
        (!region->to_return && !breakpoints_prepare(&self->breakpoints, self->region.end, deadline, error)))
        return false;
    direct_new_list(self);
    breakpoints_add_move(&self->breakpoints, &self->list, POINT_NONE, self->region.start);
    breakpoints_add_proof(&self->breakpoints, &self->list, self->region.start);
    static const struct engine_sink quiet;
    const struct engine_request soon = {.timeout_ms = deadline_left_us(deadline) / 1000};
    size_t at = 0;
    uint64_t saw = 0;
    direct_begin(self, &soon, &quiet);
    if (!direct_run_list(self, &at, &saw, deadline, error))
        return false;
    if (at < self->list.n)
        return error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, region->start);
    if (region->may_be_left && region->to_return && self->breakpoints.n_extra == 0 &&
        self->breakpoints.comparator_held)
        snprintf(engine->limit, sizeof engine->limit,
                 "no second breakpoint comparator is free: a call that is left without returning, and made "
                 "again, is taken for one");
    return true;
}

static bool is_other(const struct direct_engine *self, uint64_t pc)
{
    for (unsigned i = 0; i < self->n_others; i++)
        if (self->others[i] == pc)
            return true;
    return self->n_others > 0 && self->moved == pc;
}

/* Only a stop that we caused, or that we were in the middle of handling, is ours to leave. */
static bool leave_stop(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    uint64_t status = 0;
    struct stop stop = {0};
    struct error stays = {0};
    static const struct engine_sink quiet;
    static const struct engine_request soon = {.timeout_ms = 1000};
    direct_begin(self, &soon, &quiet);
    bool busy = self->halted_by_us || self->was_reset, halted = !busy, in_handler;
    /* A core that was let go may look halted for a moment yet, and one that steps may not yet. */
    for (int i = 0; i < LEAVE_LOOKS && halted != busy; i++) {
        if (!ledger_read(self->device->ledger, core_status_register(self->core), &status, deadline, error))
            return false;
        halted = core_state_of(self->core, status) == CORE_HALTED;
    }
    if (!halted && self->held) { /* in what cannot be held off */
        direct_new_list(self);
        core_add_halt(self->core, &self->list);
        core_add_let_go(self->core, &self->list);
        return direct_run_plain(self, deadline, error);
    }
    if (!halted)
        return true;
    if (!device_check_left(self->device, &stays)) {
        device_leave_as(self->device, LEAVE_HALTED_RESET);
        return true;
    }
    if (!direct_look(self, &stop, deadline, error) ||
        !direct_is_in_handler(self, &stop, &in_handler, deadline, error))
        return false;
    /* Nobody but us has a breakpoint there, whatever state its code is in. */
    bool other_code =
        stop.unreadable != NULL && stop.cause == STOP_BREAKPOINT && self->breakpoints.setup.sole;
    bool ours = busy || other_code || in_handler || stop.cause == STOP_RESET ||
                stop.pc == self->region.start || stop.pc == direct_end(self) || is_other(self, stop.pc);
    if (self->foreign || !ours) {
        device_leave_as(self->device, LEAVE_HALTED_FOREIGN);
        self->engine.stopped_at = core_code_place(stop.pc);
        return true;
    }
    direct_new_list(self);
    core_add_halt(self->core,
                  &self->list); /* ends a step that was under way, and the holding off of interrupts */
    core_add_run(self->core, &self->list);
    return direct_run_plain(self, deadline, error);
}

bool direct_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct direct_engine *self = (struct direct_engine *)engine;
    return direct_give_back(self, deadline, error) &&
           breakpoints_remove(&self->breakpoints, deadline, error) &&
           neighbours_let_go(&self->neighbours, deadline, error) && leave_stop(self, deadline, error);
}

/* "CONTEXTIDR, which tells them apart, was 0x2 at this stop", as far as it can be read. */
static bool describe_context(struct direct_engine *self, char *out, size_t size,
                             const struct deadline *deadline, struct error *error)
{
    struct error unread = {0};
    snprintf(out, size, "CONTEXTIDR, which tells them apart, cannot be read from there");
    size_t at;
    direct_new_registers(self);
    if (!core_add_context(self->core, &self->list, &at))
        return true;
    if (direct_run_plain(self, deadline, &unread))
        snprintf(out, size, "CONTEXTIDR, which tells them apart, was 0x%" PRIX64 " at this stop",
                 self->results[at]);
    return direct_give_back(self, deadline, error);
}

bool direct_check_mode(struct direct_engine *self, const struct deadline *deadline, struct error *error)
{
    char context[96];
    direct_new_registers(self);
    size_t mode = core_add_mode(self->core, &self->list);
    if (!direct_run_plain(self, deadline, error))
        return false;
    self->looked = true;
    if (!core_in_user_mode(self->core, self->results[mode]))
        return true;
    if (!describe_context(self, context, sizeof context, deadline, error))
        return false;
    return error_set(
        error, ERROR_STATE,
        "0x%08" PRIX64 " is run in user mode: under an operating system other processes may have "
        "other code there.\n%s. --context ID measures where it is ID only; --context any, wherever "
        "that address is reached",
        core_code_place(self->region.start), context);
}
