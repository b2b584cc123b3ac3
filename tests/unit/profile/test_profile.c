#include "../test.h"

#include "profile/profile.h"

TEST(an_interval_is_a_hundredth_of_the_time)
{
    assert_true(profile_interval_length(0) == 0.005);
    assert_true(profile_interval_length(0.5) == 0.005);
    assert_true(profile_interval_length(10) == 0.1);
    assert_true(profile_interval_length(3600) == 36);
    assert_true(profile_interval_length(86400) == 60);
}

TEST(a_file_grows_with_the_logarithm_of_time)
{
    size_t lines = 0;
    for (double elapsed = 0; elapsed < 24 * 3600; lines++) {
        double from = elapsed;
        while (elapsed - from < profile_interval_length(elapsed))
            elapsed += elapsed < 10 ? 0.001 : elapsed / 10000;
    }
    assert_in_range(lines, 1500, 2500);
}

static uint64_t random_state;

static uint64_t draw(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return random_state >> 33;
}

/* Against a plain array, over several intervals; addresses meet in the table. */
TEST(a_tally_counts_each_address)
{
    enum { ADDRESSES = 3000, INTERVALS = 4, SAMPLES = 20000 };
    static uint64_t truth[ADDRESSES];
    struct profile_tally tally = {.now.core = 3};
    random_state = test_seed();
    for (size_t k = 0; k < INTERVALS; k++) {
        struct profile_interval interval;
        for (size_t i = 0; i < ADDRESSES; i++)
            truth[i] = 0;
        for (size_t i = 0; i < SAMPLES; i++) {
            size_t at = (size_t)(draw() % ADDRESSES);
            uint64_t n = 1 + draw() % 3;
            truth[at] += n;
            assert_true(profile_tally_add(&tally, UINT64_C(0xFFFFFF8000000000) + 2 * at, n));
        }
        assert_true(profile_tally_close(&tally, (double)k + 1, &interval));
        assert_true(interval.from == (double)k && interval.to == (double)k + 1 && interval.core == 3);
        uint64_t all = 0;
        size_t found = 0;
        for (size_t i = 0; i < ADDRESSES; i++) {
            all += truth[i];
            if (truth[i] == 0)
                continue;
            assert_int_equal(interval.counts[found].address, UINT64_C(0xFFFFFF8000000000) + 2 * i);
            assert_int_equal(interval.counts[found++].samples, truth[i]);
        }
        assert_int_equal(found, interval.count_count);
        assert_int_equal(profile_interval_samples(&interval), all);
        profile_interval_free(&interval);
        assert_true(profile_tally_is_empty(&tally));
    }
    profile_tally_free(&tally);
}

TEST(memory_does_not_grow_with_time)
{
    struct profile_tally tally = {0};
    struct profile_interval interval;
    for (unsigned k = 0; k < 200; k++) { /* each interval executes other code */
        for (unsigned i = 0; i < 100; i++)
            assert_true(profile_tally_add(&tally, 0x1000 * k + 2 * i, 1));
        assert_true(profile_tally_close(&tally, k + 1, &interval));
        assert_int_equal(interval.count_count, 100);
        profile_interval_free(&interval);
    }
    assert_true(tally.room <= 512);
    profile_tally_free(&tally);
}

TEST(samples_are_moved_to_a_state)
{
    struct profile_tally tally = {0};
    struct profile_interval interval;
    profile_tally_move(&tally, 0x100, 5, PROFILE_ASLEEP);
    assert_true(profile_tally_is_empty(&tally));
    assert_true(profile_tally_add(&tally, 0x100, 10) && profile_tally_add(&tally, 0x200, 4));
    profile_tally_move(&tally, 0x100, 7, PROFILE_ASLEEP);
    assert_int_equal(profile_tally_count(&tally, 0x100), 3);
    profile_tally_move(&tally, 0x200, 9, PROFILE_ASLEEP); /* no more than there are */
    profile_tally_move(&tally, 0x300, 9, PROFILE_ASLEEP);
    assert_int_equal(profile_tally_count(&tally, 0x200), 0);
    assert_true(profile_tally_close(&tally, 1, &interval));
    assert_int_equal(interval.count_count, 1);
    assert_int_equal(interval.counts[0].address, 0x100);
    assert_int_equal(interval.states[PROFILE_ASLEEP], 11);
    assert_int_equal(profile_interval_samples(&interval), 14);
    profile_interval_free(&interval);
    profile_tally_free(&tally);
}

TEST(an_interval_with_nothing_but_a_reset_is_not_empty)
{
    struct profile_tally tally = {0};
    struct profile_interval interval;
    assert_true(profile_tally_is_empty(&tally));
    tally.now.resets = 1;
    assert_false(profile_tally_is_empty(&tally));
    assert_true(profile_tally_close(&tally, 1, &interval));
    assert_int_equal(interval.resets, 1);
    assert_int_equal(tally.now.resets, 0);
    profile_interval_free(&interval);
    profile_tally_free(&tally);
}
