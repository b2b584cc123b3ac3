/*
 * Verdicts. The reference values of the t-test are from elsewhere: t and its degrees of freedom from their
 * definitions, p by Simpson's rule on the density, normalized by the same rule.
 */
#include "measure/verdict.h"
#include "test.h"

#include <float.h>
#include <math.h>
#include <string.h>

static struct verdict_side side(uint64_t n, double mean, double sd)
{
    return (struct verdict_side){
        .n = n, .mean = mean, .sd = sd, .min = (uint64_t)mean, .max = (uint64_t)mean};
}

static void assert_close(double got, double expected, double part)
{
    if (!(fabs(got - expected) <= part * fabs(expected)))
        fail_msg("%.17g is not %.17g", got, expected);
}

static void assert_verdict(enum verdict expected, struct verdict_side base, struct verdict_side now,
                           double threshold)
{
    struct verdict_line line = verdict_decide_among(&base, &now, threshold, 1);
    if (line.verdict != expected)
        fail_msg("%g±%g -> %g±%g by %g is %s, not %s: %s", base.mean, base.sd, now.mean, now.sd, threshold,
                 verdict_name(line.verdict), verdict_name(expected), line.why);
}

TEST(thresholds)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},      {"2%", 0.02},  {"2 %", 0.02}, {"0.02", 0.02}, {"0.5%", 0.005}, {".5%", 0.005},
                {"5.%", 0.05}, {"100%", 1.0}, {"500%", 5.0}, {"00.10", 0.1}, {"0.999", 0.999}};
    static const char *const bad[] = {"",      "%",    "-1%",  "-0",    "+2%",  "nan",  "inf",  "0x10",
                                      "1e-2",  " 2%",  "2% ",  "2%%",   "2 ",   "2%x",  "0,02", "2 pct",
                                      ".",     ".%",   "1.2.", "1.2.3", "2 % ", "two%", "NaN%", "2\t%",
                                      "\xE2%", "2%\n", "1",    "5",     "1.0",  "50",   "1e1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = -1;
        assert_true(verdict_threshold(good[i].text, &value));
        assert_close(value, good[i].value, 1e-15);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = -1;
        if (verdict_threshold(bad[i], &value))
            fail_msg("\"%s\" is taken for %g", bad[i], value);
        assert_true(value == -1);
    }
    char endless[4096];
    double value = -1;
    memset(endless, '9', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_false(verdict_threshold(endless, &value));
}

TEST(students_distribution)
{
    /* One degree of freedom: Cauchy's, 1/2 - atan(t)/pi. Two: (1 - t/sqrt(2 + t^2))/2 */
    for (int i = -80; i <= 80; i++) {
        double t = 0.375 * i;
        assert_close(verdict_student_above(t, 1), 0.5 - atan(t) / M_PI, 1e-12);
        assert_close(verdict_student_above(t, 2), 0.5 - 0.5 * t / sqrt(2 + t * t), 1e-11);
        assert_close(verdict_student_above(t, 7.5) + verdict_student_above(-t, 7.5), 1, 1e-14);
    }
    /* Without end, the normal distribution; there is no step where the one takes over from the other */
    assert_close(verdict_student_above(2.3263478740408408, 1e12), 0.01, 1e-9);
    assert_close(verdict_student_above(2.3263478740408408, 9999999), 0.01, 2e-6);
    assert_close(verdict_student_above(2.3263478740408408, 10000000), 0.01, 2e-6);
    assert_true(verdict_student_above(0, 0.5) == 0.5);
    assert_true(verdict_student_above(1e300, 5) == 0);
    assert_true(verdict_student_above((double)INFINITY, 5) == 0);
    assert_true(verdict_student_above(-(double)INFINITY, 5) == 1);
}

