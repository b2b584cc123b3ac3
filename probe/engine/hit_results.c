#include "engine/hit_results.h"

#include <string.h>

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

static void complete_hit(struct hit_results *hits, const struct hit_steps *hit_steps, const uint64_t *results)
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
    hits->hits++;
    if (!hits->sink->hit(hits->sink->context, hit) || hits->hits >= hits->request->hits)
        hits->enough = true;
}

void hit_results_release(struct hit_results *hits, bool was_reset)
{
    hits->was_reset = hits->was_reset || was_reset;
    for (size_t i = 0; i < hits->n_held && !hits->was_reset; i++)
        hit_results_hand_over(hits, &hits->held[i]);
    hits->n_held = 0;
}

static void end_hit(struct hit_results *hits)
{
    hits->under_way = hits->again = false;
    hits->advances++;
}

void hit_results_deliver(struct hit_results *hits, const struct hit_steps *hit_steps, const uint64_t *results)
{
    hit_results_release(hits, false);
    deliver_rehits(hits);
    complete_hit(hits, hit_steps, results);
    end_hit(hits);
    hit_results_hand_over(hits, &hits->hit);
}

void hit_results_stopped(struct hit_results *hits, uint64_t after_us)
{
    hits->hit.after_us = after_us;
}

void hit_results_poll(struct hit_results *hits, const uint64_t *values, uint64_t before_us, uint64_t after_us)
{
    struct raw_poll poll = {.before_us = before_us, .after_us = after_us, .first = !hits->polled};
    if (hits->sink->poll == NULL || hits->n_held > 0) /* the sink would take it for its next hit's */
        return;
    memcpy(poll.values, values, hits->reading->n * sizeof *values);
    hits->polled = true;
    hits->sink->poll(hits->sink->context, &hits->hit, &poll);
}

void hit_results_left(struct hit_results *hits)
{
    hits->under_way = false;
    hits->again = true;
    if (hits->sink->left != NULL)
        hits->sink->left(hits->sink->context);
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

void hit_results_overran(struct hit_results *hits)
{
    hits->hit.overran = true;
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
        if (hit_steps->reset_at == SIZE_MAX) {
            complete_hit(hits, hit_steps, results);
            end_hit(hits);
            if (hits->n_held < HIT_RESULTS_HELD)
                hits->held[hits->n_held++] = hits->hit;
            break;
        }
        if (core_reset_seen(hits->core, results[hit_steps->reset_at]))
            hit_results_release(hits, true);
        else if (hits->changed == NULL)
            hits->changed =
                witness_changed(hits->witness, results, &hit_steps->witness_at, &hits->changed_to);
        if (hits->changed != NULL)
            hits->n_held = 0;
        if (hits->was_reset || hits->changed != NULL)
            break;
        hit_results_deliver(hits, hit_steps, results);
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
