/*
 * Evaluation: raw readings of a hit become counts of 64 bits without what the halts added, or lower bounds.
 * Evidence of how often a counter wrapped is the time that went by, the cycles that went by for counters that
 * cannot be faster, and a slower clock beside them. Pure.
 */
#pragma once

#include "counters/reading.h"
#include "measure/beside.h"
#include "measure/calibrate.h"
#include "measure/clock.h"
#include "measure/result.h"
#include "measure/widen.h"
#include "target/engine.h"

#include <stdbool.h>
#include <stdint.h>

struct evaluation {
    const struct reading *reading;
    const struct overhead *overheads; /* one for each counted counter */
    bool counts_cycles;               /* the first counter runs with the core's clock */
    double bound_hz;
    struct beside beside;
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
void evaluation_look(struct evaluation *evaluation, const struct raw_hit *hit, const struct raw_look *look);
/* The whole of a hit; the looks at it, if any, have come before. `out` has room for reading->counted. */
void evaluation_total(struct evaluation *evaluation, const struct raw_hit *hit, struct widen *out);
/* Of a total, what is left without its halts. */
struct value evaluation_value(const struct evaluation *evaluation, size_t which, const struct widen *total,
                              unsigned pairs);
