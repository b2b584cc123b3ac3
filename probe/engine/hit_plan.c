#include "engine/hit_plan.h"

/* core_add_run would take the budget's stop away. */
static void hit_plan_add_run(const struct hit_plan *plan, struct steps *list)
{
    if (plan->budget.stop != NULL)
        counter_stop_add_run(plan->budget.stop, list);
    else
        core_add_run(plan->core, list);
}

/* Reads the counters, and again after each re-hit: resumed onto its own breakpoint, the core stops with
 * nothing executed, so the counters have moved by what leaving and entering Debug state costs. Interrupts
 * that became pending meanwhile are held off. */
static void add_rehits(const struct hit_plan *plan, uint64_t here, unsigned which, struct steps *list,
                       struct hit_steps *out)
{
    out->reading_at[which][0] = (uint16_t)reading_add(plan->reading, false, plan->spare, list);
    bool held = plan->rehits > 0 && core_can_hold(plan->core);
    if (held)
        core_add_hold(plan->core, list, true);
    for (unsigned i = 0; i < plan->rehits; i++) {
        out->disturbed_at[which][i] = (uint16_t)core_add_pending(plan->core, list);
        core_add_clear_breakpoint(plan->core, list);
        held ? core_add_run_held(plan->core, list) : core_add_run(plan->core, list);
        core_add_wait_breakpoint(plan->core, list);
        core_add_expect_stop(plan->core, &plan->breakpoints->setup, list, here, true);
        out->reading_at[which][i + 1] = (uint16_t)reading_add(plan->reading, false, plan->spare, list);
    }
    if (held)
        core_add_hold(plan->core, list, false);
}

static void hit_plan_add_words(const struct hit_plan *plan, struct steps *list, struct hit_steps *out)
{
    for (size_t i = 0; plan->at_end != NULL && i < plan->at_end->n; i++) {
        const struct at_end_word *word = &plan->at_end->words[i];
        size_t at = word->is_register ? core_add_register(plan->core, list, word->which)
                                      : steps_add(list, step_read(word->at));
        out->words_at[i] = (uint16_t)at;
    }
}

size_t hit_plan_add_past(const struct hit_plan *plan, uint64_t from, uint64_t to, struct steps *list)
{
    breakpoints_add_move(plan->breakpoints, list, from, BREAKPOINT_NONE);
    core_add_single_step(plan->core, list, plan->breakpoints->comparator, from);
    breakpoints_add_move(plan->breakpoints, list, BREAKPOINT_NONE, to);
    size_t pending = core_add_pending(plan->core, list);
    hit_plan_add_run(plan, list);
    return pending;
}

static void add_others(const struct hit_plan *plan, struct steps *list, bool on)
{
    for (unsigned i = 0; i < plan->others.n; i++) {
        uint64_t at = plan->others.items[i].at;
        breakpoints_add_extra(plan->breakpoints, list, i, on ? BREAKPOINT_NONE : at,
                              on ? at : BREAKPOINT_NONE);
    }
}

static uint64_t moved_to(const struct hit_plan *plan)
{
    return plan->others.n > 0 ? plan->breakpoint_at : plan->end;
}

static void add_leave(const struct hit_plan *plan, struct steps *list, struct hit_steps *out)
{
    add_rehits(plan, plan->start, 0, list, out);
    if (plan->start == plan->end) {
        if ((plan->core->quirks & STEPS_INTO_HANDLERS) != 0)
            out->pending_early_at = core_add_pending(plan->core, list);
        out->before_at = steps_add(list, step_time(TIME_BEFORE));
        out->pending_at = hit_plan_add_past(plan, plan->start, plan->end, list);
        return;
    }
    breakpoints_add_move(plan->breakpoints, list, plan->start, moved_to(plan));
    add_others(plan, list, true);
    breakpoints_add_proof(plan->breakpoints, list, moved_to(plan));
    if (plan->budget.stop != NULL)
        counter_stop_add_arm(plan->budget.stop, list, plan->budget.events, plan->counter);
    out->pending_at = core_add_pending(plan->core, list);
    out->before_at = steps_add(list, step_time(TIME_BEFORE));
    hit_plan_add_run(plan, list);
}

size_t hit_plan_add_past_stop(const struct hit_plan *plan, uint64_t here, struct steps *list)
{
    add_others(plan, list, false);
    breakpoints_add_move(plan->breakpoints, list, moved_to(plan), BREAKPOINT_NONE);
    core_add_single_step(plan->core, list, plan->breakpoints->comparator, here);
    breakpoints_add_move(plan->breakpoints, list, BREAKPOINT_NONE, moved_to(plan));
    add_others(plan, list, true);
    size_t pending = core_add_pending(plan->core, list);
    hit_plan_add_run(plan, list);
    return pending;
}

void hit_plan_add_resume(const struct hit_plan *plan, struct steps *list)
{
    add_others(plan, list, false);
    breakpoints_add_move(plan->breakpoints, list, moved_to(plan), plan->start);
    hit_plan_add_run(plan, list);
}

void hit_plan_add(const struct hit_plan *plan, enum segment from, struct steps *list, struct hit_steps *out)
{
    bool round = plan->start == plan->end;
    *out = (struct hit_steps){.from = from,
                              .rehits = plan->rehits,
                              .pending_at = SIZE_MAX,
                              .pending_early_at = SIZE_MAX,
                              .reset_at = SIZE_MAX};
    for (int segment = 0; segment < SEGMENTS; segment++) {
        out->first[segment] = list->n;
        if (segment < (int)from)
            continue;
        switch ((enum segment)segment) {
        case SEGMENT_AT_START:
            core_add_wait_halt(plan->core, list);
            core_add_expect_stop(plan->core, &plan->breakpoints->setup, list, plan->start,
                                 round || plan->slow);
            break;
        case SEGMENT_ENTRY:
            if (plan->n_start_proofs > 0)
                core_add_proofs(plan->core, list, plan->start_proofs, plan->n_start_proofs, plan->spare,
                                plan->slow);
            break;
        case SEGMENT_LEAVE:
            add_leave(plan, list, out);
            break;
        case SEGMENT_AT_END:
            core_add_wait_halt(plan->core, list);
            out->after_at = steps_add(list, step_time(TIME_AFTER));
            core_add_expect_stop(plan->core, &plan->breakpoints->setup, list, plan->end, round || plan->slow);
            break;
        case SEGMENT_FRAME:
            if (plan->n_end_proofs > 0)
                core_add_proofs(plan->core, list, &plan->end_proof, plan->n_end_proofs, plan->spare,
                                plan->slow);
            break;
        case SEGMENT_FINISH:
            if (plan->budget.stop != NULL)
                counter_stop_add_disarm(plan->budget.stop, list);
            hit_plan_add_words(plan, list, out);
            add_rehits(plan, plan->end, 1, list, out);
            if (!plan->reset_later) {
                witness_add(plan->witness, plan->core, plan->spare, list, &out->witness_at);
                out->reset_at = core_add_reset_seen(plan->core, list); /* last: it vouches for all of these */
            }
            if (!round && !plan->stay)
                hit_plan_add_resume(plan, list);
            break;
        case SEGMENTS:
            break;
        }
    }
    out->first[SEGMENTS] = list->n;
}

enum segment hit_steps_segment(const struct hit_steps *hit_steps, size_t at)
{
    for (int segment = SEGMENT_FINISH; segment > SEGMENT_AT_START; segment--)
        if (at >= hit_steps->first[segment] && hit_steps->first[segment] < hit_steps->first[segment + 1])
            return (enum segment)segment;
    return SEGMENT_AT_START;
}