TEST(without_spread_a_cycle_counts)
{
    assert_verdict(VERDICT_PASS, side(100, 475, 0), side(100, 475, 0), 0);
    assert_verdict(VERDICT_PASS, side(100, 475, 0), side(100, 474, 0), 0);
    assert_verdict(VERDICT_REGRESSED, side(100, 475, 0), side(100, 476, 0), 0);
    assert_verdict(VERDICT_REGRESSED, side(10, 1e15, 0), side(10, 1e15 + 1, 0), 0);
    /* 100 times 1.15 is not 115 in binary; neither are these their whole numbers */
    assert_verdict(VERDICT_PASS, side(100, 100, 0), side(100, 115, 0), 0.15);
    assert_verdict(VERDICT_REGRESSED, side(100, 100, 0), side(100, 116, 0), 0.15);
    for (int percent = 1; percent < 200; percent++) {
        assert_verdict(VERDICT_PASS, side(10, 700, 0), side(10, 700 + 7 * percent, 0), percent / 100.0);
        assert_verdict(VERDICT_REGRESSED, side(10, 700, 0), side(10, 701 + 7 * percent, 0), percent / 100.0);
    }
    struct verdict_side base = side(100, 200, 0), now = side(100, 210, 0);
    struct verdict_line line = verdict_decide_among(&base, &now, 0.02, 1);
    assert_close(line.change, 0.05, 1e-15);
    assert_true(line.base.mean == 200 && line.now.mean == 210);
    assert_string_equal(line.name, "");
    assert_string_equal(line.why, "");
}

TEST(noise_is_not_a_regression)
{
    /* The same again: with room for it a pass, without it nothing is known */
    assert_verdict(VERDICT_PASS, side(100, 18204, 61), side(100, 18210, 58), 0.02);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 18204, 61), side(100, 18210, 58), 0);
    assert_verdict(VERDICT_REGRESSED, side(100, 18204, 61), side(100, 18231, 58), 0); /* p 0.00078 */
    assert_verdict(VERDICT_INCONCLUSIVE, side(50, 475, 214), side(60, 483, 205), 0);  /* p 0.42 */
    assert_verdict(VERDICT_REGRESSED, side(100, 1000, 10), side(100, 1030, 10), 0.02);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 1000, 10), side(100, 1021, 10), 0.02);
    assert_verdict(VERDICT_PASS, side(100, 1000, 10), side(100, 900, 10), 0);
    /* On either side of 0.1 %: p 0.00078 above, and with two cycles less */
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 18204, 61), side(100, 18229, 58), 0);
}

static void assert_why(const char *expected, struct verdict_side base, struct verdict_side now,
                       double threshold)
{
    struct verdict_line line = verdict_decide_among(&base, &now, threshold, 1);
    assert_int_equal(line.verdict, VERDICT_INCONCLUSIVE);
    assert_string_equal(line.why, expected);
}

TEST(what_would_decide)
{
    assert_why("noise ±48 %, threshold 20 %; about 90 hits (-r 90) would decide", side(500, 1000, 500),
               side(20, 1500, 500), 0.2);
    assert_why(
        "noise ±49 %, threshold 20 %; the baseline has only 20 hits: write it anew with --precision 5%",
        side(20, 1000, 500), side(500, 1500, 500), 0.2);
    assert_why("noise ±27 %, threshold 0 %; about 21000 hits in each run (-r 21000), or a threshold of 29 % "
               "would decide",
               side(50, 475, 214), side(60, 483, 205), 0);
    assert_why("noise ±23 %, threshold 20 %; about 120 hits in each run (-r 120) would decide",
               side(50, 475, 214), side(60, 483, 205), 0.2);
    assert_why("noise ±0.34 %, threshold 0 %; a threshold of 0.34 % would decide", side(100, 1000, 10),
               side(100, 1000, 10), 0);
    assert_why("noise ±0.25, threshold 0 %; about 180 hits (-r 180) would decide", side(20, 0, 0),
               side(20, 0.1, 0.3), 0);
    assert_verdict(VERDICT_PASS, side(100, 1000, 10), side(100, 1000, 10), 0.0034);
}

TEST(calibration_is_granted)
{
    struct verdict_side base = side(100, 475, 0), now = side(100, 477, 0);
    base.plus_minus = now.plus_minus = 1;
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 0);
    now.mean = 478;
    assert_verdict(VERDICT_REGRESSED, base, now, 0);
    now.mean = 475;
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 0);
    now.mean = 473;
    assert_verdict(VERDICT_PASS, base, now, 0);
    now.mean = 476;
    assert_verdict(VERDICT_PASS, base, now, 0.01);
    struct verdict_line line = verdict_decide_among(&base, &now, 0, 1);
    assert_string_equal(line.why, "within ± 2 of the limit, which calibration leaves open");

    base = side(100, 18204, 61), now = side(100, 18240, 58);
    now.plus_minus = 4; /* 32 cycles are still too many to be chance, 20 are not */
    assert_verdict(VERDICT_REGRESSED, base, now, 0);
    now.plus_minus = 16;
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 0);
    line = verdict_decide_among(&base, &now, 0, 1);
    assert_string_equal(line.why, "within ± 16 of the limit, which calibration leaves open");
    base.plus_minus = 1; /* of the base it grows with the threshold */
    now = side(100, 30000, 0), base.sd = 0, base.mean = 10000;
    now.mean = 30003.5;
    assert_verdict(VERDICT_REGRESSED, base, now, 2);
    now.mean = 30003;
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 2);
}

