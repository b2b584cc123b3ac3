/* SPDX-License-Identifier: MIT */
#include "profile/guard.h"

enum { REHITS = 16, TRIES = 4, HALT_ROOM = 4096, CHAINED_BITS = 16 };

uint64_t guard_most(uint64_t budget)
{
    return budget + 1 + HALT_ROOM;
}

/* --- where the core is ---------------------------------------------------------------------------------- */

/* A function that the call ended in, by a jump, returns to the same place. */
static bool is_elsewhere(const struct guard *guard, const struct unwind_stack *stack, uint64_t end)
{
    for (size_t i = 0; i < stack->count; i++) {
        const struct unwind_frame *frame = &stack->at[i];
        uint64_t at = unwind_place(frame);
        if (frame->is_guess || (i > 0 && frame->pc == end) ||
            (at >= guard->options.low && at < guard->options.high))
            return false;
    }
    return stack->end == UNWIND_OUTERMOST;
}

static bool read_place(struct guard *guard, const struct counter_stop_look *look, struct guard_overrun *out,
                       const struct deadline *deadline, struct error *error)
{
    const struct core *core = guard->stop->core;
    out->has_pc = !core_may_be_unreadable(core) || core_unreadable(core, look->cause) == NULL;
    return !out->has_pc || stack_reader_place(guard->stacks, &out->place, deadline, error);
}

/* --- counts --------------------------------------------------------------------------------------------- */

static uint64_t guard_sink_value_of(const struct guard *guard, const uint64_t *values)
{
    return guard->n_picks > 1 ? values[0] | values[1] << CHAINED_BITS : values[0];
}

