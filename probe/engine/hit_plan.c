/* SPDX-License-Identifier: MIT */
#include "engine/hit_plan.h"

#include <string.h>

/* core_add_run would take the budget's stop away. */
static void hit_plan_add_run(const struct hit_plan *plan, struct steps *list)
{
    if (plan->budget.stop != NULL)
        counter_stop_add_run(plan->budget.stop, list);
    else
        core_add_run(plan->core, list);
}

static uint16_t hit_plan_add_reading(const struct hit_plan *plan, struct steps *list)
{
    if (plan->reading->by_core == NULL)
        core_add_run_ready(plan->core, list);
    return (uint16_t)reading_add(plan->reading, false, plan->spare, list);
}

/* Reads the counters, and again after each re-hit: resumed onto its own breakpoint, the core stops with
 * nothing executed, so the counters have moved by what leaving and entering Debug state costs. Interrupts
 * that became pending meanwhile are held off. */
static void add_rehits(const struct hit_plan *plan, uint64_t here, unsigned which, struct steps *list,
                       struct hit_steps *out)
{
    out->reading_at[which][0] = hit_plan_add_reading(plan, list);
    bool held = plan->rehits > 0 && core_can_hold(plan->core);
    if (held)
        core_add_hold(plan->core, list, true);
    for (unsigned i = 0; i < plan->rehits; i++) {
        out->disturbed_at[which][i] = (uint16_t)core_add_pending(plan->core, list);
        core_add_clear_breakpoint(plan->core, list);
        held ? core_add_run_held(plan->core, list) : core_add_run(plan->core, list);
        core_add_wait_breakpoint(plan->core, list);
        core_add_expect_stop(plan->core, &plan->breakpoints->setup, list, here, true);
        out->reading_at[which][i + 1] = hit_plan_add_reading(plan, list);
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

/* With a breakpoint at the start while the end is awaited, the core has to be past it. */
static bool steps_off(const struct hit_plan *plan)
{
    bool steps = plan->start == plan->end;
    for (unsigned i = 0; i < plan->others.n; i++)
        steps = steps || plan->others.items[i].what == OTHER_START;
    return steps;
}

unsigned hit_plan_pairs(const struct hit_plan *plan)
{
    return steps_off(plan) ? 2 : 1;
}

/* Before the first instruction, also if that is stepped: all of the call's events count. */
static void add_leave(const struct hit_plan *plan, struct steps *list, struct hit_steps *out)
{
    bool steps = steps_off(plan), arms = plan->budget.stop != NULL && plan->start != plan->end;
    add_rehits(plan, plan->start, 0, list, out);
    if (arms && steps)
        counter_stop_add_arm(plan->budget.stop, list, plan->budget.events, plan->counter);
    if (steps && (plan->core->quirks & STEPS_INTO_HANDLERS) != 0)
        out->pending_early_at = core_add_pending(plan->core, list);
    if (steps) {
        out->before_at = steps_add(list, step_time(TIME_BEFORE));
        breakpoints_add_move(plan->breakpoints, list, plan->start, BREAKPOINT_NONE);
        core_add_single_step(plan->core, list, plan->breakpoints->comparator, plan->start);
    }
    breakpoints_add_move(plan->breakpoints, list, steps ? BREAKPOINT_NONE : plan->start, moved_to(plan));
    add_others(plan, list, true);
    if (plan->start != plan->end)
        breakpoints_add_proof(plan->breakpoints, list, moved_to(plan));
    if (arms && !steps)
        counter_stop_add_arm(plan->budget.stop, list, plan->budget.events, plan->counter);
    out->pending_at = core_add_pending(plan->core, list);
    if (!steps)
        out->before_at = steps_add(list, step_time(TIME_BEFORE));
    hit_plan_add_run(plan, list);
}

void hit_plan_add_step(const struct hit_plan *plan, uint64_t here, struct steps *list)
{
    add_others(plan, list, false);
    breakpoints_add_move(plan->breakpoints, list, moved_to(plan), BREAKPOINT_NONE);
    core_add_single_step(plan->core, list, plan->breakpoints->comparator, here);
}

size_t hit_plan_add_on(const struct hit_plan *plan, struct steps *list)
{
    breakpoints_add_move(plan->breakpoints, list, BREAKPOINT_NONE, moved_to(plan));
    add_others(plan, list, true);
    size_t pending = core_add_pending(plan->core, list);
    hit_plan_add_run(plan, list);
    return pending;
}

void hit_plan_add_to_start(const struct hit_plan *plan, struct steps *list)
{
    breakpoints_add_move(plan->breakpoints, list, BREAKPOINT_NONE, plan->start);
    hit_plan_add_run(plan, list);
}

void hit_plan_add_past_start(const struct hit_plan *plan, struct steps *list)
{
    breakpoints_add_move(plan->breakpoints, list, plan->start, BREAKPOINT_NONE);
    core_add_single_step(plan->core, list, plan->breakpoints->comparator, plan->start);
    hit_plan_add_to_start(plan, list);
}

void hit_plan_add_anew(const struct hit_plan *plan, struct steps *list)
{
    add_others(plan, list, false);
    if (moved_to(plan) != plan->start)
        breakpoints_add_move(plan->breakpoints, list, moved_to(plan), plan->start);
}

void hit_plan_add_resume(const struct hit_plan *plan, struct steps *list)
{
    hit_plan_add_anew(plan, list);
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
                core_add_proofs(plan->core, list, plan->end_proofs, plan->n_end_proofs, plan->spare,
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

/* ---- hit results */

void hit_results_init(struct hit_results *hits, const struct core *core, const struct reading *reading,
                      const struct witness *witness)
{
    *hits = (struct hit_results){.core = core, .reading = reading, .witness = witness};
}

void hit_results_begin(struct hit_results *hits, const struct engine_request *request,
                       const struct engine_sink *sink)
{
    hits->request = request;
    hits->sink = sink;
    hits->hits = 0;
    hits->enough = false;
    hits->was_reset = false;
    hits->changed = NULL;
    hits->n_held = hits->n_rehits = 0;
    hits->under_way = hits->again = false;
}

void hit_results_expect_none(struct hit_results *hits)
{
    hits->n = 0;
    hits->current = 0;
    hits->next = SEGMENT_AT_START;
}

struct hit_steps *hit_results_expect(struct hit_results *hits, unsigned pairs, uint64_t end)
{
    if (hits->n == HIT_RESULTS_ROOM)
        return NULL;
    struct expected_hit *expected = &hits->expected[hits->n++];
    expected->pairs = pairs;
    expected->end = end;
    return &expected->hit_steps;
}

const struct hit_steps *hit_results_current(const struct hit_results *hits)
{
    return hits->current < hits->n ? &hits->expected[hits->current].hit_steps : NULL;
}

static bool was_pending(const struct hit_results *hits, const uint64_t *results, size_t at)
{
    return at != SIZE_MAX && core_pending(hits->core, results[at]);
}

static bool was_entered(const struct hit_results *hits, const struct hit_steps *hit_steps,
                        const uint64_t *results)
{
    return hit_steps->pending_early_at != SIZE_MAX &&
           core_entered(hits->core, results[hit_steps->pending_early_at], results[hit_steps->pending_at]);
}

/* They are delivered only after the check for resets that follows them. */
static void hold_rehits(struct hit_results *hits, const struct hit_steps *hit_steps, unsigned which,
                        const uint64_t *results)
{
    for (unsigned i = 0; i < hit_steps->rehits && hits->n_rehits < ENGINE_REHITS; i++) {
        struct raw_hit rehit = {.pairs = 1};
        size_t at = hit_steps->disturbed_at[which][i];
        if (at != HIT_NEVER && core_held_pending(hits->core, results[at]))
            continue; /* a handler ran in it */
        reading_take(hits->reading, false, results, hit_steps->reading_at[which][i], rehit.from);
        reading_take(hits->reading, false, results, hit_steps->reading_at[which][i + 1], rehit.to);
        hits->rehits[hits->n_rehits++] = rehit;
    }
}

static void deliver_rehits(struct hit_results *hits)
{
    for (size_t i = 0; i < hits->n_rehits; i++)
        hits->sink->rehit(hits->sink->context, &hits->rehits[i]);
    hits->n_rehits = 0;
}

void hit_results_complete(struct hit_results *hits, const struct hit_steps *hit_steps,
                          const uint64_t *results)
{
    reading_take(hits->reading, false, results, hit_steps->reading_at[1][0], hits->hit.to);
    const struct at_end *at_end = hits->request->at_end;
    for (size_t i = 0; at_end != NULL && i < at_end->n; i++)
        hits->hit.words[i] =
            at_end->words[i].is_register
                ? core_register_value(hits->core, at_end->words[i].which, results, hit_steps->words_at[i])
                : results[hit_steps->words_at[i]];
}

static void hit_results_hand_over(struct hit_results *hits, const struct raw_hit *hit)
{
    if (hit->unproved) {
        hits->enough =
            (hits->sink->unproved != NULL && !hits->sink->unproved(hits->sink->context, hit)) || hits->enough;
        return;
    }
    hits->hits++;
    if (!hits->sink->hit(hits->sink->context, hit) || hits->hits >= hits->request->hits)
        hits->enough = true;
}

void hit_results_release(struct hit_results *hits, bool was_reset)
{
    hits->was_reset = hits->was_reset || was_reset;
    if (!hits->was_reset)
        deliver_rehits(hits);
    for (size_t i = 0; i < hits->n_held && !hits->was_reset; i++)
        hit_results_hand_over(hits, &hits->held[i]);
    hits->n_held = 0;
}

/* False: it is not delivered. */
static bool end_hit(struct hit_results *hits)
{
    bool counts =
        !hits->drops || hits->is_whole || hits->sink->overrun != NULL; /* which is to know its end */
    hits->hit.unproved = hits->drops;
    hits->under_way = hits->again = hits->drops = false;
    hits->over = true;
    hits->advances++;
    return counts;
}

void hit_results_hold(struct hit_results *hits)
{
    if (end_hit(hits) && hits->n_held < HIT_RESULTS_HELD)
        hits->held[hits->n_held++] = hits->hit;
}

void hit_results_stopped(struct hit_results *hits, uint64_t after_us)
{
    hits->hit.after_us = after_us;
}

void hit_results_poll(struct hit_results *hits, const uint64_t *values, uint64_t before_us, uint64_t after_us)
{
    struct raw_poll poll = {.before_us = before_us, .after_us = after_us, .first = !hits->polled};
    if (hits->sink->poll == NULL || hits->n_held > 0 ||
        hits->drops) /* the sink would take it for its next hit's */
        return;
    memcpy(poll.values, values, hits->reading->n * sizeof *values);
    hits->polled = true;
    hits->sink->poll(hits->sink->context, &hits->hit, &poll);
}

void hit_results_left(struct hit_results *hits)
{
    hits->under_way = hits->drops = false;
    hits->again = hits->over = true;
    if (hits->sink->left != NULL)
        hits->sink->left(hits->sink->context, &hits->hit);
}

void hit_results_passed(struct hit_results *hits, bool tainted)
{
    hits->hit.tainted = hits->hit.tainted || tainted;
    hits->hit.pairs += 2;
    hits->hit.past++;
}

/* It became pending while the core ran, and would have run before the end without us. */
void hit_results_interrupted(struct hit_results *hits)
{
    hits->hit.pairs++;
}

void hit_results_overran(struct hit_results *hits, bool is_one)
{
    hits->hit.overran = is_one;
    hits->hit.pairs++;
}

static void take_segment(struct hit_results *hits, const struct expected_hit *expected, enum segment segment,
                         const uint64_t *results)
{
    const struct hit_steps *hit_steps = &expected->hit_steps;
    switch (segment) {
    case SEGMENT_LEAVE:
        hold_rehits(hits, hit_steps, 0, results);
        hits->hit = (struct raw_hit){.pairs = expected->pairs,
                                     .tainted = was_pending(hits, results, hit_steps->pending_at) ||
                                                was_entered(hits, hit_steps, results),
                                     .end_address = core_code_place(expected->end)};
        reading_take(hits->reading, false, results, hit_steps->reading_at[0][hit_steps->rehits],
                     hits->hit.from);
        hits->hit.before_us = results[hit_steps->before_at];
        hits->under_way = true;
        hits->polled = false;
        hits->advances += !hits->again;
        break;
    case SEGMENT_AT_END:
        hit_results_stopped(hits, results[hit_steps->after_at]);
        break;
    case SEGMENT_FINISH:
        hit_results_complete(hits, hit_steps, results);
        hit_results_hold(hits);
        if (hit_steps->reset_at == SIZE_MAX)
            break;
        if (!core_reset_seen(hits->core, results[hit_steps->reset_at]) && hits->changed == NULL)
            hits->changed =
                witness_changed(hits->witness, results, &hit_steps->witness_at, &hits->changed_to);
        if (hits->changed != NULL)
            hits->n_held = hits->n_rehits = 0;
        hit_results_release(hits, core_reset_seen(hits->core, results[hit_steps->reset_at]));
        if (hits->was_reset || hits->changed != NULL)
            break;
        hold_rehits(hits, hit_steps, 1, results);
        deliver_rehits(hits);
        break;
    default:
        break;
    }
}

void hit_results_take(struct hit_results *hits, const uint64_t *results, size_t done)
{
    while (hits->current < hits->n) {
        const struct expected_hit *expected = &hits->expected[hits->current];
        const size_t *first = expected->hit_steps.first;
        if (done < first[hits->next + 1])
            return;
        if (first[hits->next] < first[hits->next + 1])
            take_segment(hits, expected, hits->next, results);
        if (hits->next < SEGMENT_FINISH) {
            hits->next++;
        } else {
            hits->current++;
            hits->next = SEGMENT_AT_START;
        }
    }
}
