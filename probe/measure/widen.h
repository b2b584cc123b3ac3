/*
 * Widening: totals of 64 bits out of raw readings of a counter of any width, direction and modulus. Two
 * readings leave open how many times the counter wrapped between them; evidence from elsewhere (the time, a
 * slower clock) bounds the count. If it leaves one possibility the total is exact, else the total says "at
 * least". Pure.
 */
#pragma once

#include "counters/counter.h"

#include <stdbool.h>
#include <stdint.h>

/* What else is known of the counts between two readings: not fewer than least, not more than most. */
struct widen_bounds {
    uint64_t least, most; /* most UINT64_MAX: unknown */
};

struct widen {
    uint64_t total;
    bool at_least; /* the total is a lower bound */
};

/*
 * Adds what went by from one reading to the next. The candidates are elapsed + k * modulus, k >= 0. Exactly
 * one of them within the bounds: exact. More: the smallest is added and the total becomes "at least". None:
 * the evidence contradicts itself; the smallest candidate not below `least` is added, or the plain elapsed if
 * that candidate does not fit 64 bits, and the total becomes "at least". So it does when a reading is one
 * that the counter cannot show (its reload was changed under way), for which just `least` is added, and when
 * the total would not fit 64 bits, where it stays at UINT64_MAX. A counter of 64 bits needs no evidence and
 * uses none.
 */
void widen_add(struct widen *widen, const struct counter *counter, uint64_t from, uint64_t to,
               struct widen_bounds bounds);

/* Bounds from evidence. Each narrows what it is given, and leaves it alone where the evidence says nothing.
 */

void widen_by_span(struct widen_bounds *bounds, uint64_t least, uint64_t most);
/* For a counter that counts once a cycle of a clock; rounds outward. Each pair, the shortest with the slowest
 * and the longest with the fastest, says nothing when one of it is no number, infinite or negative, or when
 * `fastest_hz` is 0. */
void widen_by_time(struct widen_bounds *bounds, double shortest_s, double longest_s, double slowest_hz,
                   double fastest_hz);
