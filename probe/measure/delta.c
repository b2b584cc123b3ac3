#include "measure/delta.h"

#include "measure/calibrate.h"

#include <stdio.h>
#include <string.h>

enum {
    HITS_DEFAULT = 100,
    WINDOW_US = 2000000,
    REHITS_FIRST = 10,
    REHITS_MORE = 32, /* when the first ones differ among themselves */
    WAITING_ROOM = 4, /* hits measured before calibration is done */
};

struct delta {
    const struct counter_block *block;
    const struct delta_options *options;
    const struct delta_sink *sink;
    struct summary *summary;
    struct calibration calibrations[BLOCK_COUNTERS];
    struct overhead overheads[BLOCK_COUNTERS];
    struct raw_hit waiting[WAITING_ROOM];
    int64_t waiting_us[WAITING_ROOM];
    size_t n_waiting;
    bool calibrated;
    uint64_t clean; /* hits in the statistics */
    unsigned most_pairs;
    int64_t started_us, first_us;
};

/* Whether fewer than a modulus of counts can have gone by: then the difference of two readings is all there
 * is. */
static bool is_decided(const struct delta *delta, size_t i, const struct raw_hit *raw)
{
    double halts = (double)raw->pairs * (double)(delta->overheads[i].high + 64) * 2;
    double most = (double)raw->run_us / 1e6 * delta->options->clock.bound_hz + halts;
    return most < (double)counter_modulus(&delta->block->counters[i]);
}

static void evaluate(struct delta *delta, const struct raw_hit *raw, int64_t at_us)
{
    struct summary *summary = delta->summary;
    struct hit_result hit = {.number = ++summary->hits,
                             .tainted = raw->tainted,
                             .seconds = (double)(at_us - delta->started_us) / 1e6,
                             .n = delta->block->n};
    bool decided = true;
    for (size_t i = 0; i < delta->block->n; i++) {
        uint64_t elapsed = counter_elapsed(&delta->block->counters[i], raw->from[i], raw->to[i]);
        const struct overhead *overhead = &delta->overheads[i];
        struct value *value = &hit.values[i];
        value->at_least = !is_decided(delta, i, raw);
        value->count = overhead_remove(overhead, elapsed, raw->pairs);
        if (value->at_least) {
            uint64_t off = overhead_plus_minus(overhead, raw->pairs);
            value->count -= value->count < off ? value->count : off;
            decided = false;
        }
        struct column *column = &summary->columns[i];
        if (raw->tainted)
            continue;
        if (value->at_least) {
            column->at_least++;
            if (value->count > column->at_least_max)
                column->at_least_max = value->count;
        } else {
            statistics_add(column->statistics, value->count);
        }
    }
    summary->steps_past += raw->past;
    if (raw->tainted)
        summary->tainted++;
    else if (decided)
        delta->clean++;
    if (raw->pairs > delta->most_pairs)
        delta->most_pairs = raw->pairs;
    if (delta->sink->hit != NULL)
        delta->sink->hit(delta->sink->context, &hit);
}

/* Hits that are undecided only because the host was slow are made up for; a region that never can be is not.
 */
static bool is_enough(const struct delta *delta, int64_t now_us)
{
    const struct summary *summary = delta->summary;
    uint64_t all = summary->hits + delta->n_waiting, undecided = summary->columns[0].at_least;
    if (delta->options->hits == 0)
        return all >= HITS_DEFAULT || (delta->first_us != 0 && now_us - delta->first_us >= WINDOW_US);
    uint64_t wanted = delta->options->hits;
    if (undecided == 0 || delta->clean == 0)
        return all >= wanted;
    return all - undecided >= wanted || all >= 4 * wanted + 16;
}

static bool on_hit(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    int64_t now_us = deadline_now_us();
    if (delta->first_us == 0)
        delta->first_us = now_us;
    if (!delta->calibrated && delta->n_waiting < WAITING_ROOM) {
        delta->waiting_us[delta->n_waiting] = now_us;
        delta->waiting[delta->n_waiting++] = *raw;
    } else {
        evaluate(delta, raw, now_us);
    }
    return !is_enough(delta, now_us);
}

