/* SPDX-License-Identifier: MIT */
#include "measure/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A handler adds more than this to a sample; halts differ by less. */
enum { FAR = 24 };

void calibration_add(struct calibration *calibration, uint64_t sample)
{
    if (calibration->n < CALIBRATION_SAMPLES)
        calibration->samples[calibration->n++] = sample;
}

void calibration_take(struct calibration *calibration, const struct counter *counter, uint64_t from,
                      uint64_t to)
{
    if (counter_leads(counter, from, to))
        calibration_add(calibration, counter_elapsed(counter, from, to));
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct overhead calibration_result(const struct calibration *calibration)
{
    struct overhead overhead = {0};
    uint64_t sorted[CALIBRATION_SAMPLES];
    size_t n = calibration->n;
    if (n == 0)
        return overhead;
    memcpy(sorted, calibration->samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    uint64_t median = sorted[n / 2], spread = sorted[3 * n / 4] - sorted[n / 4];
    double sum = 0;
    overhead.low = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (sorted[i] > median + FAR + 3 * spread)
            break;
        sum += (double)sorted[i];
        overhead.low = sorted[i] < overhead.low ? sorted[i] : overhead.low;
        overhead.high = sorted[i];
        overhead.kept++;
    }
    overhead.known = true;
    overhead.mean = sum / (double)overhead.kept;
    return overhead;
}

uint64_t overhead_remove(const struct overhead *overhead, uint64_t raw, unsigned pairs)
{
    uint64_t cost = (uint64_t)llround(overhead->mean * pairs);
    return raw > cost ? raw - cost : 0;
}

uint64_t overhead_plus_minus(const struct overhead *overhead, unsigned pairs)
{
    uint64_t mean = (uint64_t)llround(overhead->mean * pairs);
    uint64_t above = overhead->high * pairs, below = overhead->low * pairs;
    uint64_t up = above > mean ? above - mean : 0, down = mean > below ? mean - below : 0;
    return up > down ? up : down;
}

/* HALT_UNKNOWN: cost of a halt before it was measured. */
enum { HALT_UNKNOWN = 1024, HALT_MARGIN = 64 };

static uint64_t halts_at_most(const struct overhead *overhead, unsigned pairs)
{
    uint64_t one = overhead->known ? 2 * (overhead->high + HALT_MARGIN) : HALT_UNKNOWN;
    return pairs * one;
}

static uint64_t evaluation_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What a counter can count, at most, in the cycles of the first one. */
static uint64_t evaluation_at_most(const struct evaluation *evaluation, const struct widen *out,
                                   const struct counter *counter)
{
    uint64_t cycles = evaluation_add(out[0].total, counter_coarseness(&evaluation->reading->counters[0]));
    return cycles > UINT64_MAX / counter->per_cycle ? UINT64_MAX : cycles * counter->per_cycle;
}

/* The cycles have room for the events. All counters stop together, give or take some cycles of a halt. */
static bool is_paced(const struct evaluation *evaluation, const struct widen *out, size_t i, unsigned pairs)
{
    const struct counter *counter = &evaluation->reading->counters[i];
    uint64_t most = evaluation_at_most(evaluation, out, counter);
    return evaluation_add(most, counter_coarseness(counter) +
                                    halts_at_most(&evaluation->overheads[i], pairs)) >= out[i].total;
}

/* Whether a count that the counter may have gone by from there on is within the bounds. */
static bool has_count_within(const struct counter *counter, uint64_t from, uint64_t elapsed,
                             const struct widen_bounds *bounds)
{
    uint64_t modulus = counter_modulus_at(counter, from);
    uint64_t wraps = bounds->least > elapsed ? (bounds->least - elapsed - 1) / modulus + 1 : 0;
    return wraps <= (UINT64_MAX - elapsed) / modulus && elapsed + wraps * modulus <= bounds->most;
}

/* The slow clock went on for longer than was counted, and a wrap more is too much. The other way round, it
 * may have paused: an RP2040's timer does while the other core is halted. The host's time is not asked, as a
 * target may make up for a moment. */
static bool contradicts(const struct evaluation *evaluation, const struct counter *counter,
                        const struct evaluation_span *span, uint64_t elapsed)
{
    struct widen_bounds alone = {.most = UINT64_MAX};
    wrap_evidence_narrow(&evaluation->evidence, counter, span->from, span->to, 0, &alone);
    return alone.least > elapsed && !has_count_within(counter, span->from[0], elapsed, &alone);
}

/* The target's own slow clock is better evidence than the host's time. If they contradict each other, the
 * host's has to agree only roughly: a target that was stopped for a moment may make up for it. */
static void narrow(const struct evaluation *evaluation, const struct counter *counter,
                   const struct evaluation_span *span, uint64_t elapsed, struct widen_bounds *bounds)
{
    static const double ROUGHLY_S = 0.1;
    struct widen_bounds both = *bounds;
    if (evaluation->evidence.kind == EVIDENCE_NONE)
        return;
    wrap_evidence_narrow(&evaluation->evidence, counter, span->from, span->to, 0, &both);
    if (has_count_within(counter, span->from[0], elapsed, &both)) {
        *bounds = both;
        return;
    }
    bounds->most = evaluation_add(bounds->most, (uint64_t)(ROUGHLY_S * evaluation->bound_hz));
    wrap_evidence_narrow(&evaluation->evidence, counter, span->from, span->to, 0, bounds);
}

void evaluation_step(const struct evaluation *evaluation, const struct evaluation_span *span,
                     struct widen *out)
{
    const struct reading *reading = evaluation->reading;
    for (size_t i = 0; i < reading->counted; i++) {
        const struct counter *counter = &reading->counters[i];
        struct widen_bounds bounds = {.most = UINT64_MAX};
        double fastest = evaluation->bound_hz * counter_pace(counter);
        widen_by_time(&bounds, 0, (double)span->longest_us / 1e6, 0, fastest);
        /* A clock that the user gave too low must not make every count doubtful */
        bounds.most = evaluation_add(bounds.most, halts_at_most(&evaluation->overheads[i], span->pairs));
        uint64_t elapsed = counter_elapsed(counter, span->from[i], span->to[i]);
        bounds.most = bounds.most < elapsed ? elapsed : bounds.most;
        bool paced = span->halted && i > 0 && evaluation->counts_cycles && counter->per_cycle > 0;
        if (paced && !out[0].at_least)
            widen_by_span(&bounds, 0, evaluation_at_most(evaluation, out, counter));
        if (i == 0 && evaluation->counts_cycles && span->halted)
            narrow(evaluation, counter, span, elapsed, &bounds);
        out[i] = (struct widen){0};
        widen_add(&out[i], counter, span->from[i], span->to[i], bounds);
    }
}

static void evaluation_gather(struct evaluation *evaluation, const struct widen *step)
{
    for (size_t i = 0; i < evaluation->reading->counted; i++) {
        evaluation->so_far[i].total = evaluation_add(evaluation->so_far[i].total, step[i].total);
        evaluation->so_far[i].at_least = evaluation->so_far[i].at_least || step[i].at_least;
    }
}

void evaluation_poll(struct evaluation *evaluation, const struct raw_hit *hit, const struct raw_poll *poll)
{
    struct widen step[READING_ROOM];
    /* While the core runs, the slower clock and the counter are not read at one moment. At the stops they
     * are, and that suffices if it bounds both sides. */
    const struct wrap_evidence *evidence = &evaluation->evidence;
    if (evidence->kind == EVIDENCE_TICK || (evidence->runs && !evidence->wants_clock && !evidence->claimed))
        return;
    if (poll->first) {
        memset(evaluation->so_far, 0, sizeof evaluation->so_far);
        memcpy(evaluation->last, hit->from, sizeof evaluation->last);
        evaluation->last_us = hit->before_us;
        evaluation->polled = true;
    }
    if (!evaluation->polled)
        return;
    const struct evaluation_span span = {.from = evaluation->last,
                                         .to = poll->values,
                                         .longest_us = us_between(evaluation->last_us, poll->after_us),
                                         .pairs = hit->pairs + hit->steps};
    evaluation_step(evaluation, &span, step);
    evaluation_gather(evaluation, step);
    memcpy(evaluation->last, poll->values, sizeof evaluation->last);
    evaluation->last_us = poll->before_us;
}

/* The cycles of the whole hit may decide what polls could not: both of its ends are halted. */
static void decide_by_cycles(const struct evaluation *evaluation, const struct evaluation_span *span,
                             size_t i, struct widen *out)
{
    const struct counter *counter = &evaluation->reading->counters[i];
    struct widen_bounds bounds = {.most = UINT64_MAX};
    struct widen whole = {0};
    if (!out[i].at_least || out[0].at_least || !evaluation->counts_cycles || counter->per_cycle == 0)
        return;
    widen_by_span(&bounds, 0, evaluation_at_most(evaluation, out, counter));
    widen_add(&whole, counter, span->from[i], span->to[i], bounds);
    if (!whole.at_least)
        out[i] = whole;
}

static void add_last_step(struct evaluation *evaluation, const struct raw_hit *hit,
                          const struct evaluation_span *whole, struct widen *out)
{
    struct evaluation_span span = *whole;
    struct widen step[READING_ROOM];
    step[0] = (struct widen){0};
    evaluation->polled = false;
    span.from = evaluation->last;
    span.longest_us = us_between(evaluation->last_us, hit->after_us);
    span.halted = false;
    evaluation_step(evaluation, &span, step);
    evaluation_gather(evaluation, step);
    memcpy(out, evaluation->so_far, evaluation->reading->counted * sizeof *out);
    span.from = hit->from;
    if (out[0].at_least && evaluation->evidence.kind != EVIDENCE_NONE) {
        span.longest_us = us_between(hit->before_us, hit->after_us);
        span.halted = true;
        evaluation_step(evaluation, &span, step);
        if (!step[0].at_least)
            out[0] = step[0];
    }
    for (size_t i = 1; i < evaluation->reading->counted; i++)
        decide_by_cycles(evaluation, &span, i, out);
}

static void note_contradictions(const struct evaluation *evaluation, const struct raw_hit *hit,
                                const struct evaluation_span *span, struct widen *out)
{
    const struct counter *counters = evaluation->reading->counters;
    if (!evaluation->counts_cycles)
        return;
    out[0].contradicted =
        evaluation->evidence.kind == EVIDENCE_TIMER && /* ticks may be lost, or left out */
        !counters[0].reloads &&
        contradicts(evaluation, &counters[0], span, counter_elapsed(&counters[0], hit->from[0], hit->to[0]));
    for (size_t i = 1; i < evaluation->reading->counted; i++)
        out[i].contradicted = !out[0].at_least && counters[i].per_cycle > 0 &&
                              !is_paced(evaluation, out, i, hit->pairs + hit->steps);
}

static bool needs_ticks(const struct evaluation *evaluation, const struct evaluation_span *span,
                        const struct widen *out)
{
    struct widen without[READING_ROOM];
    struct evaluation alone = *evaluation;
    if (evaluation->evidence.kind != EVIDENCE_TICK)
        return false;
    alone.evidence.kind = EVIDENCE_NONE;
    evaluation_step(&alone, span, without);
    return without[0].total != out[0].total || without[0].at_least != out[0].at_least;
}

void evaluation_total(struct evaluation *evaluation, const struct raw_hit *hit, struct widen *out)
{
    struct evaluation_span span = {.from = hit->from,
                                   .to = hit->to,
                                   .longest_us = us_between(hit->before_us, hit->after_us),
                                   .pairs = hit->pairs + hit->steps,
                                   .halted = true};
    const struct counter *first = &evaluation->reading->counters[0];
    if (evaluation->counts_cycles && !first->reloads &&
        wrap_evidence_is_refuted(&evaluation->evidence, first, hit->from, hit->to))
        evaluation->evidence.refuted = true;
    wrap_evidence_see(&evaluation->evidence, hit->from);
    wrap_evidence_see(&evaluation->evidence, hit->to);
    if (!evaluation->polled)
        evaluation_step(evaluation, &span, out);
    else
        add_last_step(evaluation, hit, &span, out);
    evaluation->evidence.relied_on =
        evaluation->evidence.relied_on || (!evaluation->polled && needs_ticks(evaluation, &span, out));
    note_contradictions(evaluation, hit, &span, out);
}

struct value evaluation_value(const struct evaluation *evaluation, size_t which, const struct widen *total,
                              unsigned pairs)
{
    const struct overhead *overhead = &evaluation->overheads[which];
    struct value value = {.count = overhead_remove(overhead, total->total, pairs),
                          .at_least = total->at_least};
    if (value.at_least) {
        uint64_t off = overhead_plus_minus(overhead, pairs);
        value.count -= value.count < off ? value.count : off;
    }
    return value;
}

/* A bound for an unknown number of halts. */
enum { SOME_PAIRS = 1000 };

void halt_cost_begin(struct halt_cost *halts, const struct device *device, const struct clock *clock)
{
    *halts = (struct halt_cost){.reading = &device->reading};
    halts->evaluation = (struct evaluation){.reading = &device->reading,
                                            .overheads = halts->overheads,
                                            .counts_cycles = device->block->counts_cycles,
                                            .bound_hz = clock->bound_hz};
}

void halt_cost_rehit(void *context, const struct raw_hit *rehit)
{
    struct halt_cost *halts = context;
    bool excepted = reading_shows_exception(halts->reading, rehit->from, rehit->to);
    for (size_t i = 0; !excepted && i < halts->reading->counted; i++)
        calibration_take(&halts->calibrations[i], &halts->reading->counters[i], rehit->from[i], rehit->to[i]);
}

void halt_cost_end(struct halt_cost *halts)
{
    for (size_t i = 0; i < halts->reading->counted; i++)
        halts->overheads[i] = calibration_result(&halts->calibrations[i]);
}

void halt_cost_between(const struct halt_cost *halts, const uint64_t *from, const uint64_t *to, uint64_t us,
                       unsigned pairs, struct halt_cost_count *out)
{
    struct widen went_by[READING_ROOM] = {0};
    const struct evaluation_span span = {
        .from = from, .to = to, .longest_us = us, .pairs = pairs > 0 ? pairs : SOME_PAIRS, .halted = true};
    evaluation_step(&halts->evaluation, &span, went_by);
    for (size_t i = 0; i < halts->reading->counted; i++) {
        const struct overhead *overhead = &halts->overheads[i];
        struct value value = evaluation_value(&halts->evaluation, i, &went_by[i], pairs);
        bool is_free = overhead->known && overhead->high == 0;
        out[i] = (struct halt_cost_count){.count = value.count,
                                          .plus_minus = overhead_plus_minus(overhead, pairs) +
                                                        counter_coarseness(&halts->reading->counters[i]),
                                          .at_least = value.at_least,
                                          .at_most = !is_free && (pairs == 0 || !overhead->known) &&
                                                     !value.at_least};
    }
}
