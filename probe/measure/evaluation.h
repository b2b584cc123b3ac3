/* SPDX-License-Identifier: MIT */
/*
 * Evaluation: turns the raw readings of a hit into 64-bit counts, or lower bounds, without the cost of its
 * halts. How often a counter wrapped follows from the elapsed time, from the elapsed cycles if the counter
 * cannot be faster, and from a slower clock read with it. Pure.
 */
#pragma once

#include "counters/counter.h"
#include "device/device.h"
#include "engine/engine.h"
#include "measure/result.h"
#include "measure/widen.h"

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
/* Adds what the counter went by in a re-hit; nothing, if its reload changed meanwhile. */
void calibration_take(struct calibration *calibration, const struct counter *counter, uint64_t from,
                      uint64_t to);
struct overhead calibration_result(const struct calibration *calibration);

/* `raw` without the cost of `pairs` halts; never below 0. */
uint64_t overhead_remove(const struct overhead *overhead, uint64_t raw, unsigned pairs);
/* The truth lies within this distance of the result of overhead_remove. */
uint64_t overhead_plus_minus(const struct overhead *overhead, unsigned pairs);

struct evaluation {
    const struct reading *reading;
    const struct overhead *overheads; /* one for each counted counter */
    bool counts_cycles;               /* the first counter runs at the core's clock */
    double bound_hz;
    struct wrap_evidence evidence;
    /* The hit under way, up to its last poll. */
    struct widen so_far[READING_ROOM];
    uint64_t last[READING_ROOM];
    uint64_t last_us;
    bool polled;
};

struct evaluation_span {
    const uint64_t *from, *to;
    uint64_t longest_us;
    unsigned pairs; /* of halts */
    bool halted;    /* at both: all counters were read at one moment */
};

void evaluation_step(const struct evaluation *evaluation, const struct evaluation_span *span,
                     struct widen *out);
void evaluation_poll(struct evaluation *evaluation, const struct raw_hit *hit, const struct raw_poll *poll);
/* The whole hit, after its polls, if any. `out` has room for reading->counted. */
void evaluation_total(struct evaluation *evaluation, const struct raw_hit *hit, struct widen *out);
/* A total without the cost of its halts. */
struct value evaluation_value(const struct evaluation *evaluation, size_t which, const struct widen *total,
                              unsigned pairs);

/* What a halt adds to each counter in use, by an engine's re-hits, and what was counted between two halts. */
struct halt_cost {
    const struct reading *reading;
    struct evaluation evaluation;
    struct calibration calibrations[READING_ROOM];
    struct overhead overheads[READING_ROOM];
};

/* The device has its counters programmed, and outlives it. */
void halt_cost_begin(struct halt_cost *halts, const struct device *device, const struct clock *clock);
/* An engine_sink's `rehit`; `context` is the struct halt_cost. */
void halt_cost_rehit(void *context, const struct raw_hit *rehit);
void halt_cost_end(struct halt_cost *halts);

struct halt_cost_count {
    uint64_t count, plus_minus;
    bool at_least; /* a wrap may have been missed */
    bool at_most;  /* an unknown cost of halts is in it */
};

/* Counts between two halts that are at most `us` apart, with `pairs` halts in them; 0: an unknown number. */
void halt_cost_between(const struct halt_cost *halts, const uint64_t *from, const uint64_t *to, uint64_t us,
                       unsigned pairs, struct halt_cost_count *out);
