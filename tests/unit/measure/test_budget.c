/* Budgets: what keeps within, what does not, and what is not known. */
#include "../test.h"

#include "measure/verdict.h"

#include <stdio.h>
#include <string.h>

static struct summary summary;

static int set_up(void **state)
{
    (void)state;
    memset(&summary, 0, sizeof summary);
    summary.n = 1;
    summary.conditions.clock_hz = 1e6;
    summary.columns[0].calibrated = true;
    summary.columns[0].statistics = statistics_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    statistics_free(summary.columns[0].statistics);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static void add(uint64_t value, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++)
        statistics_add(summary.columns[0].statistics, value);
    summary.hits += times;
}

static struct verdict_line of_max(double cycles)
{
    const struct budget budget = {.of = BUDGET_MAX, .limit = cycles};
    return budget_decide(&budget, &summary, 1);
}

static struct verdict_line of_mean(double cycles, size_t family)
{
    const struct budget budget = {.of = BUDGET_MEAN, .limit = cycles};
    return budget_decide(&budget, &summary, family);
}

FRESH_TEST(one_hit_above_the_maximum_is_enough)
{
    add(100, 99);
    assert_int_equal(of_max(100).verdict, VERDICT_PASS);
    assert_int_equal(of_max(99).verdict, VERDICT_REGRESSED);
    add(101, 1);
    assert_int_equal(of_max(100).verdict, VERDICT_REGRESSED);
    assert_float_equal(of_max(101).change, 0, 1e-12);
    assert_string_equal(of_max(101).name, "max <= 101 cycles");
}

FRESH_TEST(what_halts_leave_open_is_left_open)
{
    summary.columns[0].plus_minus = 5;
    add(100, 20);
    assert_int_equal(of_max(105).verdict, VERDICT_PASS);
    assert_int_equal(of_max(104).verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(of_max(95).verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(of_max(94).verdict, VERDICT_REGRESSED);
}

FRESH_TEST(a_bound_above_the_budget_exceeds_it)
{
    add(100, 20);
    summary.columns[0].at_least = 1;
    summary.columns[0].at_least_max = 300;
    assert_int_equal(of_max(400).verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(of_max(200).verdict, VERDICT_REGRESSED);
    assert_non_null(strstr(of_max(200).why, "lower bound"));
    assert_int_equal(of_mean(400, 1).verdict, VERDICT_INCONCLUSIVE);
    assert_string_equal(of_mean(400, 1).why, "of some hits now only a lower bound is known");
}

FRESH_TEST(time_needs_a_clock)
{
    const struct budget budget = {.of = BUDGET_MAX, .limit = 100e-6, .is_time = true};
    add(100, 20);
    assert_int_equal(budget_decide(&budget, &summary, 1).verdict, VERDICT_PASS);
    assert_string_equal(budget_decide(&budget, &summary, 1).name, "max <= 100 us");
    add(101, 1);
    assert_int_equal(budget_decide(&budget, &summary, 1).verdict, VERDICT_REGRESSED);
    summary.conditions.clock_error_hz = 2e4; /* 2 % */
    assert_int_equal(budget_decide(&budget, &summary, 1).verdict, VERDICT_INCONCLUSIVE);
    summary.conditions.clock_hz = 0;
    assert_int_equal(budget_decide(&budget, &summary, 1).verdict, VERDICT_NOT_COMPARABLE);
}

/* 16 MHz are claimed, and the counter was seen to be 1.25 % off: 636 cycles may be 40.25 us. */
FRESH_TEST(a_claimed_clock_may_be_off)
{
    const struct budget budgets[] = {{.of = BUDGET_MAX, .limit = 40e-6, .is_time = true},
                                     {.of = BUDGET_MEAN, .limit = 40e-6, .is_time = true}};
    add(636, 20);
    summary.conditions.clock_hz = 16e6;
    snprintf(summary.conditions.clock_source, sizeof summary.conditions.clock_source, "--freq");
    for (size_t i = 0; i < 2; i++) {
        summary.conditions.clock_off_hz = 0;
        struct verdict_line line = budget_decide(&budgets[i], &summary, 1);
        assert_int_equal(line.verdict, VERDICT_PASS);
        assert_string_equal(line.why, "by the claimed clock, --freq");
        summary.conditions.clock_off_hz = 0.2e6;
        line = budget_decide(&budgets[i], &summary, 1);
        assert_int_equal(line.verdict, VERDICT_INCONCLUSIVE);
        summary.conditions.clock_off_hz = 0.02e6;
        line = budget_decide(&budgets[i], &summary, 1);
        assert_int_equal(line.verdict, VERDICT_PASS);
        assert_string_equal(line.why, "");
    }
}

FRESH_TEST(what_was_not_reached_is_not_within)
{
    const struct budget budget = {.of = BUDGET_MAX, .limit = 2e-3, .is_time = true};
    assert_int_equal(of_max(100).verdict, VERDICT_INCONCLUSIVE);
    struct verdict_line line = budget_decide(&budget, NULL, 1);
    assert_int_equal(line.verdict, VERDICT_INCONCLUSIVE);
    assert_string_equal(line.why, "not reached");
    assert_string_equal(line.name, "max <= 2 ms");
}

/* 50 and 150 by turns: the mean is 100, and its error some 5. */
FRESH_TEST(a_mean_is_judged_by_chance)
{
    for (int i = 0; i < 50; i++) {
        add(50, 1);
        add(150, 1);
    }
    assert_int_equal(of_mean(130, 1).verdict, VERDICT_PASS);
    assert_int_equal(of_mean(70, 1).verdict, VERDICT_REGRESSED);
    assert_int_equal(of_mean(102, 1).verdict, VERDICT_INCONCLUSIVE);
    assert_string_equal(of_mean(102, 1).why, "100 hits do not decide: more of them may (-r)");
    /* What is rare for one must occur among a thousand */
    assert_int_equal(of_mean(81, 1).verdict, VERDICT_REGRESSED);
    assert_int_equal(of_mean(81, 1000).verdict, VERDICT_INCONCLUSIVE);
    assert_int_equal(of_mean(70, 1000).verdict, VERDICT_REGRESSED);
}