/* Two runs of three equal hits each may be of one program that takes two ways. */
TEST(few_hits_show_no_regression)
{
    for (uint64_t n = 1; n < 10; n++) {
        assert_why("10 hits of each run would decide (-r 10); both have few", side(n, 475, 0),
                   side(n, 476, 0), 0);
        assert_why("10 hits of each run would decide (-r 10); this one has few", side(100, 475, 0),
                   side(n, 600, 0), 0);
        assert_why("10 hits of each run would decide (-r 10); the baseline has few", side(n, 475, 0),
                   side(100, 600, 0), 0);
        assert_verdict(VERDICT_PASS, side(n, 475, 0), side(n, 475, 0), 0);
        assert_verdict(VERDICT_PASS, side(n, 475, 0), side(100, 400, 0), 0);
    }
    assert_verdict(VERDICT_REGRESSED, side(10, 475, 0), side(10, 476, 0), 0);
}

/* A run that is short, or had luck, varies as much as the other one. */
TEST(neither_run_varies_less_than_both)
{
    assert_verdict(VERDICT_INCONCLUSIVE, side(10, 475, 0), side(100, 500, 50), 0);
    assert_verdict(VERDICT_REGRESSED, side(10, 475, 0), side(100, 550, 50), 0);
    assert_verdict(VERDICT_INCONCLUSIVE, side(20, 475, 1), side(1000, 510, 196), 0);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 475, 50), side(1, 500, 0), 0);
    assert_verdict(VERDICT_PASS, side(100, 475, 50), side(2, 475, 0), 0.5);
    /* Of a hundred each, both have seen enough */
    assert_verdict(VERDICT_REGRESSED, side(100, 475, 0), side(100, 500, 50), 0);
    assert_verdict(VERDICT_REGRESSED, side(100, 475, 50), side(100, 500, 0), 0);
}

TEST(hits_that_are_alike_say_less)
{
    struct verdict_side base = side(100, 1000, 10), now = side(100, 1010, 10);
    assert_verdict(VERDICT_REGRESSED, base, now, 0); /* by seven standard errors */
    base.error = now.error = (struct series_error){.standard = 3, .df = 10};
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 0);
    now.mean = 1020;
    assert_verdict(VERDICT_REGRESSED, base, now, 0);
    /* Smaller than what the spread alone leaves open cannot be an error */
    base.error = now.error = (struct series_error){.standard = 0.001, .df = 1e9};
    now.mean = 1003;
    assert_verdict(VERDICT_INCONCLUSIVE, base, now, 0);
}

TEST(drift_is_granted)
{
    struct verdict_side base = side(100, 1000, 10), now = side(100, 1020, 10);
    base.error = now.error = (struct series_error){.standard = 1, .df = 99, .drift = 6};
    assert_verdict(VERDICT_REGRESSED, base, now, 0);
    base.error.drift = 16;
    assert_why("the hits drift by ±2.2 %, threshold 0 %", base, now, 0);
    now.mean = 950;
    assert_verdict(VERDICT_PASS, base, now, 0);
    now.error.drift = -1;
    assert_why("mean, sd or ± is not a number", base, now, 0);
}

