/* How well a series knows its own mean: against what is known of autoregressions, stretches and lines. */
#include "measure/statistics.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static uint64_t dice;

static double uniform(void)
{
    dice = dice * 6364136223846793005 + 1442695040888963407;
    return ((double)(dice >> 11) + 0.5) / 0x1p53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static int start_seed(void **unused)
{
    (void)unused;
    dice = test_seed();
    return 0;
}

/* Of an autoregression of first order with standard deviation 1. */
static struct series_error error_of(double alike, size_t hits)
{
    struct series *series = calloc(1, sizeof *series);
    assert_non_null(series);
    double value = normal();
    for (size_t i = 0; i < hits; i++) {
        value = alike * value + sqrt(1 - alike * alike) * normal();
        series_add(series, value);
    }
    struct series_error error = series_error(series, 1, hits);
    free(series);
    return error;
}

TEST_WITH(the_error_of_a_mean_is_that_of_an_autoregression, start_seed, NULL)
{
    static const double alikes[] = {0.3, 0.5, 0.8, 0.9};
    for (size_t i = 0; i < sizeof alikes / sizeof *alikes; i++) {
        double truth = sqrt((1 + alikes[i]) / (1 - alikes[i]) / 20000), sum = 0;
        for (int run = 0; run < 20; run++)
            sum += error_of(alikes[i], 20000).standard / 20;
        if (!(sum > 0.95 * truth && sum < 1.5 * truth))
            fail_msg("%g alike: %g, not %g", alikes[i], sum, truth);
    }
}

TEST_WITH(hits_that_are_not_alike_keep_their_error, start_seed, NULL)
{
    unsigned widened = 0;
    for (int run = 0; run < 400; run++) {
        struct series_error error = error_of(0, 100);
        assert_true(error.standard >= 0.1);
        widened += error.standard > 0.13;
    }
    assert_in_range(widened, 0, 60);
    assert_true(error_of(-0.5, 1000).standard >= 1 / sqrt(1000)); /* never sharper than that */
}

TEST(a_line_is_a_drift)
{
    for (size_t hits = 2; hits < 30000; hits = hits * 3 + 1) {
        struct series *series = calloc(1, sizeof *series);
        assert_non_null(series);
        for (size_t i = 0; i < hits; i++)
            series_add(series, 1e6 - 100.0 * (double)i / (double)hits);
        double drift = series_error(series, 29, hits).drift;
        if (!(fabs(drift - 60) < 0.3))
            fail_msg("%zu hits: %g", hits, drift);
        free(series);
    }
}

TEST(nothing_moves)
{
    struct series series = {0};
    struct series_error error = series_error(&series, 0, 0);
    assert_true(error.standard == 0 && error.drift == 0);
    for (int i = 0; i < 5000; i++)
        series_add(&series, 475);
    error = series_error(&series, 0, 5000);
    assert_true(error.standard == 0 && error.drift == 0 && error.df == 4999);
}

/* Beyond SERIES_MOST they are means of several in a row, and the last ones may still be waiting. */
TEST(all_of_them_are_in_it)
{
    for (uint64_t hits = 1; hits < 40000; hits = hits * 2 + hits % 7) {
        struct series series = {0};
        double sum = 0, means = 0;
        for (uint64_t i = 0; i < hits; i++) {
            series_add(&series, (double)(i * i % 1009));
            sum += (double)(i * i % 1009);
        }
        for (size_t i = 0; i < series.n; i++)
            means += series.means[i] * (double)series.each;
        assert_true(series.n <= SERIES_MOST && series.n * series.each + series.taken == hits);
        assert_true(hits < SERIES_MOST || series.n >= SERIES_MOST / 2);
        assert_true(fabs(means + series.sum - sum) < 1e-6 * (sum + 1));
    }
}

/* The spread of means of two, when it is all there is: that of a sample, n - 1. */
TEST(means_have_an_error_of_their_own)
{
    struct series series = {0};
    for (int i = 0; i < 800; i++)
        series_add(&series, i / 2 % 2);
    assert_true(series.n == 400 && series.each == 2);
    assert_true(fabs(series_error(&series, 0, 800).standard - 0.5 / sqrt(399)) < 1e-9);
}

/* With the values' own statistics, wherever they lie. */
TEST(far_from_zero)
{
    struct statistics *far = statistics_new(), *near = statistics_new();
    assert_non_null(far);
    assert_non_null(near);
    for (uint64_t i = 0; i < 3000; i++) {
        statistics_add(near, 100 + i / 100 % 7);
        statistics_add(far, UINT64_MAX - 1000 + i / 100 % 7);
    }
    struct series_error a = statistics_error(near), b = statistics_error(far);
    assert_true(a.standard > 3 * statistics_deviation(near) / sqrt(3000));
    assert_true(fabs(a.standard - b.standard) < 1e-9 && fabs(a.drift - b.drift) < 1e-9);
    statistics_free(far);
    statistics_free(near);
}
