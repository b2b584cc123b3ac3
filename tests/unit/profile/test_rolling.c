#include "../test.h"

#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>

static struct profile_interval interval_of(unsigned core, double from, double to)
{
    struct profile_interval interval = {.core = core, .from = from, .to = to};
    interval.counts = calloc(1, sizeof *interval.counts);
    assert_non_null(interval.counts);
    interval.counts[0] = (struct profile_count){.address = 0x100, .samples = 1};
    interval.count_count = 1;
    return interval;
}

static void add(struct rolling *rolling, unsigned core, double from, double to)
{
    struct profile_interval interval = interval_of(core, from, to);
    assert_true(rolling_add(rolling, &interval));
    assert_null(interval.counts);
}

TEST(the_last_seconds_are_kept_in_order)
{
    struct rolling rolling = {.window = 5};
    for (int i = 0; i < 1000; i++)
        for (unsigned core = 0; core < 2; core++)
            add(&rolling, core, i * 0.25, (i + 1) * 0.25);
    const struct profile *profile = &rolling.profile;
    assert_int_equal(profile->interval_count, 2 * 20);
    assert_true(profile->intervals[0].from == 245);
    for (size_t i = 1; i < profile->interval_count; i++)
        assert_true(profile->intervals[i].from >= profile->intervals[i - 1].from);
    rolling_free(&rolling);
}

TEST(a_gap_in_time_empties_it)
{
    struct rolling rolling = {.window = 5};
    add(&rolling, 0, 0, 1);
    add(&rolling, 0, 10, 11);
    assert_int_equal(rolling.profile.interval_count, 1);
    assert_true(rolling.profile.intervals[0].from == 10);
    rolling_free(&rolling);
}

TEST(without_an_end_all_is_kept_until_it_is_cleared)
{
    struct rolling rolling = {.window = INFINITY};
    for (int i = 0; i < 100; i++)
        add(&rolling, 0, i, i + 1);
    assert_int_equal(rolling.profile.interval_count, 100);
    rolling_clear(&rolling);
    assert_int_equal(rolling.profile.interval_count, 0);
    add(&rolling, 0, 100, 101);
    assert_int_equal(rolling.profile.interval_count, 1);
    rolling_free(&rolling);
}
