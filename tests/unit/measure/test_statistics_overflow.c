/* More than 2^32 values in a bucket: more than a test has time to add, so the counts are put in place. */
#include "../test.h"

#include "../../../probe/measure/statistics.c" // NOLINT(bugprone-suspicious-include)

static void add_times(struct statistics *s, uint64_t value, uint64_t times)
{
    statistics_add(s, value);
    for (size_t i = 0; i < s->n; i++)
        if (s->entries[i].value == value)
            s->entries[i].count = times;
    s->count += times - 1;
}

static void fill_up(struct statistics *s)
{
    for (uint64_t i = 0; !s->bucketed; i++)
        statistics_add(s, (UINT64_C(1) << 40) + (i << 30));
}

static uint64_t count_at(const struct statistics *s, uint64_t value)
{
    struct walk walk = {0};
    struct entry entry;
    while (walk_next(s, &walk, &entry))
        if (bucket_of(entry.value) == bucket_of(value))
            return entry.count;
    return 0;
}

TEST(conversion_keeps_large_counts)
{
    struct statistics *s = statistics_new();
    uint64_t half = UINT64_C(3) << 31;
    add_times(s, 100, 5);
    add_times(s, 1000000, half); /* two values of one bucket, each below the carry in its low word */
    add_times(s, 1000001, half);
    add_times(s, 2000000, UINT64_C(7) << 32);
    fill_up(s);
    assert_int_equal(bucket_of(1000000), bucket_of(1000001));
    assert_true(count_at(s, 100) == 5);
    assert_true(count_at(s, 1000000) == 2 * half);
    assert_true(count_at(s, 2000000) == UINT64_C(7) << 32);

    struct histogram_bin bin = {0};
    assert_int_equal(statistics_histogram(s, 0, UINT64_MAX, &bin, 1), 1);
    assert_true(bin.count == s->count);
    uint64_t median = statistics_quantile(s, 0.5, NULL);
    assert_int_equal(bucket_of(median), bucket_of(2000000));
    statistics_free(s);
}

TEST(a_bucket_carries_over)
{
    struct statistics *s = statistics_new();
    fill_up(s);
    s->buckets[50] = s->buckets[7] = UINT32_MAX;
    s->count += 2 * (uint64_t)UINT32_MAX;
    statistics_add(s, 50);
    statistics_add(s, 7);
    statistics_add(s, 7);
    assert_true(count_at(s, 50) == UINT64_C(1) << 32);
    assert_true(count_at(s, 7) == (UINT64_C(1) << 32) + 1);
    s->buckets[7] = UINT32_MAX;
    statistics_add(s, 7);
    assert_true(count_at(s, 7) == UINT64_C(2) << 32);
    assert_true(count_at(s, 50) == UINT64_C(1) << 32);
    statistics_free(s);
}

TEST(a_full_overflow_table_saturates)
{
    struct statistics *s = statistics_new();
    fill_up(s);
    s->n = DISTINCT;
    for (size_t i = 0; i < DISTINCT; i++)
        s->entries[i] = (struct entry){.value = BUCKETS - DISTINCT + i, .count = 1};
    s->buckets[7] = UINT32_MAX;
    statistics_add(s, 7);
    assert_true(count_at(s, 7) == UINT32_MAX);
    statistics_free(s);
}

TEST(every_bucket_is_narrow_and_in_order)
{
    assert_true(sizeof(struct statistics) <= (size_t)256 * 1024);
    for (size_t i = 0; i < BUCKETS; i++) {
        uint64_t low = bucket_low(i), high = i + 1 < BUCKETS ? bucket_low(i + 1) - 1 : UINT64_MAX;
        assert_true(low <= high);
        assert_int_equal(bucket_of(low), i);
        assert_int_equal(bucket_of(high), i);
        assert_true((double)(high - low) <= 0.001 * (double)low);
    }
}
