/*
 * Verdicts: whether what is measured now is slower than an earlier run by more than was allowed. Where
 * neither run varies, the two are compared exactly. Else a one-sided Welch's t-test at 1 % decides, by an
 * incomplete beta function of our own: slower when the increase beyond the threshold is more than chance
 * explains, passed when an increase up to it is; whatever lies between the two is noise, and inconclusive.
 * What calibration is unsure of (± of either run) is granted to both answers before either is given. More is
 * always worse. Pure.
 */
#pragma once

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
};

struct verdict_line {
    char name[96];
    enum verdict verdict;
    double change; /* (now - base) / base; NaN if base is 0 */
    struct verdict_side base, now;
    char why[160]; /* "" where the numbers say it all */
};

/* "2%", "2 %", "0.02", "0": the part by which more is allowed. */
bool verdict_threshold(const char *text, double *out);

/*
 * `name` is left empty. A run of a few hits that are all equal is not taken for one that cannot vary: next to
 * one that does, it is given the other's spread.
 */
struct verdict_line verdict_decide(const struct verdict_side *base, const struct verdict_side *now,
                                   double threshold);
/* Of no lines at all: inconclusive. */
enum verdict verdict_overall(const struct verdict_line *lines, size_t n);
const char *verdict_name(enum verdict verdict); /* "pass", "regressed", "inconclusive" */

/* Welch's test of whether `now` is above `factor` times `base`, by more than `off`. Both have at least two
   hits, and one a spread. */
struct verdict_test {
    double t, df; /* degrees of freedom, seldom a whole number */
    double p;     /* chance of a t as high or higher if it is not */
};
struct verdict_test verdict_welch(const struct verdict_side *base, const struct verdict_side *now,
                                  double factor, double off);
/* The chance that Student's t of `df` > 0 degrees of freedom exceeds `t`. */
double verdict_student_above(double t, double df);
