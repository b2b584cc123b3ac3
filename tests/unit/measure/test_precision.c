/* When a run is precise enough. test_verdict_runs.c has simulated runs that end by it. */
#include "../test.h"

#include "measure/verdict.h"

#include <math.h>

TEST(looks_come_seldom)
{
    assert_int_equal(precision_next(0), 100);
    assert_int_equal(precision_next(99), 100);
    assert_int_equal(precision_next(100), 125);
    unsigned looks = 0;
    for (uint64_t hits = 0; hits < 1000000; looks++)
        hits = precision_next(hits);
    assert_in_range(looks, 40, 50);
    assert_true(precision_next(UINT64_MAX / 8) > UINT64_MAX / 8);
}

TEST(as_wide_as_the_interval_of_the_mean)
{
    struct statistics *statistics = statistics_new();
    assert_non_null(statistics);
    assert_true(isinf(precision_of(&(struct column){.statistics = statistics})));
    for (uint64_t i = 0; i < 40; i++)
        statistics_add(statistics, 0);
    assert_true(precision_of(&(struct column){.statistics = statistics}) == 0); /* of 0 */
    statistics_free(statistics);
    statistics = statistics_new();
    assert_non_null(statistics);
    for (uint64_t i = 0; i < 40; i++)
        statistics_add(statistics, 1000);
    assert_true(precision_of(&(struct column){.statistics = statistics}) == 0);
    for (uint64_t i = 0; i < 400; i++)
        statistics_add(statistics, 1000 + i * 37 % 101);
    struct series_error error = statistics_error(statistics);
    double half = verdict_student_quantile(0.025, error.df) * error.standard;
    assert_true(half > 0 && fabs(precision_of(&(struct column){.statistics = statistics}) * statistics_mean(statistics) - half) < 1e-9);
    statistics_free(statistics);
}
