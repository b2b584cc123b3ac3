/* Which hits are kept as the slowest, and that slots are neither lost nor given twice. */
#include "../test.h"

#include "measure/delta.h"

#include <string.h>

static struct slow_hits outliers;

static size_t take(uint64_t number, uint64_t count, bool at_least, size_t slot)
{
    uint64_t words[RESULT_WORDS] = {number};
    struct hit_result hit = {.number = number, .n = 1};
    hit.values[0] = (struct value){.count = count, .at_least = at_least};
    return slow_hits_take(&outliers, &hit, 0, words, slot);
}

/* The numbers of those that are kept, and that each has its slot and words. */
static void kept_are(const uint64_t *numbers, size_t n)
{
    bool seen[SLOW_HIT_SLOTS] = {false};
    assert_int_equal(outliers.n, n);
    for (size_t i = 0; i < n; i++) {
        const struct slow_hit *outlier = &outliers.at[i];
        assert_int_equal(outlier->hit.number, numbers[i]);
        assert_int_equal(outlier->words[0], numbers[i]);
        assert_true(outlier->slot < SLOW_HIT_SLOTS && !seen[outlier->slot] &&
                    outliers.is_used[outlier->slot]);
        seen[outlier->slot] = true;
    }
    for (size_t slot = 0; slot < SLOW_HIT_SLOTS; slot++)
        assert_int_equal(outliers.is_used[slot], seen[slot]);
}

#define KEPT_ARE(...)                                                                                        \
    kept_are((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

TEST(the_slowest_are_kept_in_order)
{
    static const uint64_t counts[] = {5, 1, 9, 7, 2, 8};
    slow_hits_begin(&outliers, 3);
    for (size_t i = 0; i < 6; i++)
        take(i + 1, counts[i], false, SLOW_HIT_NONE);
    KEPT_ARE(3, 6, 4);
}

TEST(fewer_hits_than_wanted)
{
    slow_hits_begin(&outliers, 8);
    kept_are(NULL, 0);
    take(1, 5, false, SLOW_HIT_NONE);
    take(2, 6, false, SLOW_HIT_NONE);
    KEPT_ARE(2, 1);
}

TEST(of_equals_the_earlier_ones_stay)
{
    slow_hits_begin(&outliers, 2);
    for (uint64_t i = 1; i <= 5; i++)
        assert_true((take(i, 7, false, SLOW_HIT_NONE) != SLOW_HIT_NONE) == (i <= 2));
    KEPT_ARE(1, 2);
}

TEST(a_bound_may_be_more_than_an_equal_count)
{
    slow_hits_begin(&outliers, 2);
    take(1, 7, false, SLOW_HIT_NONE);
    take(2, 7, true, SLOW_HIT_NONE);
    take(3, 7, true, SLOW_HIT_NONE);
    take(4, 7, false, SLOW_HIT_NONE);
    KEPT_ARE(2, 3);
    take(5, 8, false, SLOW_HIT_NONE);
    KEPT_ARE(5, 2);
}

TEST(as_many_as_can_be_kept)
{
    slow_hits_begin(&outliers, 1000);
    assert_int_equal(outliers.wanted, SLOW_HITS_MOST);
    for (uint64_t i = 1; i <= 500; i++)
        assert_true(take(i, i, false, SLOW_HIT_NONE) != SLOW_HIT_NONE);
    assert_int_equal(outliers.n, SLOW_HITS_MOST);
    assert_int_equal(outliers.at[0].hit.number, 500);
    assert_int_equal(outliers.at[SLOW_HITS_MOST - 1].hit.number, 500 - SLOW_HITS_MOST + 1);
}

TEST(hits_wait_until_they_are_judged)
{
    size_t waiting[SLOW_HITS_WAIT];
    slow_hits_begin(&outliers, SLOW_HITS_MOST);
    for (uint64_t i = 1; i <= SLOW_HITS_MOST; i++)
        take(i, 100, false, SLOW_HIT_NONE);
    for (size_t i = 0; i < SLOW_HITS_WAIT; i++) {
        waiting[i] = slow_hits_reserve(&outliers);
        assert_true(waiting[i] < SLOW_HIT_SLOTS);
        outliers.is_read[waiting[i]] = true;
    }
    assert_true(slow_hits_reserve(&outliers) == SLOW_HIT_NONE);
    assert_true(take(70, 99, false, waiting[0]) == SLOW_HIT_NONE); /* its slot is free again */
    assert_int_equal(take(71, 101, false, waiting[1]), waiting[1]);
    assert_true(outliers.at[0].hit.number == 71 && outliers.at[0].slot == waiting[1]);
    slow_hits_release(&outliers, waiting[2]);
    slow_hits_release(&outliers, waiting[3]);
    slow_hits_release(&outliers, SLOW_HIT_NONE);
    size_t used = 0;
    for (size_t slot = 0; slot < SLOW_HIT_SLOTS; slot++)
        used += outliers.is_used[slot];
    assert_int_equal(used, SLOW_HITS_MOST);
    assert_true(outliers.is_read[waiting[1]]);
    size_t again = slow_hits_reserve(&outliers); /* of a hit before: nothing of this one is read */
    assert_false(outliers.is_read[again]);
}
