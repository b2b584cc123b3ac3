/* SPDX-License-Identifier: MIT */
#include "measure/verdict.h"

#include "base/values.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chances of a wrong verdict, per column: a run of ten columns regresses by chance in 1 % of cases, and so
 * does a larger family as a whole (Bonferroni). */
static const double chance_alone = 0.001, chance_passed = 0.01, chance_family = 0.01;
static const double one_tail = 0.025; /* outside of a 95 % interval, at each end */
static const double df_least = 0.001; /* a file may say anything */
/* Of independent hits the half rise of a straight line has the mean's standard error times the root of 3, and
 * the drift is 1.2 times as much: chance alone makes twice that in one run of twenty. */
static const double drift_by_chance = 2 * 1.2 * 1.7320508075688772;
/* A verdict is clear when chance is small against the threshold */
static const double precision_part = 0.25;
enum {
    FEW = 10, /* fewer hits do not show how a run varies */
    MANY = 100000,
};

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
    if (!percent && value >= 1)
        return false;
    *out = percent ? value / 100 : value;
    return true;
}

/* Lentz's algorithm for the continued fraction of the incomplete beta function (DLMF 8.17.22). */
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

/* I_x(a, b), regularized; `y` is 1 - x, a parameter because it may be tiny. */
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

double verdict_student_quantile(double chance, double df)
{
    double low = 0, high = 1;
    while (verdict_student_above(high, df) > chance && high < 1e12)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(verdict_student_above(middle, df) > chance ? &low : &high) = middle;
    }
    return high;
}

double precision_of(const struct column *column)
{
    const struct statistics *statistics = column->statistics;
    if (statistics_count(statistics) == 0 || column->at_least > 0)
        return INFINITY;
    struct series_error error = column_error(column);
    if (!(error.standard > 0))
        return 0;
    return verdict_student_quantile(one_tail, error.df) * error.standard / statistics_mean(statistics);
}

uint64_t precision_next(uint64_t hits)
{
    return hits < PRECISION_LEAST ? PRECISION_LEAST : hits + hits / 4;
}

double precision_for(double threshold)
{
    return threshold * precision_part;
}

/* Standard errors and degrees of freedom: of a mean, and of the difference of two. */
struct deviation {
    double error, df;
};

static struct deviation deviation_of(const struct verdict_side *side, double factor)
{
    struct deviation deviation = {.error = side->sd / sqrt((double)side->n),
                                  .df = side->n > 1 ? (double)(side->n - 1) : 1};
    if (side->error.standard > deviation.error)
        deviation.error = side->error.standard;
    if (side->error.df > 0 && side->error.df < deviation.df)
        deviation.df = fmax(side->error.df, df_least);
    deviation.error *= factor;
    return deviation;
}

/* The drift as far as it is more than chance makes. A regression takes no part in this: a faint
 * drift is as small. */
static double drift_shown(const struct verdict_side *side)
{
    double chance = drift_by_chance * deviation_of(side, 1).error;
    return side->error.drift < chance ? side->error.drift * (side->error.drift / chance) : side->error.drift;
}

static struct deviation deviation_both(struct deviation a, struct deviation b)
{
    double error = hypot(a.error, b.error);
    double of_a = a.error / error, of_b = b.error / error; /* the fourth power of an error may overflow */
    return (struct deviation){.error = error, .df = 1 / (pow(of_a, 4) / a.df + pow(of_b, 4) / b.df)};
}

/* By which factor alike hits widen the error of a run's mean. */
static double widened(const struct verdict_side *side)
{
    double alone = side->sd / sqrt((double)side->n);
    return alone > 0 && side->error.standard > alone ? side->error.standard / alone : 1;
}

/* The error if both runs vary as much as the two together, and their hits are as alike as those of the longer
   run: a short run may have missed rare values. */
static double pooled_error(const struct verdict_side *base, const struct verdict_side *now, double factor)
{
    double of_base = (double)base->n, of_now = (double)now->n, sum = of_base + of_now - 2;
    if (!(sum > 0))
        return 0;
    double sd = hypot(factor * base->sd * sqrt((of_base - 1) / sum), now->sd * sqrt((of_now - 1) / sum));
    return sd * sqrt(1 / of_base + 1 / of_now) * widened(base->n > now->n ? base : now);
}

