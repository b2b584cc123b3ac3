/* Statistics against an oracle that keeps every value and does it the long way round. */
#include "../test.h"

#include "measure/statistics.h"

#include <math.h>
#include <stdlib.h>

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state += 0x9E3779B97F4A7C15U;
    uint64_t x = random_state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double relative(long double got, long double expected)
{
    return expected == 0 ? (double)fabsl(got) : (double)fabsl((got - expected) / expected);
}

/* Sorts `values`. Deviations are compared in two passes of long double around an exact mean. */
static void check_moments(const struct statistics *s, uint64_t *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    uint64_t whole = (uint64_t)(sum / n);
    long double fraction = (long double)(uint64_t)(sum % n) / (long double)n, squares = 0;
    for (size_t i = 0; i < n; i++) {
        __int128 off = (__int128)values[i] - whole;
        squares += ((long double)off - fraction) * ((long double)off - fraction);
    }
    long double deviation = n < 2 ? 0 : sqrtl(squares / (long double)(n - 1));

    assert_int_equal(statistics_count(s), n);
    assert_true(statistics_min(s) == values[0]);
    assert_true(statistics_max(s) == values[n - 1]);
    assert_true(relative(statistics_mean(s), (long double)whole + fraction) < 1e-15);
    assert_true(relative(statistics_deviation(s), deviation) < 1e-11);
}

static void check_quantiles(const struct statistics *s, const uint64_t *sorted, size_t n, bool expect_exact)
{
    for (unsigned percent = 0; percent <= 100; percent++) {
        size_t rank = ((size_t)percent * n + 99) / 100;
        uint64_t expected = sorted[rank == 0 ? 0 : rank - 1];
        bool exact = !expect_exact;
        uint64_t got = statistics_quantile(s, percent / 100.0, &exact);
        assert_int_equal(exact, expect_exact);
        if (expect_exact)
            assert_true(got == expected);
        else
            assert_true(relative(got, expected) <= 0.001);
        assert_true(got >= sorted[0] && got <= sorted[n - 1]);
    }
}

static void check_histogram(const struct statistics *s, const uint64_t *sorted, size_t n, bool exact)
{
    struct histogram_bin bins[64];
    for (size_t room = 1; room <= 64; room += 1 + room / 3) {
        size_t got = statistics_histogram(s, 0, UINT64_MAX, bins, room), at = 0;
        uint64_t total = 0, less_one = bins[0].high - bins[0].low;
        assert_in_range(got, 1, room);
        assert_true(bins[0].low == sorted[0]);
        if (exact)
            assert_true(bins[got - 1].high == sorted[n - 1]);
        else
            assert_true(relative(bins[got - 1].high, sorted[n - 1]) <= 0.001);
        for (size_t i = 0; i < got; i++) {
            assert_true(bins[i].low <= bins[i].high);
            assert_true(i == 0 || bins[i].low == bins[i - 1].high + 1); /* no gap */
            assert_true(i + 1 == got ? bins[i].high - bins[i].low <= less_one
                                     : bins[i].high - bins[i].low == less_one);
            total += bins[i].count;
            uint64_t inside = 0;
            for (; at < n && sorted[at] <= bins[i].high; at++)
                inside += sorted[at] >= bins[i].low;
            if (exact)
                assert_true(inside == bins[i].count);
        }
        assert_true(total == n);
    }
    assert_int_equal(statistics_histogram(s, 0, UINT64_MAX, bins, 0), 0);
}

static void check_all(uint64_t *values, size_t n, bool exact)
{
    struct statistics *s = statistics_new();
    assert_non_null(s);
    for (size_t i = 0; i < n; i++)
        statistics_add(s, values[i]);
    check_moments(s, values, n);
    check_quantiles(s, values, n, exact);
    check_histogram(s, values, n, exact);
    statistics_free(s);
}

/* Of a part of the values, with the bins that are empty. */
TEST(a_part_of_the_range)
{
    struct statistics *s = statistics_new();
    struct histogram_bin bins[4];
    uint64_t least = 0, greatest = 0;
    for (uint64_t i = 0; i < 8; i++)
        statistics_add(s, i < 6 ? 100 + i / 5 * 3 : 1000 * i);
    assert_int_equal(statistics_between(s, 0, 999, &least, &greatest), 6);
    assert_true(least == 100 && greatest == 103);
    assert_int_equal(statistics_between(s, 101, 7000, &least, &greatest), 3);
    assert_true(least == 103 && greatest == 7000);
    assert_int_equal(statistics_between(s, 104, 5999, &least, &greatest), 0);
    assert_int_equal(statistics_histogram(s, 100, 103, bins, 4), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_true(bins[i].low == 100 + i && bins[i].high == 100 + i);
        assert_int_equal(bins[i].count, i == 0 ? 5 : i == 3);
    }
    assert_int_equal(statistics_histogram(s, 8000, 9000, bins, 4), 0);
    statistics_free(s);
}

TEST(empty_is_zero)
{
    struct statistics *s = statistics_new();
    struct histogram_bin bin;
    bool exact = false;
    assert_int_equal(statistics_count(s), 0);
    assert_int_equal(statistics_min(s), 0);
    assert_int_equal(statistics_max(s), 0);
    assert_true(statistics_mean(s) == 0 && statistics_deviation(s) == 0);
    assert_int_equal(statistics_quantile(s, 0.5, &exact), 0);
    assert_true(exact);
    assert_int_equal(statistics_histogram(s, 0, UINT64_MAX, &bin, 1), 0);
    statistics_free(s);
    statistics_free(NULL);
}

