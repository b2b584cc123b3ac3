/*
 * Statistics over any number of hits in constant memory: Welford's mean and deviation, and the distinct
 * values themselves as long as there are at most a few thousand of them; beyond that values fall into
 * buckets of at most 0.1 % width, and quantiles say that they are no longer exact.
 */
#pragma once

#include "measure/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Of the mean. The order in which the values came counts. */
struct series_error statistics_error(const struct statistics *statistics);
/* The smallest value that at least p (0..1) of all values do not exceed: of two in the middle, the lower one.
   `exact` may be NULL. */
uint64_t statistics_quantile(const struct statistics *statistics, double p, bool *exact);

struct histogram_bin {
    uint64_t low, high; /* values in [low, high] */
    uint64_t count;
};
/* At most `room` bins of equal width over the values from `from` to `to`, empty ones included; returns how
   many. */
size_t statistics_histogram(const struct statistics *statistics, uint64_t from, uint64_t to,
                            struct histogram_bin *out, size_t room);
/* How many values lie there, and the outermost of them; those are not set where there is none. */
uint64_t statistics_between(const struct statistics *statistics, uint64_t from, uint64_t to, uint64_t *least,
                            uint64_t *greatest);