/* 0: neither run varies. */
static double error_alone(const struct verdict_side *base, const struct verdict_side *now, double factor)
{
    return hypot(deviation_of(base, factor).error, deviation_of(now, 1).error);
}

/* Of now less `factor` times the baseline. At least one of the two varies. */
static struct deviation deviation_of_difference(const struct verdict_side *base,
                                                const struct verdict_side *now, double factor)
{
    struct deviation both = deviation_both(deviation_of(base, factor), deviation_of(now, 1));
    both.error = fmax(both.error, pooled_error(base, now, factor));
    return both;
}

/* The chance of a mean at least so far above the limit, if the true mean is at the limit. */
static double verdict_chance_of(double distance, struct deviation deviation)
{
    return verdict_student_above(distance / deviation.error, deviation.df);
}

static const char too_large[] = "the numbers are too large to compare";
static const char base_is_zero[] = "the baseline is 0";

void verdict_conclude(struct verdict_line *line, enum verdict verdict, const char *why, ...)
{
    va_list list;
    va_start(list, why);
    vsnprintf(line->why, sizeof line->why, why, list);
    va_end(list);
    line->verdict = verdict;
}

/* Of a counted column; all zeros if it is not supported. */
static struct verdict_side verdict_side_of(const struct column *column)
{
    if (column->unsupported[0] != '\0')
        return (struct verdict_side){0};
    const struct statistics *of = column->statistics;
    struct verdict_side side = {.n = statistics_count(of),
                                .at_least = column->at_least > 0,
                                .plus_minus = column->calibrated ? column->plus_minus : 0};
    if (side.n == 0)
        return side;
    side.mean = statistics_mean(of);
    side.sd = statistics_deviation(of);
    side.min = statistics_min(of);
    side.max = statistics_max(of);
    side.median = statistics_quantile(of, 0.5, NULL);
    side.has_median = true;
    side.error = column_error(column);
    return side;
}

static bool verdict_is_number(const struct verdict_side *side)
{
    return isfinite(side->mean) && side->mean >= 0 && isfinite(side->sd) && side->sd >= 0 &&
           isfinite(side->plus_minus) && side->plus_minus >= 0 && isfinite(side->error.standard) &&
           isfinite(side->error.drift) && side->error.drift >= 0;
}

/* True: there is nothing to decide, and `why` says why. */
static bool decide_unmeasured(struct verdict_line *line)
{
    const struct verdict_side *base = &line->base, *now = &line->now;
    if (base->n == 0 || now->n == 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "no hits %s",
                         base->n > 0  ? "now"
                         : now->n > 0 ? "in the baseline"
                                      : "on either side");
    else if (base->at_least || now->at_least)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "of some hits %s only a lower bound is known",
                         !base->at_least  ? "now"
                         : !now->at_least ? "in the baseline"
                                          : "on both sides");
    else if (!verdict_is_number(base) || !verdict_is_number(now))
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "mean, sd or ± is not a number");
    else
        return false;
    return true;
}

struct question {
    double limit;        /* of the mean */
    double distance;     /* from there to this run's mean */
    double off;          /* the error of calibration */
    double drift, shown; /* all of it counts against a regression, what is shown against a pass */
    double threshold, factor;
    double chance; /* of a regression that is none */
    struct deviation deviation;
};

static bool has_few(const struct verdict_line *line)
{
    return line->base.n < FEW || line->now.n < FEW;
}

static void tell_few(struct verdict_line *line)
{
    bool base = line->base.n < FEW, now = line->now.n < FEW;
    verdict_conclude(line, VERDICT_INCONCLUSIVE, "%d hits of each run would decide (-r %d); %s few", FEW, FEW,
                     base && now ? "both have"
                     : base      ? "the baseline has"
                                 : "this one has");
}

static void tell_calibration(struct verdict_line *line, double off)
{
    verdict_conclude(line, VERDICT_INCONCLUSIVE, "within ± %g of the limit, which calibration leaves open",
                     off);
}

