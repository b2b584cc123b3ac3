/*
 * Series: hits in their order, in constant memory: one by one as long as there are few, later the means of so
 * many in a row. Says how well a run knows its own mean: hits in a row may be alike (interrupts come in
 * bursts, a clock or a cache drifts), and then a hundred of them say less than a hundred that are not.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SERIES_MOST = 512 };

struct series {
    size_t n;
    uint64_t each, taken; /* hits to a mean, and of those, in the next one by now */
    double sum;           /* of the next one */
    double means[SERIES_MOST];
};

/* Its first use needs nothing but zeros. */
void series_add(struct series *series, double value);

/* How far the mean may be off. */
struct series_error {
    double standard; /* error of the mean */
    double df;       /* degrees of freedom of that */
    double drift;    /* somewhat more than half of what a straight line through all hits rises or falls by */
};
/* `sd` of `count` hits: what they say of the mean if no hit says anything of the next one. */
struct series_error series_error(const struct series *series, double sd, uint64_t count);
