#include "measure/verdict.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double alpha = 0.01;
enum { FEW = 10 }; /* fewer equal hits than this do not show that there is no spread */

bool verdict_threshold(const char *text, double *out)
{
    /* strtod alone would also take blanks, hexadecimals, infinities and NaN */
    size_t digits = strspn(text, "0123456789"), length = digits;
    if (text[length] == '.') {
        size_t behind = strspn(text + length + 1, "0123456789");
        digits += behind;
        length += behind + 1;
    }
    if (digits == 0 || length > 32)
        return false;
    char number[40];
    memcpy(number, text, length);
    number[length] = '\0';
    const char *unit = text + length + strspn(text + length, " ");
    bool percent = *unit == '%';
    if (percent ? unit[1] != '\0' : text[length] != '\0')
        return false;
    double value = strtod(number, NULL);
    *out = percent ? value / 100 : value;
    return true;
}

/* Lentz's way to the continued fraction of the incomplete beta function (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST = 100000 };
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
    double value = d;
    for (int m = 1; m < MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int half = 0; half < 2; half++) {
            double coefficient = half == 0 ? even : odd;
            d = 1 + coefficient * d;
            d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
            c = 1 + coefficient / c;
            c = fabs(c) < DBL_MIN ? DBL_MIN : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 4 * DBL_EPSILON)
            break;
    }
    return value;
}

/* I_x(a, b), regularized; `y` is 1 - x, given apart because it may be tiny. */
static double beta_part(double a, double b, double x, double y)
{
    if (!(x > 0) || !(y > 0))
        return x > 0 ? 1 : 0;
    int sign = 1;
    double front =
        exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double verdict_student_above(double t, double df)
{
    static const double normal = 1e7; /* from here on the two agree to six digits where p is near alpha */
    if (df >= normal)
        return 0.5 * erfc(t / M_SQRT2);
    double square = t * t, tail = 0;
    if (isfinite(square))
        tail = 0.5 * beta_part(df / 2, 0.5, df / (df + square), square / (df + square));
    return t >= 0 ? tail : 1 - tail;
}

/* Standard errors and degrees of freedom: of a mean, and of the difference of two. */
struct deviation {
    double error, df;
};

static struct deviation deviation_of(double sd, uint64_t n)
{
    return (struct deviation){.error = sd / sqrt((double)n), .df = n > 1 ? (double)(n - 1) : 1};
}

static struct deviation deviation_both(struct deviation a, struct deviation b)
{
    double error = hypot(a.error, b.error);
    double of_a = a.error / error,
           of_b = b.error / error; /* first: the fourth power of the error may not fit */
    return (struct deviation){.error = error, .df = 1 / (pow(of_a, 4) / a.df + pow(of_b, 4) / b.df)};
}

static struct verdict_test test_of(double distance, struct deviation deviation)
{
    struct verdict_test test = {.t = distance / deviation.error, .df = deviation.df};
    test.p = verdict_student_above(test.t, test.df);
    return test;
}

struct verdict_test verdict_welch(const struct verdict_side *base, const struct verdict_side *now,
                                  double factor, double off)
{
    return test_of(now->mean - factor * base->mean - off,
                   deviation_both(deviation_of(factor * base->sd, base->n), deviation_of(now->sd, now->n)));
}

static bool cannot_tell(const struct verdict_side *side)
{
    return side->sd == 0 && side->n < FEW;
}

/* Both deviations from the one spread that is known, as that of `known`: it alone has degrees of freedom. */
static struct deviation deviation_shared(double sd, uint64_t known, uint64_t other)
{
    struct deviation deviation = deviation_of(sd, known);
    deviation.error = hypot(deviation.error, sd / sqrt((double)other));
    return deviation;
}

static struct deviation deviation_assumed(const struct verdict_side *base, const struct verdict_side *now,
                                          double factor)
{
    if (cannot_tell(base))
        return deviation_shared(now->sd, now->n, base->n);
    if (cannot_tell(now))
        return deviation_shared(factor * base->sd, base->n, now->n);
    return deviation_both(deviation_of(factor * base->sd, base->n), deviation_of(now->sd, now->n));
}

__attribute__((format(printf, 3, 4))) static void conclude(struct verdict_line *line, enum verdict verdict,
                                                           const char *why, ...)
{
    va_list list;
    va_start(list, why);
    vsnprintf(line->why, sizeof line->why, why, list);
    va_end(list);
    line->verdict = verdict;
}

static bool is_number(const struct verdict_side *side)
{
    return isfinite(side->mean) && side->mean >= 0 && isfinite(side->sd) && side->sd >= 0 &&
           isfinite(side->plus_minus) && side->plus_minus >= 0;
}

/* True: there is nothing to decide, and `why` says so. */
static bool decide_unmeasured(struct verdict_line *line)
{
    const struct verdict_side *base = &line->base, *now = &line->now;
    if (base->n == 0 || now->n == 0)
        conclude(line, VERDICT_INCONCLUSIVE, "no hits %s",
                 base->n > 0  ? "now"
                 : now->n > 0 ? "in the baseline"
                              : "on either side");
    else if (base->at_least || now->at_least)
        conclude(line, VERDICT_INCONCLUSIVE, "of some hits %s only a lower bound is known",
                 !base->at_least  ? "now"
                 : !now->at_least ? "in the baseline"
                                  : "on both sides");
    else if (!is_number(base) || !is_number(now))
        conclude(line, VERDICT_INCONCLUSIVE, "mean, sd or ± is not a number");
    else
        return false;
    return true;
}

static void decide_exactly(struct verdict_line *line, double limit, double off)
{
    /* 100 by 15 % is 114.99999999999999, and 115 is no more than that */
    double distance = line->now.mean - limit, rounding = 4 * DBL_EPSILON * limit;
    if (distance - off > rounding)
        conclude(line, VERDICT_REGRESSED, "%s", line->base.mean > 0 ? "" : "the baseline is 0");
    else if (distance + off <= rounding)
        conclude(line, VERDICT_PASS, "%s", "");
    else
        conclude(line, VERDICT_INCONCLUSIVE,
                 "within ± %g of the limit, which is what calibration leaves open", off);
}

static void decide_by_chance(struct verdict_line *line, double limit, double off, struct deviation deviation)
{
    double distance = line->now.mean - limit;
    struct verdict_test above = test_of(distance - off, deviation);
    struct verdict_test below = test_of(-distance - off, deviation);
    const char *assumed = cannot_tell(&line->base)  ? "few hits in the baseline: taken to vary as now"
                          : cannot_tell(&line->now) ? "few hits now: taken to vary as in the baseline"
                                                    : "";
    if (above.p < alpha)
        conclude(line, VERDICT_REGRESSED, "%s", line->base.mean > 0 ? assumed : "the baseline is 0");
    else if (below.p < alpha)
        conclude(line, VERDICT_PASS, "%s", assumed);
    else if (off > 0 && (test_of(distance, deviation).p < alpha || test_of(-distance, deviation).p < alpha))
        conclude(line, VERDICT_INCONCLUSIVE,
                 "within ± %g of the limit, which is what calibration leaves open", off);
    else
        conclude(line, VERDICT_INCONCLUSIVE, "too close to the limit for the noise%s%s",
                 assumed[0] != '\0' ? "; " : "", assumed);
}

struct verdict_line verdict_decide(const struct verdict_side *base, const struct verdict_side *now,
                                   double threshold)
{
    struct verdict_line line = {.base = *base, .now = *now, .change = (double)NAN};
    if (base->n > 0 && now->n > 0 && base->mean > 0)
        line.change = (now->mean - base->mean) / base->mean;
    if (decide_unmeasured(&line))
        return line;
    double factor = 1 + threshold, limit = factor * base->mean;
    double off = now->plus_minus + factor * base->plus_minus;
    struct deviation deviation = deviation_assumed(base, now, factor);
    if (!isfinite(limit) || !isfinite(off) || !isfinite(deviation.error) || !(threshold >= 0))
        conclude(&line, VERDICT_INCONCLUSIVE, "the numbers are too large to compare");
    else if (!(deviation.error > 0))
        decide_exactly(&line, limit, off);
    else
        decide_by_chance(&line, limit, off, deviation);
    return line;
}

enum verdict verdict_overall(const struct verdict_line *lines, size_t n)
{
    enum verdict overall = n > 0 ? VERDICT_PASS : VERDICT_INCONCLUSIVE;
    for (size_t i = 0; i < n; i++) {
        if (lines[i].verdict == VERDICT_REGRESSED)
            return VERDICT_REGRESSED;
        if (lines[i].verdict == VERDICT_INCONCLUSIVE)
            overall = VERDICT_INCONCLUSIVE;
    }
    return overall;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_PASS] = "pass", [VERDICT_REGRESSED] = "regressed", [VERDICT_INCONCLUSIVE] = "inconclusive"};
    return names[verdict];
}