static void decide_exactly(struct verdict_line *line, const struct question *question)
{
    /* 100 and 15 % more is 114.99999999999999 in a double, and 115 does not exceed it */
    double rounding = 4 * DBL_EPSILON * question->limit;
    if (question->distance + question->off <= rounding)
        verdict_conclude(line, VERDICT_PASS, "%s", "");
    else if (question->distance - question->off <= rounding)
        tell_calibration(line, question->off);
    else if (has_few(line))
        tell_few(line);
    else
        verdict_conclude(line, VERDICT_REGRESSED, "%s", line->base.mean > 0 ? "" : base_is_zero);
}

/* "9 %" of the baseline, rounded up in its second digit; the value itself if the baseline is 0. */
static void verdict_put_part(char *out, size_t size, double value, double whole)
{
    double percent = whole > 0 ? value / whole * 100 : value;
    double step = percent > 0 ? pow(10, floor(log10(percent)) - 1) : 1;
    snprintf(out, size, whole > 0 ? "%.6g %%" : "%.6g", ceil(percent / step - 1e-9) * step);
}

static uint64_t rounded_up(double hits)
{
    double step = hits >= 100 ? pow(10, floor(log10(hits)) - 1) : 10;
    return (uint64_t)(ceil(hits / step - 1e-9) * step);
}

/* How many hits would decide: in this run alone if the baseline is precise enough, else in both runs. */
static double verdict_hits_wanted(const struct verdict_line *line, const struct question *question,
                                  double noise, double room, bool *both)
{
    double of_base = deviation_of(&line->base, question->factor).error,
           of_now = deviation_of(&line->now, 1).error;
    double base = (double)line->base.n * of_base * of_base, now = (double)line->now.n * of_now * of_now;
    double sum = of_base * of_base + of_now * of_now, part = room / noise * (room / noise) * sum;
    double alone = now / (part - of_base * of_base), each = (base + now) / part;
    *both = !(alone > 0) || alone > 4 * each;
    return (*both ? each : alone) * 1.5; /* the next mean may lie nearer to the limit */
}

/* Whether the noise is the baseline's, which more hits now cannot mend. */
static bool has_poor_baseline(const struct verdict_line *line, const struct question *question)
{
    double of_base = deviation_of(&line->base, question->factor).error,
           of_now = deviation_of(&line->now, 1).error;
    return line->base.n < line->now.n && of_base > 2 * of_now;
}

/* The noise is too large for the distance from the limit. */
static void tell_noise(struct verdict_line *line, const struct question *question)
{
    char noise_text[32], threshold[32], drift[32];
    double size = fabs(question->distance), mean = line->base.mean;
    double chance = question->distance > 0 ? question->chance : chance_passed;
    double error = verdict_student_quantile(chance, question->deviation.df) * question->deviation.error;
    double noise = error + (question->distance > 0 ? question->drift : question->shown),
           room = size - question->off;
    if (!isfinite(noise / (mean > 0 ? mean : 1) * 100)) {
        verdict_conclude(line, VERDICT_INCONCLUSIVE, too_large);
        return;
    }
    verdict_put_part(noise_text, sizeof noise_text, noise, mean);
    verdict_put_part(drift, sizeof drift, question->drift, mean);
    snprintf(threshold, sizeof threshold, "%.6g %%", question->threshold * 100);
    if (question->drift > 2 * error) {
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "the hits drift by ±%s, threshold %s", drift, threshold);
        return;
    }
    bool both = false;
    char hits_text[128] = "", enough[80] = "", part[32];
    double hits = room > 0 ? verdict_hits_wanted(line, question, noise, room, &both) : 2.0 * MANY;
    if (hits <= MANY && both && has_poor_baseline(line, question) && question->threshold > 0) {
        verdict_conclude(line, VERDICT_INCONCLUSIVE,
                         "noise ±%s, threshold %s; the baseline has only %" PRIu64
                         " hits: write it anew with --precision %.6g%%",
                         noise_text, threshold, line->base.n, precision_for(question->threshold) * 100);
        return;
    }
    if (hits <= MANY) {
        uint64_t n = rounded_up(fmax(hits, FEW));
        snprintf(hits_text, sizeof hits_text, "about %" PRIu64 " hits%s (-r %" PRIu64 ")", n,
                 !both              ? ""
                 : line->now.n >= n ? " in the baseline"
                                    : " in each run",
                 n);
    }
    /* Without a threshold two equal runs never decide */
    if (mean > 0 && (hits > MANY || question->threshold == 0)) {
        double change = question->distance + question->threshold * mean;
        verdict_put_part(part, sizeof part, change + question->off + noise, mean);
        snprintf(enough, sizeof enough, "a threshold of %s", part);
    }
    bool any = hits_text[0] != '\0' || enough[0] != '\0';
    verdict_conclude(line, VERDICT_INCONCLUSIVE, "noise ±%s, threshold %s%s%s%s%s%s", noise_text, threshold,
                     any ? "; " : "", hits_text, hits_text[0] != '\0' && enough[0] != '\0' ? ", or " : "",
                     enough, any ? " would decide" : "");
}