TEST(one_and_equal_values)
{
    uint64_t each[] = {0, 1, 18204, UINT64_MAX};
    for (size_t i = 0; i < 4; i++)
        for (size_t n = 1; n < 100; n += 49) {
            uint64_t values[100];
            for (size_t k = 0; k < n; k++)
                values[k] = each[i];
            check_all(values, n, true);
            struct statistics *s = statistics_new();
            for (size_t k = 0; k < n; k++)
                statistics_add(s, each[i]);
            struct histogram_bin bins[8];
            assert_int_equal(statistics_histogram(s, 0, UINT64_MAX, bins, 8), 1);
            assert_true(bins[0].low == each[i] && bins[0].high == each[i] && bins[0].count == n);
            assert_true(statistics_deviation(s) == 0);
            statistics_free(s);
        }
}

TEST(the_extremes_of_the_range)
{
    check_all((uint64_t[]){0, UINT64_MAX}, 2, true);
    check_all((uint64_t[]){UINT64_MAX, 0, UINT64_MAX, UINT64_MAX}, 4, true);
    check_all((uint64_t[]){UINT64_MAX, UINT64_MAX - 1}, 2, true);
    check_all((uint64_t[]){1, 0, 2, 3, 4, 5, 6, 7, 8}, 9, true);
}

/* Where a double has no digits left for the spread: 2^63 +- 3. */
TEST(small_spread_on_large_values)
{
    enum { N = 10000 };
    uint64_t *values = calloc(N, sizeof(*values));
    for (size_t i = 0; i < N; i++)
        values[i] = (UINT64_C(1) << 63) - 3 + random_next() % 7;
    check_all(values, N, true);
    free(values);
}

/* A step halfway: a mean that moves by difference / n would lag. */
TEST(mean_follows_a_late_step)
{
    enum { N = 1000000 };
    uint64_t *values = calloc(N, sizeof(*values));
    for (size_t i = 0; i < N; i++)
        values[i] = i == 0 ? 0 : (UINT64_C(1) << 62) + (i >= N / 2 ? 100000 : 0);
    check_all(values, N, true);
    free(values);
}

TEST(exact_up_to_4096_distinct)
{
    enum { N = 4096 };
    uint64_t *values = calloc(N + 1, sizeof(*values));
    for (size_t order = 0; order < 3; order++) {
        for (uint64_t i = 0; i <= N; i++)
            values[i] = order == 0 ? i << 20 : order == 1 ? (N - i) << 20 : random_next();
        check_all(values, N, true);
        for (uint64_t i = 0; i <= N; i++)
            values[i] = order == 0 ? i << 20 : order == 1 ? (N - i) << 20 : random_next();
        check_all(values, N + 1, false);
    }
    free(values);
}

/* Every width of value in turn, so that each bucket border is approached from both sides. */
TEST(bucket_borders)
{
    enum { N = 64 * 200 };
    uint64_t *values = calloc(N, sizeof(*values));
    for (size_t bits = 0; bits < 64; bits++)
        for (uint64_t i = 0; i < 200; i++) {
            uint64_t at = i < 100 ? UINT64_C(1) << bits : (UINT64_C(1) << bits) | (UINT64_C(1) << bits) >> 1;
            values[bits * 200 + i] = at + i % 100 - 50;
        }
    check_all(values, N, false);
    free(values);
}

TEST(a_million_values)
{
    enum { SHAPES = 6 };
    size_t n = test_cases(1000000);
    uint64_t *values = calloc(n, sizeof(*values));
    for (unsigned shape = 0; shape < SHAPES; shape++) {
        for (size_t i = 0; i < n; i++) {
            uint64_t r = random_next(), r2 = random_next();
            values[i] = shape == 0   ? r               /* uniform over everything */
                        : shape == 1 ? r >> (r2 % 64)  /* uniform in its logarithm */
                        : shape == 2 ? 18190 + r % 400 /* a function */
                        : shape == 3 ? 18190 + r % 60000 + (r2 % 50 == 0 ? 40000000 : 0) /* with a tail */
                        : shape == 4 ? (UINT64_C(1) << 63) + r % 100000 /* a small spread far up */
                                     : r % 4096;                        /* as many as fit */
        }
        check_all(values, n, shape == 2 || shape == 5);
    }
    free(values);
}

TEST(ranks_of_round_fractions)
{
    struct statistics *s = statistics_new();
    for (uint64_t i = 1; i <= 1000; i++)
        statistics_add(s, i);
    for (unsigned i = 1; i <= 1000; i++)
        assert_int_equal(statistics_quantile(s, i / 1000.0, NULL), i);
    assert_int_equal(statistics_quantile(s, 0.0001, NULL), 1);
    assert_int_equal(statistics_quantile(s, 0.5001, NULL), 501);
    assert_int_equal(statistics_quantile(s, -1, NULL), 1);
    assert_int_equal(statistics_quantile(s, 2, NULL), 1000);
    assert_int_equal(statistics_quantile(s, NAN, NULL), 1);
    statistics_free(s);
}

static int take_seed(void **state)
{
    (void)state;
    random_state = test_seed();
    return 0;
}

TEST_GROUP(take_seed, NULL)
