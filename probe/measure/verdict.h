/* SPDX-License-Identifier: MIT */
/*
 * Verdicts: whether this run is slower than an earlier one by more than the threshold. If neither run varies,
 * the two are compared exactly. Else a one-sided Welch's t-test decides: regressed if the increase beyond the
 * threshold is more than chance explains (0.1 % a column, or less in a large family), passed if chance cannot
 * explain an increase up to the threshold (1 %), inconclusive between the two. Hits of one run may be alike
 * or drift; each run's standard error and drift (statistics.h) allow for it. The error of calibration and the
 * drift must not change the answer in either direction; a pass grants the drift less where chance makes as
 * much. A regression needs ten hits of each run. More is
 * always worse. Pure.
 */
#pragma once

#include "measure/result.h"
#include "measure/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_PASS,
    VERDICT_REGRESSED,
    VERDICT_INCONCLUSIVE,   /* more hits or a higher threshold may decide */
    VERDICT_NOT_COMPARABLE, /* no number of hits would; never of verdict_decide */
};

struct verdict_side {
    uint64_t n;
    double mean, sd;
    uint64_t min, max, median;
    bool has_median;
    bool at_least; /* some hits have only a lower bound */
    double plus_minus;
    struct series_error error; /* df 0: unknown; then from `sd`, without drift */
};

struct verdict_line {
    char name[96];
    enum verdict verdict;
    double change; /* (now - base) / base; NaN if base is 0 */
    struct verdict_side base, now;
    char why[384]; /* "" if the numbers suffice */
};

/* Reads "2%", "2 %", "0.02" or "0". Refuses a bare number from 1 on: "5" probably means 5 %. */
bool verdict_threshold(const char *text, double *out);

/* Leaves `name` empty. Neither run is assumed to vary less than both together. `family` columns are judged
 * together: by chance even one of them regresses in at most 1 % of cases. */
struct verdict_line verdict_decide_among(const struct verdict_side *base, const struct verdict_side *now,
                                         double threshold, size_t family);
/* `why`: "" of a pass. */
void verdict_conclude(struct verdict_line *line, enum verdict verdict, const char *why, ...)
    __attribute__((format(printf, 3, 4)));
/* The first of these that one of the two is: regressed, not comparable, inconclusive, pass. */
enum verdict verdict_both(enum verdict one, enum verdict other);
/* Where the change of the true means lies with 95 %, as a part of the baseline's mean. False: it is not
 * known. */
struct verdict_interval {
    double low, high;
};
bool verdict_interval(const struct verdict_line *line, struct verdict_interval *out);
/* Of all lines; without any, nothing is comparable. */
enum verdict verdict_overall(const struct verdict_line *lines, size_t n);
const char *verdict_name(enum verdict verdict); /* "pass", "regressed", "inconclusive", "not comparable" */

/*
 * Precision: when a run knows its mean well enough to stop. The measure is half of the mean's 95 % interval,
 * from the standard error in statistics.h, which allows for neighbours that are alike. A run checks after 100
 * hits, then after a quarter more each time: a check after each hit would stop when the hits happen to be
 * alike for a while, and would take the interval for narrower than it is.
 */

/* Fewer do not show values that are rare. */
enum { PRECISION_LEAST = 100 };

/* As a part of the mean (0.01: 1 %); 0 if all hits are equal, infinite without a hit. */
double precision_of(const struct column *column);
/* What both runs need, so that nine of ten unchanged programs pass. */
double precision_for(double threshold);
/* After how many hits a run that has `hits` checks again. */
uint64_t precision_next(uint64_t hits);

/* The chance that Student's t of `df` > 0 degrees of freedom exceeds `t`. */
double verdict_student_above(double t, double df);
/* The t that is exceeded with this chance, below one half. */
double verdict_student_quantile(double chance, double df);

/*
 * Budgets: what a region may cost at most, in cycles or in time. For a budget of the maximum one hit above it
 * is enough; for one of the mean chance is reckoned with, as in a verdict against a baseline. Pure.
 */

struct budget {
    enum { BUDGET_NONE, BUDGET_MAX, BUDGET_MEAN } of;
    double limit; /* cycles, or seconds */
    bool is_time;
};

/* Whether the region's first column keeps within the budget; `name` is the budget as text. `now` NULL: it has
 * no hit. `family`: the number of verdicts made together. */
struct verdict_line budget_decide(const struct budget *budget, const struct summary *now, size_t family);