static void decide_by_chance(struct verdict_line *line, const struct question *question)
{
    double distance = question->distance, off = question->off;
    double drift = question->drift, shown = question->shown;
    struct deviation deviation = question->deviation;
    if (verdict_chance_of(distance - off - drift, deviation) < question->chance) {
        if (has_few(line))
            tell_few(line);
        else
            verdict_conclude(line, VERDICT_REGRESSED, "%s", line->base.mean > 0 ? "" : base_is_zero);
    } else if (verdict_chance_of(-distance - off - shown, deviation) < chance_passed) {
        verdict_conclude(line, VERDICT_PASS, "%s", "");
    } else if (off > 0 && (verdict_chance_of(distance - drift, deviation) < question->chance ||
                           verdict_chance_of(-distance - shown, deviation) < chance_passed)) {
        tell_calibration(line, off);
    } else {
        tell_noise(line, question);
    }
}

struct verdict_line verdict_decide_among(const struct verdict_side *base, const struct verdict_side *now,
                                         double threshold, size_t family)
{
    struct verdict_line line = {.base = *base, .now = *now, .change = (double)NAN};
    if (base->n > 0 && now->n > 0 && base->mean > 0)
        line.change = (now->mean - base->mean) / base->mean;
    if (decide_unmeasured(&line))
        return line;
    double factor = 1 + threshold;
    struct question question = {.limit = factor * base->mean,
                                .distance = now->mean - factor * base->mean,
                                .off = now->plus_minus + factor * base->plus_minus,
                                .drift = now->error.drift + factor * base->error.drift,
                                .shown = drift_shown(now) + factor * drift_shown(base),
                                .threshold = threshold,
                                .chance =
                                    fmin(chance_alone, chance_family / (double)(family + (family == 0))),
                                .factor = factor};
    double error = error_alone(base, now, factor);
    if (!isfinite(question.limit) || !isfinite(question.off) || !isfinite(question.drift) ||
        !isfinite(error) || !(threshold >= 0)) {
        verdict_conclude(&line, VERDICT_INCONCLUSIVE, too_large);
    } else if (!(error > 0)) {
        decide_exactly(&line, &question);
    } else {
        question.deviation = deviation_of_difference(base, now, factor);
        decide_by_chance(&line, &question);
    }
    return line;
}

/* How far this run's mean may be from `factor` times the baseline's, if that is the true change (Fieller):
 * the errors of the baseline grow with it. `t`: quantile of Student's distribution; 0: neither run varies. */
static double interval_room(const struct verdict_line *line, double factor, double t)
{
    const struct verdict_side *base = &line->base, *now = &line->now;
    double fixed = now->plus_minus + now->error.drift + factor * (base->plus_minus + base->error.drift);
    return t > 0 ? fixed + t * deviation_of_difference(base, now, factor).error : fixed;
}

static bool is_within_interval(const struct verdict_line *line, double factor, double t)
{
    return fabs(line->now.mean - factor * line->base.mean) <= interval_room(line, factor, t);
}

