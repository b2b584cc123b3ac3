#include "target/apply.h"
#include "target/lowered_list.h"

#include <inttypes.h>
#include <stdio.h>

enum { LEAVE_LOOKS = 12 };

bool lowered_arm(struct engine *engine, const struct region *region, const struct deadline *deadline,
                 struct error *error)
{
    struct lowered *self = (struct lowered *)engine;
    self->region = *region;
    self->target->slept = false;
    self->entry_is_call = self->onward = false;
    self->region.start = core_code(self->core, region->start, region->start_is_thumb);
    self->region.end = core_code(self->core, region->end, region->end_is_thumb);
    self->looked = !self->core->processes || region->process.which != PROCESS_NOT_SAID;
    if (!process_check(&region->process, self->core, error))
        return false;
    if (region->process.which == PROCESS_ID)
        points_set_context(&self->points, region->process.id);
    if (region->to_return) {
        unsigned exits = region->n_exits > 1 ? (unsigned)region->n_exits - 1 : 0, call = region->may_be_left;
        points_want_extra(&self->points, exits > call ? exits : call);
    }
    if (!target_apply_core(self->target->ledger, self->core, APPLY_ALL, deadline, error))
        return false;
    if (!points_prepare(&self->points, self->region.start, deadline, error) ||
        (!region->to_return && !points_prepare(&self->points, self->region.end, deadline, error)))
        return false;
    lowered_new_list(self);
    points_add_move(&self->points, &self->list, POINT_NONE, self->region.start);
    points_add_proof(&self->points, &self->list, self->region.start);
    static const struct engine_sink quiet;
    const struct engine_wish soon = {.timeout_ms = deadline_left_us(deadline) / 1000};
    size_t at = 0;
    uint64_t saw = 0;
    lowered_begin(self, &soon, &quiet);
    if (!lowered_run_list(self, &at, &saw, deadline, error))
        return false;
    if (at < self->list.n)
        return error_set(error, ERROR_ADDRESS, "no breakpoint can be put at 0x%08" PRIX64, region->start);
    if (region->may_be_left && region->to_return && self->points.n_extra == 0 && self->points.comparator_held)
        snprintf(engine->limit, sizeof engine->limit,
                 "no second breakpoint comparator is free: a call that is left without returning, and made "
                 "again, is taken for one");
    return true;
}

static bool is_other(const struct lowered *self, uint64_t pc)
{
    for (unsigned i = 0; i < self->n_others; i++)
        if (self->others[i] == pc)
            return true;
    return self->n_others > 0 && self->moved == pc;
}

/* Only a stop that we caused, or that we were in the middle of handling, is ours to leave. */
static bool leave_stop(struct lowered *self, const struct deadline *deadline, struct error *error)
{
    const struct core_ops *ops = self->core->ops;
    uint64_t status = 0;
    struct stop stop = {0};
    struct error stays = {0};
    static const struct engine_sink quiet;
    static const struct engine_wish soon = {.timeout_ms = 1000};
    lowered_begin(self, &soon, &quiet);
    bool busy = self->halted_by_us || self->was_reset, halted = !busy, in_handler;
    /* A core that was let go may look halted for a moment yet, and one that steps may not yet. */
    for (int i = 0; i < LEAVE_LOOKS && halted != busy; i++) {
        if (!ledger_read(self->target->ledger, ops->status(self->core), &status, deadline, error))
            return false;
        halted = ops->state(self->core, status) == CORE_HALTED;
    }
    if (!halted && self->held) { /* in what cannot be held off */
        lowered_new_list(self);
        ops->add_halt(self->core, &self->list);
        core_add_let_go(self->core, &self->list);
        return lowered_run_plain(self, deadline, error);
    }
    if (!halted)
        return true;
    if (!target_check_left(self->target, &stays)) {
        self->target->leave_halted = true;
        return true;
    }
    if (!lowered_look(self, &stop, deadline, error) ||
        !lowered_is_in_handler(self, &stop, &in_handler, deadline, error))
        return false;
    /* Nobody but us has a breakpoint there, whatever state its code is in. */
    bool other_code = stop.unreadable != NULL && stop.cause == STOP_BREAKPOINT && self->core->sole_breakpoint;
    bool ours = busy || other_code || in_handler || stop.cause == STOP_RESET ||
                stop.pc == self->region.start || stop.pc == lowered_end(self) || is_other(self, stop.pc);
    if (self->foreign || !ours) {
        self->target->leave_halted = true;
        self->engine.stopped_at = core_code_place(stop.pc);
        return true;
    }
    lowered_new_list(self);
    ops->add_halt(self->core,
                  &self->list); /* ends a step that was under way, and the holding off of interrupts */
    ops->add_run(self->core, &self->list);
    return lowered_run_plain(self, deadline, error);
}

bool lowered_disarm(struct engine *engine, const struct deadline *deadline, struct error *error)
{
    struct lowered *self = (struct lowered *)engine;
    return lowered_give_back(self, deadline, error) && points_remove(&self->points, deadline, error) &&
           neighbours_let_go(&self->neighbours, deadline, error) && leave_stop(self, deadline, error);
}