TEST(from_nothing)
{
    assert_verdict(VERDICT_PASS, side(100, 0, 0), side(100, 0, 0), 0);
    assert_verdict(VERDICT_REGRESSED, side(100, 0, 0), side(100, 1, 0), 0.5);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 0, 0), side(100, 0.01, 0.1),
                   0.5); /* one miss in 100 hits */
    assert_verdict(VERDICT_REGRESSED, side(100, 0, 0), side(100, 4.5, 2), 0.5);
    assert_verdict(VERDICT_PASS, side(100, 7, 0), side(100, 0, 0), 0);
    struct verdict_side base = side(100, 0, 0), now = side(100, 1, 0);
    struct verdict_line line = verdict_decide_among(&base, &now, 0, 1);
    assert_true(isnan(line.change));
    assert_string_equal(line.why, "the baseline is 0");
    now.sd = 0.5;
    assert_string_equal(verdict_decide_among(&base, &now, 0, 1).why, "the baseline is 0");
}

TEST(what_cannot_be_decided)
{
    struct verdict_side some = side(100, 475, 0), none = {0}, bounded = some, broken = some;
    bounded.at_least = true;
    bounded.mean = 4750;
    broken.sd = (double)NAN;
    static const struct {
        int base, now;
        const char *why;
    } cases[] = {{1, 0, "no hits now"},
                 {0, 1, "no hits in the baseline"},
                 {0, 0, "no hits on either side"},
                 {1, 2, "of some hits now only a lower bound is known"},
                 {2, 1, "of some hits in the baseline only a lower bound is known"},
                 {2, 2, "of some hits on both sides only a lower bound is known"},
                 {3, 1, "mean, sd or ± is not a number"},
                 {1, 3, "mean, sd or ± is not a number"}};
    const struct verdict_side *sides[] = {&none, &some, &bounded, &broken};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict_line line = verdict_decide_among(sides[cases[i].base], sides[cases[i].now], 0, 1);
        assert_int_equal(line.verdict, VERDICT_INCONCLUSIVE);
        assert_string_equal(line.why, cases[i].why);
    }
    assert_true(isnan(verdict_decide_among(&none, &some, 0, 1).change));
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 1e300, 0), side(100, 1, 0), 1e300);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 1, DBL_MAX), side(100, 1, 1), 2);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 1, 0), side(100, 1, 0), (double)NAN);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 1, 0), side(100, 1, 0), -0.5);
    struct verdict_side wild = side(100, 1e-300, 1);
    wild.error = (struct series_error){.standard = 1e300, .df = 1e-300, .drift = 1e300};
    assert_why("the numbers are too large to compare", wild, side(100, 1, 1), 0);
    assert_why("the numbers are too large to compare", side(100, 1, 1), wild, 0);
    /* A deviation whose square is not a number, too small or too large, is still one */
    assert_verdict(VERDICT_REGRESSED, side(100, 475, 1e-300), side(100, 476, 1e-300), 0);
    assert_verdict(VERDICT_REGRESSED, side(100, 475, 0), side(100, 476, 4e-324), 0);
    assert_verdict(VERDICT_INCONCLUSIVE, side(100, 475, 1e200), side(100, 476, 1e200), 0);
}

/* Equal runs regress in about one of a thousand comparisons, and twice the threshold is found. */
TEST(errors_of_the_first_kind)
{
    uint64_t seed = 1;
    unsigned regressed = 0, passed = 0, found = 0;
    enum { RUNS = 4000, HITS = 20 };
    for (int run = 0; run < RUNS; run++) {
        struct verdict_side sides[2];
        for (int which = 0; which < 2; which++) {
            double sum = 0, squares = 0;
            for (int hit = 0; hit < HITS; hit++) {
                double value = 1000;
                for (int dice = 0; dice < 8; dice++) {
                    seed = seed * 6364136223846793005 + 1442695040888963407;
                    value += (double)(seed >> 33) / 0x1p31 * 10;
                }
                sum += value;
                squares += value * value;
            }
            double mean = sum / HITS;
            sides[which] = side(HITS, mean, sqrt((squares - sum * mean) / (HITS - 1)));
        }
        enum verdict verdict = verdict_decide_among(&sides[0], &sides[1], 0, 1).verdict;
        regressed += verdict == VERDICT_REGRESSED;
        passed += verdict == VERDICT_PASS;
        sides[1].mean *= 1.04;
        found += verdict_decide_among(&sides[0], &sides[1], 0.02, 1).verdict == VERDICT_REGRESSED;
    }
    assert_in_range(regressed, 0, RUNS / 250);
    assert_in_range(passed, RUNS / 200, RUNS / 66);
    assert_in_range(found, RUNS * 9 / 10, RUNS);
}