static void on_rehit(void *context, const struct raw_hit *raw)
{
    struct delta *delta = context;
    for (size_t i = 0; i < delta->block->n; i++)
        calibration_add(&delta->calibrations[i],
                        counter_elapsed(&delta->block->counters[i], raw->from[i], raw->to[i]));
}

static void on_tick(void *context, enum engine_wait wait)
{
    struct delta *delta = context;
    if (delta->sink->tick != NULL)
        delta->sink->tick(delta->sink->context, delta->summary->hits + delta->n_waiting, wait);
}

static bool differ(const struct delta *delta)
{
    for (size_t i = 0; i < delta->block->n; i++) {
        struct overhead overhead = calibration_result(&delta->calibrations[i]);
        if (overhead.low != overhead.high)
            return true;
    }
    return false;
}

static void finish_calibration(struct delta *delta)
{
    for (size_t i = 0; i < delta->block->n; i++)
        delta->overheads[i] = calibration_result(&delta->calibrations[i]);
    delta->calibrated = true;
    size_t n = delta->n_waiting;
    delta->n_waiting = 0;
    for (size_t i = 0; i < n; i++)
        evaluate(delta, &delta->waiting[i], delta->waiting_us[i]);
}

static bool measure_all(struct delta *delta, struct engine *engine, const struct deadline *deadline,
                        struct error *error)
{
    struct engine_sink sink = {.context = delta, .hit = on_hit, .rehit = on_rehit, .tick = on_tick};
    struct engine_wish one = {.hits = 1, .timeout_ms = delta->options->timeout_ms};
    struct engine_wish rest = {.hits = UINT64_MAX, .timeout_ms = delta->options->timeout_ms};
    if (delta->options->calibrate) {
        one.rehits = delta->options->hits == 1 ? REHITS_MORE : REHITS_FIRST;
        if (!engine->ops->run(engine, &one, &sink, deadline, error))
            return false;
        if (differ(delta) && !is_enough(delta, deadline_now_us())) {
            one.rehits = REHITS_MORE;
            if (!engine->ops->run(engine, &one, &sink, deadline, error))
                return false;
        }
    }
    finish_calibration(delta);
    while (!is_enough(delta, deadline_now_us())) {
        uint64_t all = delta->summary->hits;
        uint64_t wanted = delta->options->hits == 0 ? HITS_DEFAULT : delta->options->hits;
        rest.hits = wanted > all ? wanted - all : 1;
        if (!engine->ops->run(engine, &rest, &sink, deadline, error))
            return false;
    }
    return true;
}

bool delta_measure(struct engine *engine, const struct target *target, const struct delta_options *options,
                   const struct delta_sink *sink, struct summary *summary, const struct deadline *deadline,
                   struct error *error)
{
    struct delta delta = {.block = target->block,
                          .options = options,
                          .sink = sink,
                          .summary = summary,
                          .most_pairs = 1,
                          .started_us = deadline_now_us()};
    summary->n = delta.block->n;
    summary->wanted = options->hits;
    for (size_t i = 0; i < summary->n; i++) {
        struct column *column = &summary->columns[i];
        *column = (struct column){.statistics = statistics_new()};
        snprintf(column->name, sizeof column->name, "%s", delta.block->counters[i].name);
        if (column->statistics == NULL)
            return error_set(error, ERROR_SYSTEM, "out of memory");
    }
    bool ok = measure_all(&delta, engine, deadline, error);
    if (!delta.calibrated)
        finish_calibration(&delta);
    for (size_t i = 0; i < summary->n; i++) {
        const struct overhead *overhead = &delta.overheads[i];
        summary->columns[i].calibrated = overhead->known;
        summary->columns[i].overhead = overhead->mean * delta.most_pairs;
        summary->columns[i].plus_minus = (double)overhead_plus_minus(overhead, delta.most_pairs);
    }
    summary->seconds = (double)(deadline_now_us() - delta.started_us) / 1e6;
    return ok;
}

void summary_free(struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        statistics_free(summary->columns[i].statistics);
    summary->n = 0;
}