static uint64_t modulus_mask(const struct guard *guard)
{
    unsigned bits = guard->n_picks > 1 ? 2 * CHAINED_BITS : guard->stop->counter.bits;
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Armed anew, it begins once more. */
static uint64_t armed_now(const struct guard *guard)
{
    return guard->used > 0 ? guard->armed_anew : guard->armed;
}

static uint64_t guard_sink_raw_of(const struct guard *guard, const struct raw_hit *hit)
{
    bool keeps = guard->armed == 0 || guard->stop->is_shared;
    uint64_t begun = keeps                                    ? guard_sink_value_of(guard, hit->from)
                     : guard->stop->way == COUNTER_STOP_MATCH ? 0
                                                              : -armed_now(guard);
    return (keeps ? 0 : guard->used) + ((guard_sink_value_of(guard, hit->to) - begun) & modulus_mask(guard));
}

static bool is_halt_known(const struct guard_result *result)
{
    return result->halt_most >= result->halt_least;
}

static uint64_t without_cost(uint64_t raw, uint64_t cost)
{
    return raw > cost ? raw - cost : 0;
}

/* If none was measured, a halt costs nothing, or no more than this. */
static uint64_t halt_most(const struct guard_result *result)
{
    return is_halt_known(result) ? result->halt_most : HALT_ROOM;
}

/* Each halt cost something from the least to the most. */
static struct guard_count without_halts(const struct guard_result *result, uint64_t raw, unsigned pairs)
{
    uint64_t most = without_cost(raw, is_halt_known(result) ? pairs * result->halt_least : 0);
    return (struct guard_count){most, most - without_cost(raw, pairs * halt_most(result))};
}

/* An interrupt ran, or may have, that a halt delayed: its time is not the call's. */
static bool may_have_delayed(const struct guard *guard, const struct raw_hit *hit,
                             struct unseen_delays *delays)
{
    const struct unseen_delays before = *delays;
    bool excepted = unseen_delays_note(delays, guard->plausible.reading, hit->from, hit->to);
    return hit->tainted || excepted || delays->unknown > before.unknown;
}

static bool guard_sink_count_of(struct guard *guard, const struct raw_hit *hit, struct guard_count *counted)
{
    uint64_t raw = guard_sink_raw_of(guard, hit), us = us_between(hit->before_us, hit->after_us);
    *counted = without_halts(&guard->result, raw, hit->pairs);
    return plausible_count(&guard->plausible, 0, raw, us, hit->pairs + hit->steps, &guard->written);
}

/* --- the engine's sink ---------------------------------------------------------------------------------- */

static bool guard_sink_is_over(const struct guard *guard)
{
    return guard->options.for_us > 0 && deadline_now_us() - guard->begun_us >= guard->options.for_us;
}

static void guard_sink_on_rehit(void *context, const struct raw_hit *hit)
{
    struct guard *guard = context;
    struct guard_result *result = &guard->result;
    uint64_t cost =
        (guard_sink_value_of(guard, hit->to) - guard_sink_value_of(guard, hit->from)) & modulus_mask(guard);
    uint64_t us = us_between(hit->before_us, hit->after_us);
    if (!plausible_count(&guard->plausible, 0, cost, us, hit->pairs + hit->steps, &guard->written) ||
        reading_shows_exception(guard->plausible.reading, hit->from, hit->to))
        return;
    bool known = is_halt_known(result);
    if (!known || cost > result->halt_most)
        result->halt_most = cost;
    if (!known || cost < result->halt_least)
        result->halt_least = cost;
}

static void note_unclear(struct guard_result *result, uint64_t over)
{
    result->unclear++;
    result->unclear_by = over > result->unclear_by ? over : result->unclear_by;
}

/* A count that wrapped says nothing of a call that overran: one that did not is below what it is armed for.
 */
static void guard_sink_judge(struct guard_result *result, const struct guard_count *counted, uint64_t budget,
                             bool delayed)
{
    uint64_t over = counted->most > budget ? counted->most - budget : 0;
    if (over > counted->spread && !delayed) {
        result->unstopped++;
    } else if (over > 0) {
        note_unclear(result, over);
    }
}

static void end_unproved(struct guard *guard)
{
    guard->result.unproved -= guard->is_unproved;
    guard->result.unclear -= guard->is_unproved;
    guard->is_unproved = false;
}

static void begin_unproved(struct guard *guard, uint64_t over)
{
    guard->result.unproved += !guard->is_unproved;
    guard->result.unclear += !guard->is_unproved;
    guard->is_unproved = true;
    if (over > guard->result.unclear_by)
        guard->result.unclear_by = over;
}

/* It was over the budget at its stop, if it had not been left then: it has returned. Halts that cost less
 * than any that was measured take that back. */
static void judge_stopped(struct guard *guard, const struct guard_count *counted)
{
    if (guard->is_elsewhere && !guard->is_delayed)
        end_unproved(guard);
    if (counted->most <= guard->options.budget)
        begin_unproved(guard, 0);
}

static void guard_end_call(struct guard *guard)
{
    guard->is_elsewhere = guard->is_unproved = guard->is_delayed = false;
    guard->used = 0;
}

static bool guard_sink_on_hit(void *context, const struct raw_hit *hit)
{
    struct guard *guard = context;
    struct guard_result *result = &guard->result;
    struct guard_count counted;
    if (guard->written.kind != ERROR_NONE || !guard_sink_count_of(guard, hit, &counted))
        return false;
    result->calls++;
    result->parts += hit->unproved;
    result->tainted += hit->tainted;
    bool delayed = may_have_delayed(guard, hit, &result->delays);
    if (!hit->tainted && counted.most > result->most.most)
        result->most = counted;
    if (hit->overran)
        judge_stopped(guard, &counted);
    else
        guard_sink_judge(result, &counted, guard->options.budget, delayed);
    if (hit->overran && guard->sink.returned != NULL)
        guard->sink.returned(guard->sink.context, result->overruns, counted, guard->is_unproved);
    guard_end_call(guard);
    return result->overruns < guard->options.overruns && !guard_sink_is_over(guard);
}

/* Of a call that is known to have been left, a stop somewhere else says nothing. */
static void guard_sink_on_left(void *context, const struct raw_hit *hit)
{
    struct guard *guard = context;
    (void)hit;
    struct guard_result *result = &guard->result;
    result->left++;
    if (guard->is_elsewhere && guard->sink.left != NULL)
        guard->sink.left(guard->sink.context, result->overruns);
    result->overruns -= guard->is_elsewhere;
    if (guard->is_elsewhere)
        end_unproved(guard);
    guard_end_call(guard);
}

static void guard_sink_on_tick(void *context, enum engine_wait wait)
{
    struct guard *guard = context;
    if (guard->sink.tick != NULL)
        guard->sink.tick(guard->sink.context, guard->result.calls, wait);
}

/* The counter is armed for one pair of halts: of a call that had more, it may have to count on. */
static bool arms_anew(struct guard *guard, uint64_t used, unsigned pairs, uint64_t *more)
{
    const struct guard_result *result = &guard->result;
    uint64_t needed = guard->options.budget + 1 + pairs * halt_most(result);
    if (used >= needed)
        return false;
    *more = needed - used + halt_most(result);
    *more = *more < guard->stop->most ? *more : guard->stop->most;
    guard->used = used;
    guard->armed_anew = *more;
    return true;
}

/* Elsewhere, the call may have been left before. */
static enum overrun_next guard_sink_on_overrun(void *context, const struct raw_hit *hit,
                                               const struct counter_stop_look *look, uint64_t end,
                                               uint64_t *more, const struct deadline *deadline,
                                               struct error *error)
{
    struct guard *guard = context;
    struct guard_result *result = &guard->result;
    if (!counter_stop_check(guard->stop, look, armed_now(guard), error))
        return OVERRUN_FAILS;
    uint64_t used = guard->used + armed_now(guard) + look->late;
    if (arms_anew(guard, used, hit->pairs, more))
        return OVERRUN_IS_NONE;
    const struct guard_count counted = without_halts(result, used, hit->pairs);
    struct unseen_delays ignored = {0};
    struct guard_overrun overrun = {.number = result->overruns + 1,
                                    .elapsed_s = (double)(deadline_now_us() - guard->begun_us) / 1e6,
                                    .calls = result->calls,
                                    .counted = counted.most - counted.spread,
                                    .skid = counted.most - guard->options.budget};
    if (!read_place(guard, look, &overrun, deadline, error))
        return OVERRUN_FAILS;
    overrun.is_elsewhere = overrun.has_pc && is_elsewhere(guard, &overrun.place.stack, end);
    guard->is_elsewhere = overrun.is_elsewhere;
    guard->is_delayed = may_have_delayed(guard, hit, &ignored);
    overrun.is_unproved = guard->is_delayed || overrun.is_elsewhere;
    result->overruns++;
    if (overrun.is_unproved)
        begin_unproved(guard, overrun.skid);
    if (overrun.skid > result->skid)
        result->skid = overrun.skid;
    if (!guard->sink.overrun(guard->sink.context, &overrun, error))
        return OVERRUN_FAILS;
    if (result->overruns < guard->options.overruns || !guard->options.keep)
        return OVERRUN_GOES_ON;
    result->is_kept = true;
    return OVERRUN_STAYS;
}

/* The first call is awaited even if --for is over. */
static int64_t timeout_ms(const struct guard *guard)
{
    int64_t left_ms = (guard->begun_us + guard->options.for_us - deadline_now_us()) / 1000 + 1;
    return guard->options.for_us > 0 && guard->result.calls > 0 && left_ms < guard->options.timeout_ms
               ? left_ms
               : guard->options.timeout_ms;
}

static bool run_calls(struct guard *guard, uint64_t hits, unsigned rehits, const struct deadline *deadline,
                      struct error *error)
{
    const struct engine_request request = {.hits = hits, .rehits = rehits, .timeout_ms = timeout_ms(guard)};
    const struct engine_sink sink = {.context = guard,
                                     .hit = guard_sink_on_hit,
                                     .unproved = guard_sink_on_hit,
                                     .rehit = guard_sink_on_rehit,
                                     .left = guard_sink_on_left,
                                     .tick = guard_sink_on_tick,
                                     .overrun = guard_sink_on_overrun};
    bool ok = guard->engine->ops->run(guard->engine, &request, &sink, deadline, error);
    return guard->written.kind == ERROR_NONE ? ok : error_replace(error, &guard->written);
}

static void guard_sink_arm(struct guard *guard)
{
    const struct guard_result *result = &guard->result;
    guard->armed = guard->options.budget + 1 + halt_most(result);
    if (guard->armed > guard->stop->most)
        guard->armed = guard->stop->most;
    guard->engine->budget = (struct hit_budget){.stop = guard->stop, .events = guard->armed};
}

static bool ends_well(struct guard *guard, struct error *error)
{
    struct guard_result *result = &guard->result;
    bool waits = error->kind == ERROR_START || error->kind == ERROR_END;
    if (error->kind == ERROR_CANCELLED)
        result->end = GUARD_CANCELLED;
    else if (waits && guard_sink_is_over(guard) && result->calls > 0)
        result->end = GUARD_TIME;
    else if (error->kind == ERROR_END && result->overruns > 0)
        result->end = GUARD_NO_RETURN;
    else
        result->end = GUARD_FAILED;
    if (result->end != GUARD_FAILED)
        error_clear(error);
    return result->end != GUARD_FAILED;
}

bool guard_run(struct guard *guard, const struct deadline *deadline, struct error *error)
{
    struct guard_result *result = &guard->result;
    struct error why = {0};
    *result = (struct guard_result){.halt_least = 1};
    guard->begun_us = deadline_now_us();
    bool ok = true;
    for (int i = 0; i < TRIES && ok && guard->options.calibrate && !is_halt_known(result); i++)
        ok = (i > 0 && guard_sink_is_over(guard)) || run_calls(guard, 1, REHITS, deadline, &why);
    if (ok && !guard_sink_is_over(guard)) {
        guard_sink_arm(guard);
        ok = counter_stop_set(guard->stop, deadline, &why) && run_calls(guard, UINT64_MAX, 0, deadline, &why);
    }
    result->elapsed_s = (double)(deadline_now_us() - guard->begun_us) / 1e6;
    result->end = result->overruns >= guard->options.overruns ? GUARD_OVERRUNS : GUARD_TIME;
    return ok || ends_well(guard, &why) || error_copy(error, &why);
}
