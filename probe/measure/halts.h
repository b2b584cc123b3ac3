/*
 * Halts: what one adds to each counter in use, gathered from an engine's re-hits, and what went by between
 * two halts without it. Pure but for the sink that an engine fills.
 */
#pragma once

#include "measure/calibrate.h"
#include "measure/clock.h"
#include "measure/evaluation.h"
#include "target/engine.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

struct halts {
    const struct reading *reading;
    struct evaluation evaluation;
    struct calibration calibrations[READING_ROOM];
    struct overhead overheads[READING_ROOM];
};

/* `target` has its counters programmed, and outlives it. */
void halts_begin(struct halts *halts, const struct target *target, const struct clock *clock);
/* For an engine_sink's `rehit`, with the struct as its context. */
void halts_rehit(void *context, const struct raw_hit *rehit);
void halts_end(struct halts *halts);

struct halts_count {
    uint64_t count, plus_minus;
    bool at_least; /* a wrap may have been missed */
    bool at_most;  /* halts are in it, nobody knows how many */
};

/* What went by, of each counted counter; `pairs` halts were in it, 0: unknown. Both readings were taken while
 * the core was halted; it ran for `us` at most. */
void halts_between(const struct halts *halts, const uint64_t *from, const uint64_t *to, uint64_t us,
                   unsigned pairs, struct halts_count *out);