/* Between a factor that is `inside` and one that is not. */
static double interval_end(const struct verdict_line *line, double inside, double outside, double t)
{
    for (int i = 0; i < 60; i++) {
        double middle = (inside + outside) / 2;
        *(is_within_interval(line, middle, t) ? &inside : &outside) = middle;
    }
    return outside;
}

bool verdict_interval(const struct verdict_line *line, struct verdict_interval *out)
{
    static const double most = 1e15;
    const struct verdict_side *base = &line->base, *now = &line->now;
    if (!isfinite(line->change) || base->at_least || now->at_least || !verdict_is_number(base) ||
        !verdict_is_number(now))
        return false;
    double factor = now->mean / base->mean, high = 2 * factor + 1, t = 0;
    if (error_alone(base, now, 1) > 0)
        t = verdict_student_quantile(one_tail, deviation_of_difference(base, now, factor).df);
    while (high < most && is_within_interval(line, high, t))
        high *= 2;
    if (!isfinite(factor) || !(high < most)) /* the baseline may be 0 */
        return false;
    double low = is_within_interval(line, 0, t) ? 0 : interval_end(line, factor, 0, t);
    high = interval_end(line, factor, high, t);
    bool exact = interval_room(line, factor, t) == 0;
    *out = (struct verdict_interval){.low = exact ? line->change : low - 1,
                                     .high = exact ? line->change : high - 1};
    return isfinite(out->low) && isfinite(out->high);
}

enum verdict verdict_both(enum verdict one, enum verdict other)
{
    static const int rank[] = {[VERDICT_PASS] = 0,
                               [VERDICT_INCONCLUSIVE] = 1,
                               [VERDICT_NOT_COMPARABLE] = 2,
                               [VERDICT_REGRESSED] = 3};
    return rank[one] > rank[other] ? one : other;
}

enum verdict verdict_overall(const struct verdict_line *lines, size_t n)
{
    enum verdict overall = n > 0 ? VERDICT_PASS : VERDICT_NOT_COMPARABLE;
    for (size_t i = 0; i < n; i++)
        overall = verdict_both(overall, lines[i].verdict);
    return overall;
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {[VERDICT_PASS] = "pass",
                                        [VERDICT_REGRESSED] = "regressed",
                                        [VERDICT_INCONCLUSIVE] = "inconclusive",
                                        [VERDICT_NOT_COMPARABLE] = "not comparable"};
    return names[verdict];
}

/* ---- budget */

/* More than any run has: a budget is not a measurement, and has no error. */
static const uint64_t NO_ERROR = UINT64_C(1) << 40;

/* As in a region file: it reads back. */
static void budget_put_name(const struct budget *budget, char *out, size_t size)
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    const char *of = budget->of == BUDGET_MEAN ? "mean" : "max";
    size_t i = 0;
    if (!budget->is_time) {
        snprintf(out, size, "%s <= %.15g cycles", of, budget->limit);
        return;
    }
    while (i + 1 < sizeof units / sizeof *units && budget->limit < units[i].seconds)
        i++;
    snprintf(out, size, "%s <= %.10g %s", of, budget->limit / units[i].seconds, units[i].unit);
}

/* What would pass, if not for the calls that are not in the statistics: with them it is `most` at most. */
static void ask_apart(struct verdict_line *line, const struct left_out *apart, double most, double limit)
{
    if (apart->unbounded > 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE,
                         "%" PRIu64 " call%s left without returning: what %s took is not known",
                         apart->unbounded, apart->unbounded == 1 ? " was" : "s were",
                         apart->unbounded == 1 ? "it" : "they");
    else if (most > limit)
        verdict_conclude(line, VERDICT_INCONCLUSIVE,
                         "up to %.0f with the %" PRIu64 " call%s that were left or tainted", most,
                         apart->bounded, PLURAL(apart->bounded));
}

/* `off`: how far limit and count may be apart from the truth. A bound that is too high is too high, whatever
 * the hit really took. */
