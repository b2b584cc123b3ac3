/*
 * Evaluation: raw readings of a hit become counts of 64 bits without what the halts added, or lower bounds.
 * Evidence of how often a counter wrapped is the time that went by, the cycles that went by for counters that
 * cannot be faster, and a slower clock beside them. Pure.
 */
#pragma once

#include "counters/reading.h"
#include "device/device.h"
#include "engine/engine.h"
#include "measure/clock.h"
#include "measure/result.h"
#include "measure/widen.h"
#include "measure/wrap_evidence.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Calibration: what a halt adds to a counter, from re-hits, and how far a single halt may be from the mean.
 * A sample far above the rest had a handler in it and is dropped.
 */
enum { CALIBRATION_SAMPLES = 256 };

struct calibration {
    uint64_t samples[CALIBRATION_SAMPLES];
    size_t n;
};

struct overhead {
    bool known;
    double mean;
    uint64_t low, high; /* of the kept samples */
    size_t kept;
};

void calibration_add(struct calibration *calibration, uint64_t sample); /* ignored when full */
struct overhead calibration_result(const struct calibration *calibration);

/* `raw` without the cost of `pairs` halts; never below 0. */
uint64_t overhead_remove(const struct overhead *overhead, uint64_t raw, unsigned pairs);
/* The truth lies within this distance of the result of overhead_remove. */
uint64_t overhead_plus_minus(const struct overhead *overhead, unsigned pairs);

struct evaluation {
    const struct reading *reading;
    const struct overhead *overheads; /* one for each counted counter */
    bool counts_cycles;               /* the first counter runs with the core's clock */
    double bound_hz;
    struct wrap_evidence beside;
    /* The hit under way, as far as looks have seen it. */
    struct widen so_far[READING_ROOM];
    uint64_t last[READING_ROOM];
    uint64_t last_us;
    bool looked;
};

/* Two readings, and what lies between them. */
struct evaluation_span {
    const uint64_t *from, *to;
    uint64_t longest_us;
    unsigned pairs; /* of halts */
    bool halted;    /* at both: their counters were read at one moment */
};

/* What went by in the counted counters. */
void evaluation_step(const struct evaluation *evaluation, const struct evaluation_span *span,
                     struct widen *out);
void evaluation_poll(struct evaluation *evaluation, const struct raw_hit *hit, const struct raw_poll *look);
/* The whole of a hit; the looks at it, if any, have come before. `out` has room for reading->counted. */
void evaluation_total(struct evaluation *evaluation, const struct raw_hit *hit, struct widen *out);
/* Of a total, what is left without its halts. */
struct value evaluation_value(const struct evaluation *evaluation, size_t which, const struct widen *total,
                              unsigned pairs);

/*
 * Halts: what one adds to each counter in use, gathered from an engine's re-hits, and what went by between
 * two halts without it. Pure but for the sink that an engine fills.
 */
struct halt_cost {
    const struct reading *reading;
    struct evaluation evaluation;
    struct calibration calibrations[READING_ROOM];
    struct overhead overheads[READING_ROOM];
};

/* `target` has its counters programmed, and outlives it. */
void halt_cost_begin(struct halt_cost *halts, const struct device *device, const struct clock *clock);
/* For an engine_sink's `rehit`, with the struct as its context. */
void halt_cost_rehit(void *context, const struct raw_hit *rehit);
void halt_cost_end(struct halt_cost *halts);

struct halt_cost_count {
    uint64_t count, plus_minus;
    bool at_least; /* a wrap may have been missed */
    bool at_most;  /* halts are in it, nobody knows how many */
};

/* What went by, of each counted counter; `pairs` halts were in it, 0: unknown. Both readings were taken while
 * the core was halted; it ran for `us` at most. */
void halt_cost_between(const struct halt_cost *halts, const uint64_t *from, const uint64_t *to, uint64_t us,
                       unsigned pairs, struct halt_cost_count *out);
