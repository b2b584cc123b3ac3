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
    struct column of = {.statistics = statistics};
    assert_non_null(statistics);
    assert_true(isinf(precision_of(&of)));
    for (uint64_t i = 0; i < 40; i++)
        statistics_add(statistics, 0);
    assert_true(precision_of(&of) == 0); /* of 0 */
    statistics_free(statistics);
    of.statistics = statistics = statistics_new();
    assert_non_null(statistics);
    for (uint64_t i = 0; i < 40; i++)
        statistics_add(statistics, 1000);
    assert_true(precision_of(&of) == 0);
    for (uint64_t i = 0; i < 400; i++)
        statistics_add(statistics, 1000 + i * 37 % 101);
    struct series_error error = statistics_error(statistics);
    double half = verdict_student_quantile(0.025, error.df) * error.standard;
    assert_true(half > 0 && fabs(precision_of(&of) * statistics_mean(statistics) - half) < 1e-9);
    statistics_free(statistics);
}

/* Ten calls of 100 cycles, and others that are not among them: how far the mean of all may be from 100. */
TEST(what_is_left_out_widens_it)
{
    static const struct {
        struct left_out left;
        double off;
    } cases[] = {
        {{.all = 10}, 0},
        {{.all = 12, .bounded = 2, .least = 100, .most = 1000, .longest = 700}, 800.0 / 12},
        {{.all = 12, .bounded = 2, .least = 0, .most = 210, .longest = 110}, 200.0 / 12},
        {{.all = 12, .bounded = 1, .unbounded = 1, .least = 80, .most = 700, .longest = 700}, 1200.0 / 12},
        {{.all = 11, .unbounded = 1}, 100.0 / 11}};
    struct column of = {.statistics = statistics_new()};
    assert_non_null(of.statistics);
    for (int i = 0; i < 10; i++)
        statistics_add(of.statistics, 100);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        of.left_out = cases[i].left;
        assert_true(fabs(column_error(&of).standard * 1.96 - cases[i].off) < 1e-9);
        assert_true(fabs(precision_of(&of) - verdict_student_quantile(0.025, 9) * cases[i].off / 196) < 1e-6);
    }
    statistics_free(of.statistics);
}
