/*
 * Verdicts: whether what is measured now is slower than an earlier run by more than was allowed. Where
 * neither run varies, the two are compared exactly. Else a one-sided Welch's t-test decides: slower when the
 * increase beyond the threshold is more than chance explains (0.1 % a column), passed when an increase up to
 * it is (1 %); whatever lies between the two is inconclusive. Hits of one run may be alike or drift: the
 * standard error and the drift of each run (series.h) say by how much less they tell. What calibration is
 * unsure of (± of either run), and the drift, are granted to both answers before either is given. A
 * regression takes ten hits of each run. More is always worse. Pure.
 */
#pragma once

#include "measure/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict { VERDICT_PASS, VERDICT_REGRESSED, VERDICT_INCONCLUSIVE };

struct verdict_side {
    uint64_t n;
    double mean, sd;
    uint64_t min, max;
    bool at_least; /* of some hits only a lower bound is known */
    double plus_minus;
    struct series_error error; /* df 0: not known; then that of `sd`, and no drift */
};

struct verdict_line {
    char name[96];
    enum verdict verdict;
    double change; /* (now - base) / base; NaN if base is 0 */
    struct verdict_side base, now;
    char why[384]; /* "" where the numbers say it all */
};

/* "2%", "2 %", "0.02", "0": the part by which more is allowed. A bare number from 1 on is none: who writes 5
   means 5 %. */
bool verdict_threshold(const char *text, double *out);

/* `name` is left empty. Neither run is taken to vary less than the two together. */
struct verdict_line verdict_decide(const struct verdict_side *base, const struct verdict_side *now,
                                   double threshold);
/* Of no lines at all: inconclusive. */
enum verdict verdict_overall(const struct verdict_line *lines, size_t n);
const char *verdict_name(enum verdict verdict); /* "pass", "regressed", "inconclusive" */

/* The chance that Student's t of `df` > 0 degrees of freedom exceeds `t`. */
double verdict_student_above(double t, double df);
