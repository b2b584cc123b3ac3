/*
 * Hits over time, in bounded memory: each by itself while there are few, later a number of successive ones
 * together, with their lowest and highest count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hit_kind {
    HIT_CLEAN,
    HIT_TAINTED,
    HIT_AT_LEAST, /* only a lower bound is known */
    HIT_WARMUP,
    HIT_KINDS,
};

enum { HIT_SPANS = 1024 };

struct hit_span {
    uint64_t first, last; /* numbers of hits */
    double from, to;      /* seconds */
    struct {
        uint64_t n, least, greatest;
    } of[HIT_KINDS];
};

/* All zeros: none yet. */
struct hit_times {
    size_t n;
    uint64_t each; /* hits in a span, but for the last one, which may have fewer; 0 is 1 */
    uint64_t hits;
    struct hit_span spans[HIT_SPANS];
};

/* Hits are in the order of their numbers and times. */
void hit_times_add(struct hit_times *times, uint64_t number, double seconds, enum hit_kind kind,
                   uint64_t count);
/* The outermost counts of all; false: there is none. */
bool hit_times_range(const struct hit_times *times, uint64_t *least, uint64_t *greatest);
