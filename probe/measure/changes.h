/*
 * Changes: at which run of many a value steps up or down for good. Each stretch of runs is cut where a
 * two-sided t-test finds the greatest difference, as long as chance does not explain it; neighbours that are
 * alike count for less. What varies from run to run is learnt from the runs themselves. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct change_value {
    double value; /* of one run */
    double error; /* its standard error, as far as the run knows it; at least 0 */
};

struct change {
    size_t at;            /* the first run on the new level */
    double before, after; /* means of the stretches on both sides */
};

/* A level is believed after this number of runs that vary, or this number that are exactly equal. */
enum { CHANGE_RUNS = 3, CHANGE_EQUAL_RUNS = 2 };

/*
 * Changes in the order of the runs; returns how many of them fit into `room`. `chance`: that a row without a
 * change gets one.
 */
size_t changes_find(const struct change_value *values, size_t n, double chance, struct change *out,
                    size_t room);
/* Whether values without a step rise or fall by a straight line that chance does not explain. `out` has its
 * two ends; `at` is 0. */
bool changes_trend(const struct change_value *values, size_t n, double chance, struct change *out);