static void decide_max(struct verdict_line *line, const struct column *column, double limit, double off)
{
    double most = line->now.n > 0 ? (double)line->now.max : 0;
    bool bound_is_over = column->at_least > 0 && (double)column->at_least_max - off > limit;
    if (line->now.n > 0)
        line->change = (most - limit) / limit;
    if ((line->now.n > 0 && most - off > limit) || bound_is_over)
        verdict_conclude(line, VERDICT_REGRESSED, "%s",
                         bound_is_over && most - off <= limit ? "a hit with only a lower bound" : "");
    else if (column->at_least > 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "of some hits only a lower bound is known");
    else if (line->now.n == 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "no hit that counts");
    else if (most + off > limit)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "within ± %g of the limit", off);
    else
        ask_apart(line, &column->apart, column->apart.bounded > 0 ? (double)column->apart.longest : 0,
                  limit - off);
}

/* Without them it passes. */
static void decide_mean(struct verdict_line *line, const struct column *column, double limit)
{
    const struct left_out *apart = &column->apart;
    double n = (double)line->now.n, all = n + (double)apart->bounded;
    if (line->verdict == VERDICT_PASS)
        ask_apart(line, apart, (n * line->now.mean + (double)apart->most) / all, limit);
}

/* Nothing has shown by how much the clock is off. */
static void budget_name_claim(struct verdict_line *line, const struct conditions *conditions)
{
    verdict_conclude(line, line->verdict, "by the claimed clock%s%s",
                     conditions->clock_source[0] != '\0' ? ", " : "", conditions->clock_source);
}

struct verdict_line budget_decide(const struct budget *budget, const struct summary *now, size_t family)
{
    struct verdict_line line = {.verdict = VERDICT_PASS, .change = (double)NAN};
    char name[sizeof line.name];
    budget_put_name(budget, name, sizeof name);
    bool stops = now != NULL && now->conditions.counter_hz > 0; /* a count in time is a lower bound */
    double hz = stops ? now->conditions.counter_hz : now != NULL ? now->conditions.clock_hz : 0;
    double hz_error = now != NULL ? fmax(now->conditions.clock_error_hz, now->conditions.clock_off_hz) : 0;
    double limit = budget->is_time ? budget->limit * hz : budget->limit;
    double error = budget->is_time ? budget->limit * hz_error : 0;
    if (now == NULL || now->n == 0 || now->hits + now->cut == 0) {
        verdict_conclude(&line, VERDICT_INCONCLUSIVE, "not reached");
    } else if (budget->is_time && !(hz > 0)) {
        verdict_conclude(&line, VERDICT_NOT_COMPARABLE, "%s",
                         now->conditions.clock_change[0] != '\0' ? now->conditions.clock_change
                                                                 : "the clock is not known: --freq gives it");
    } else {
        const struct column *column = &now->columns[0];
        const struct verdict_side allowed = {.n = NO_ERROR,
                                             .mean = limit,
                                             .min = (uint64_t)limit,
                                             .max = (uint64_t)limit,
                                             .plus_minus = error};
        struct verdict_side side = verdict_side_of(column);
        if (budget->of == BUDGET_MEAN) {
            line = verdict_decide_among(&allowed, &side, 0, family);
            if (strncmp(line.why, "noise", 5) == 0) /* its advice is about thresholds */
                verdict_conclude(&line, VERDICT_INCONCLUSIVE,
                                 "%" PRIu64 " hits do not decide: more of them may (-r)", side.n);
            if (line.verdict == VERDICT_PASS && side.n < FEW)
                verdict_conclude(&line, VERDICT_INCONCLUSIVE, "%" PRIu64 " hit%s: %d would decide (-r %d)",
                                 side.n, side.n == 1 ? "" : "s", FEW, FEW);
            decide_mean(&line, column, limit - error);
        } else {
            line.base = allowed;
            line.now = side;
            decide_max(&line, column, limit, side.plus_minus + error);
        }
        if (budget->is_time && line.verdict == VERDICT_PASS && !(error > 0))
            budget_name_claim(&line, &now->conditions);
    }
    if (budget->is_time && stops && line.now.n > 0 && line.verdict != VERDICT_REGRESSED)
        verdict_conclude(&line, VERDICT_NOT_COMPARABLE, "%s", now->conditions.clock_change);
    snprintf(line.name, sizeof line.name, "%s", name);
    return line;
}