TEST(over_all)
{
    static const enum verdict order[] = {VERDICT_PASS, VERDICT_INCONCLUSIVE, VERDICT_NOT_COMPARABLE,
                                         VERDICT_REGRESSED};
    for (size_t a = 0; a < 4; a++)
        for (size_t b = 0; b < 4; b++) {
            struct verdict_line lines[] = {{.verdict = order[a]}, {.verdict = order[b]}};
            assert_int_equal(verdict_overall(lines, 2), order[a > b ? a : b]);
        }
    assert_int_equal(verdict_overall(NULL, 0), VERDICT_NOT_COMPARABLE);
    assert_string_equal(verdict_name(VERDICT_PASS), "pass");
    assert_string_equal(verdict_name(VERDICT_REGRESSED), "regressed");
    assert_string_equal(verdict_name(VERDICT_INCONCLUSIVE), "inconclusive");
    assert_string_equal(verdict_name(VERDICT_NOT_COMPARABLE), "not comparable");
}

static void interval_is(struct verdict_side base, struct verdict_side now, double low, double high)
{
    struct verdict_line line = verdict_decide_among(&base, &now, 0, 1);
    struct verdict_interval interval;
    assert_true(verdict_interval(&line, &interval));
    assert_close(interval.low, low, 1e-4);
    assert_close(interval.high, high, 1e-4);
}

/* t(0.975) of 198 degrees of freedom is 1.97202, of 9 it is 2.26216: tables have both. Fieller's interval, of
 * two means with the same error: the roots of (now - r base)^2 = t^2 error^2 (1 + r^2). */
TEST(intervals_of_a_change)
{
    struct verdict_side base = side(100, 1000, 0), now = side(100, 1030, 0);
    interval_is(base, now, 0.03, 0.03);
    base.plus_minus = now.plus_minus = 1;
    now.error.drift = 3;
    interval_is(base, now, 1026.0 / 1001 - 1, 1034.0 / 999 - 1);
    double a = 1e6 - 1.97202 * 1.97202, c = 1030.0 * 1030 - 1.97202 * 1.97202;
    double root = sqrt(1030e3 * 1030e3 - a * c);
    interval_is(side(100, 1000, 10), side(100, 1030, 10), (1030e3 - root) / a - 1, (1030e3 + root) / a - 1);
    struct verdict_side alike = side(10, 1010, 5);
    alike.error = (struct series_error){.standard = 20, .df = 9};
    interval_is(side(1000000, 1000, 0), alike, 0.01 - 2.26216 * 20 / 1000, 0.01 + 2.26216 * 20 / 1000);
}

/* What the baseline may be off by is off by as much more as the change is. */
TEST(intervals_of_a_great_change)
{
    struct verdict_side base = side(100, 100, 0), now = side(100, 1000, 0);
    base.plus_minus = 10;
    interval_is(base, now, 1000 / 110.0 - 1, 1000 / 90.0 - 1);
    base.plus_minus = 0, base.error.drift = 10;
    interval_is(base, now, 1000 / 110.0 - 1, 1000 / 90.0 - 1);
    interval_is(now, base, 90 / 1000.0 - 1, 110 / 1000.0 - 1);
    base.error = (struct series_error){.standard = 4, .df = 9};
    base.sd = 1;
    interval_is(base, side(1000000, 1000, 0), 1000 / (100 + 4 * 2.26216) - 1, 1000 / (100 - 4 * 2.26216) - 1);
    /* As far as nothing */
    now = side(100, 0, 0), now.plus_minus = 2;
    interval_is(side(100, 100, 0), now, -1, -0.98);
}

TEST(no_interval_without_a_change)
{
    struct verdict_side one = side(10, 100, 1), none = {0}, zero = side(10, 0, 0), bound = side(10, 100, 1);
    struct verdict_interval interval;
    bound.at_least = true;
    const struct verdict_side pairs[][2] = {
        {one, none}, {none, one}, {zero, one}, {one, bound}, {bound, one}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct verdict_line line = verdict_decide_among(&pairs[i][0], &pairs[i][1], 0.1, 1);
        assert_false(verdict_interval(&line, &interval));
    }
    one.plus_minus = 100; /* it may be nothing */
    struct verdict_line line = verdict_decide_among(&one, &one, 0.1, 1);
    assert_false(verdict_interval(&line, &interval));
}
