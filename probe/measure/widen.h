/*
 * Widening: 64-bit totals from raw readings of a counter of any width, direction and modulus. How often it
 * wrapped between two readings is bounded by other evidence (the time, a slower clock). Pure.
 */
#pragma once

#include "counters/counter.h"

#include <stdbool.h>
#include <stdint.h>

struct widen_bounds {
    uint64_t least, most; /* most UINT64_MAX: unknown */
};

struct widen {
    uint64_t total;
    bool at_least;     /* the total is a lower bound */
    bool contradicted; /* by another counter of the target: no total can be; the caller sets it */
};

/*
 * Adds the count between two readings. The candidates are elapsed + k * modulus, k >= 0.
 * - One candidate within the bounds: it is exact.
 * - Several: the smallest is added, and the total becomes "at least".
 * - None, because the evidence contradicts itself: the smallest candidate not below `least` is added, or
 *   `elapsed` if that exceeds 64 bits, and the total becomes "at least".
 * - A reading that the counter cannot show, because its reload changed: `least` is added, "at least".
 * - The total would exceed 64 bits: it stays at UINT64_MAX, "at least".
 * A counter of 64 bits needs no evidence.
 */
void widen_add(struct widen *widen, const struct counter *counter, uint64_t from, uint64_t to,
               struct widen_bounds bounds);

void widen_by_span(struct widen_bounds *bounds, uint64_t least, uint64_t most);
/* For a counter of clock cycles; rounds outward. A bound is skipped if one of its factors is not finite, is
 * negative, or if `fastest_hz` is 0. */
void widen_by_time(struct widen_bounds *bounds, double shortest_s, double longest_s, double slowest_hz,
                   double fastest_hz);
