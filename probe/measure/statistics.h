/* SPDX-License-Identifier: MIT */
/*
 * Statistics of any number of hits in constant memory. A few thousand distinct values are kept; beyond that
 * they fall into buckets of at most 0.1 % width, and quantiles say that they are no longer exact. And hits
 * over time: each by itself while there are few, later a number of successive ones together, with their
 * lowest and highest count.
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

enum { SERIES_MOST = 512 };

/*
 * The hits in their order: single ones as long as there are few, later means of `each` successive hits.
 * Neighbours may be alike: interrupts occur in bursts, a clock or a cache drifts. A hundred such hits say
 * less about the mean than a hundred independent ones. All zeros is an empty series.
 */
struct series {
    size_t n;
    uint64_t each, taken; /* hits in one mean; hits so far in the next mean */
    double sum;           /* of the next mean */
    double means[SERIES_MOST];
};

void series_add(struct series *series, double value);

/* How far the mean may be off. */
struct series_error {
    double standard; /* error of the mean */
    double df;       /* its degrees of freedom */
    double drift;    /* slightly more than half of the rise or fall of a straight line through all hits */
};
/* `sd` and `count` of the hits give the error that independent hits would have. */
struct series_error series_error(const struct series *series, double sd, uint64_t count);

struct statistics;

struct statistics *statistics_new(void); /* NULL: out of memory */
void statistics_free(struct statistics *statistics);
void statistics_add(struct statistics *statistics, uint64_t value);

uint64_t statistics_count(const struct statistics *statistics);
/* All zero while count is 0. */
uint64_t statistics_min(const struct statistics *statistics);
uint64_t statistics_max(const struct statistics *statistics);
double statistics_mean(const struct statistics *statistics);
double statistics_deviation(const struct statistics *statistics); /* of the sample, n-1; 0 for n < 2 */
/* Of the mean; depends on the order of the values. */
struct series_error statistics_error(const struct statistics *statistics);
/* The smallest value that at least the part p (0..1) of all values do not exceed: the lower one of two in the
   middle. `exact` may be NULL. */
uint64_t statistics_quantile(const struct statistics *statistics, double p, bool *exact);

struct histogram_bin {
    uint64_t low, high; /* values in [low, high] */
    uint64_t count;
};
/* Fills at most `room` bins of equal width over the values in [from, to], empty ones included; returns how
   many. */
size_t statistics_histogram(const struct statistics *statistics, uint64_t from, uint64_t to,
                            struct histogram_bin *out, size_t room);
/* In [from, to], with the outermost of them, which are left unset without any. */
uint64_t statistics_between(const struct statistics *statistics, uint64_t from, uint64_t to, uint64_t *least,
                            uint64_t *greatest);

/*
 * Values beyond Tukey's outer fences (three quartile distances), if they are at most a tenth of all: `below`
 * and `above` of them, and the outermost of each; without any, those are zero. The other values lie in
 * [low, high].
 */
struct outliers {
    uint64_t low, high;
    uint64_t below, above;
    uint64_t below_least, below_most, above_least, above_most;
};
struct outliers statistics_outliers(const struct statistics *statistics);
