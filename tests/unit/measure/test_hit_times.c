/* Hits over time: none is lost, whatever their number. */
// clang-format off
#include "test.h"
// clang-format on

#include "measure/statistics.h"

#include <string.h>

static struct hit_times times;

static uint64_t count_at(uint64_t i)
{
    return 1000 + i * 7919 % 97;
}

static enum hit_kind kind_at(uint64_t i)
{
    return i % 50 == 3 ? HIT_TAINTED : i % 70 == 5 ? HIT_AT_LEAST : i < 4 ? HIT_WARMUP : HIT_CLEAN;
}

/* Hits 1 to n, one a millisecond. */
static void take(uint64_t n)
{
    memset(&times, 0, sizeof times);
    for (uint64_t i = 0; i < n; i++)
        hit_times_add(&times, i + 1, (double)i / 1000, kind_at(i), count_at(i));
}

/* Each span against the hits that its numbers name. */
static void check(uint64_t n)
{
    uint64_t next = 1;
    assert_int_equal(times.hits, n);
    for (size_t s = 0; s < times.n; s++) {
        const struct hit_span *span = &times.spans[s];
        struct hit_span expected = {0};
        assert_int_equal(span->first, next);
        assert_true(span->last - span->first + 1 == times.each || s + 1 == times.n);
        assert_true(span->from == (double)(span->first - 1) / 1000 &&
                    span->to == (double)(span->last - 1) / 1000);
        for (uint64_t i = span->first - 1; i < span->last; i++) {
            enum hit_kind kind = kind_at(i);
            uint64_t count = count_at(i);
            if (expected.of[kind].n++ == 0 || count < expected.of[kind].least)
                expected.of[kind].least = count;
            if (count > expected.of[kind].greatest)
                expected.of[kind].greatest = count;
        }
        assert_memory_equal(span->of, expected.of, sizeof expected.of);
        next = span->last + 1;
    }
    assert_int_equal(next, n + 1);
}

TEST(few_hits_stay_single_and_many_share_spans)
{
    static const uint64_t spans = HIT_SPANS;
    const uint64_t numbers[] = {1, spans, spans + 1, 2 * spans, 2 * spans + 1, 4 * spans + 3, 50001};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        take(numbers[i]);
        assert_int_equal(times.each == 1, numbers[i] <= HIT_SPANS);
        assert_true(times.n <= HIT_SPANS && (numbers[i] < HIT_SPANS || times.n >= HIT_SPANS / 2));
        check(numbers[i]);
    }
}

TEST(the_range_is_of_all_kinds)
{
    uint64_t least = 1, greatest = 1;
    memset(&times, 0, sizeof times);
    assert_false(hit_times_range(&times, &least, &greatest));
    hit_times_add(&times, 1, 0, HIT_TAINTED, UINT64_MAX);
    hit_times_add(&times, 2, 1, HIT_CLEAN, 0);
    assert_true(hit_times_range(&times, &least, &greatest));
    assert_true(least == 0 && greatest == UINT64_MAX);
}
