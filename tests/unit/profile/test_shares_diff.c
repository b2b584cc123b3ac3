/* Changes between two profiles: rows meet by their names, and what did not change is called noise as often as
 * its ± says. */
#include "profiles.h"

#include "profile/shares.h"

#include <math.h>

static struct share now_rows[] = {
    {.state = PROFILE_STATES,
     .function = "grown",
     .source = "a.c:10",
     .samples = 600,
     .part = 0.6,
     .plus_minus = 0.03},
    {.state = PROFILE_STATES,
     .function = "same",
     .source = "a.c:90",
     .samples = 200,
     .part = 0.2,
     .plus_minus = 0.03},
    {.state = PROFILE_STATES,
     .function = "new",
     .source = "a.c:95",
     .samples = 100,
     .part = 0.1,
     .plus_minus = 0.02},
    {.state = PROFILE_STATES,
     .function = "init",
     .source = "b.c:5",
     .samples = 60,
     .part = 0.06,
     .plus_minus = 0.01},
    {.state = PROFILE_STATES,
     .function = "init",
     .source = "c.c:5",
     .samples = 40,
     .part = 0.04,
     .plus_minus = NAN},
};
static struct share old_rows[] = {
    {.state = PROFILE_STATES,
     .function = "grown",
     .source = "a.c:12",
     .samples = 800,
     .part = 0.4,
     .plus_minus = 0.04},
    {.state = PROFILE_STATES,
     .function = "same",
     .source = "a.c:93",
     .samples = 420,
     .part = 0.21,
     .plus_minus = 0.03},
    {.state = PROFILE_STATES,
     .function = "init",
     .source = "c.c:5",
     .samples = 300,
     .part = 0.15,
     .plus_minus = 0.01},
    {.state = PROFILE_STATES,
     .function = "init",
     .source = "b.c:9",
     .samples = 80,
     .part = 0.04,
     .plus_minus = 0.008},
    {.state = PROFILE_STATES,
     .function = "init",
     .source = "b.c:70",
     .samples = 40,
     .part = 0.02,
     .plus_minus = 0.006},
    {.state = PROFILE_ASLEEP, .samples = 360, .part = 0.18, .plus_minus = 0.01},
};
static struct shares now = {.rows = now_rows, .n = sizeof now_rows / sizeof *now_rows, .samples = 1000};
static struct shares old = {.rows = old_rows, .n = sizeof old_rows / sizeof *old_rows, .samples = 2000};

static const struct share_change *change_of(const struct shares_diff *diff, const char *function,
                                            const char *source)
{
    for (size_t i = 0; i < diff->n; i++) {
        const struct share *row = diff->rows[i].row;
        if (row->state != PROFILE_STATES ? function == NULL
                                         : function != NULL && strcmp(row->function, function) == 0 &&
                                               strcmp(row->source, source) == 0)
            return &diff->rows[i];
    }
    fail_msg("no %s", function);
    return NULL;
}

TEST(rows_meet_by_name_and_file)
{
    struct shares_diff diff;
    assert_true(shares_diff_make(&now, &old, &diff));
    assert_int_equal(diff.n, 6);
    const struct share_change *grown = change_of(&diff, "grown", "a.c:10");
    assert_ptr_equal(grown, &diff.rows[0]);
    assert_true(fabs(grown->change - 0.2) < 1e-12 && fabs(grown->plus_minus - 0.05) < 1e-12);
    assert_false(grown->is_noise);
    assert_ptr_equal(change_of(&diff, NULL, NULL), &diff.rows[1]);
    const struct share_change *added = change_of(&diff, "new", "a.c:95");
    assert_int_equal(added->old.samples, 0);
    assert_true(added->old.part == 0 && fabs(added->old.plus_minus - 3 / 2000.0) < 1e-5);
    const struct share_change *twice = change_of(&diff, "init", "b.c:5");
    assert_true(twice->is_noise && twice->old.samples == 120 && fabs(twice->old.plus_minus - 0.01) < 1e-12);
    assert_true(change_of(&diff, "init", "c.c:5")->is_noise);
    assert_true(change_of(&diff, "same", "a.c:90")->is_noise);
    assert_int_equal(diff.noise, 3);
    for (size_t i = 0; i < diff.n; i++)
        assert_true(diff.rows[i].is_noise == (i >= 3));
    shares_diff_free(&diff);
}

TEST(lines_meet_by_their_numbers)
{
    struct shares_diff diff;
    now.sort = old.sort = SHARES_LINE;
    assert_true(shares_diff_make(&now, &old, &diff));
    assert_int_equal(diff.n, 10);
    assert_int_equal(change_of(&diff, "init", "c.c:5")->old.samples, 300);
    shares_diff_free(&diff);
    now.sort = old.sort = SHARES_FUNCTION;
}

/* Twenty places with lasting samples, half of which move: what is reported is so. */
static struct profile *recorded(uint64_t *seed, double first)
{
    struct profile *profile = profile_new(1);
    for (int i = 0; i < 60; i++) {
        uint64_t counts[20] = {0};
        struct profile_interval *interval = profile_interval(profile, 0, i, i + 1);
        for (int run = 0; run < 60; run++) { /* neighbouring samples are alike */
            double at = profile_random(seed);
            size_t place = at < first ? 0 : 1 + (size_t)((at - first) / (1 - first) * 19);
            counts[place] += 1 + (uint64_t)(profile_random(seed) * 20);
        }
        for (size_t place = 0; place < 20; place++)
            if (counts[place] > 0)
                profile_count(interval, 0x100 + 2 * place, counts[place]);
    }
    return profile;
}

/* Of pairs whose first share is `before` and `after`: the part of them in which it is reported to have
 * changed.
 */
static double told(double before, double after, unsigned pairs)
{
    uint64_t seed = 7;
    unsigned found = 0;
    for (unsigned i = 0; i < pairs; i++) {
        struct profile *one = recorded(&seed, before), *other = recorded(&seed, after);
        struct shares shares, its;
        struct shares_diff diff;
        assert_true(shares_make(other, 0, SHARES_ADDRESS, NULL, &shares));
        assert_true(shares_make(one, 0, SHARES_ADDRESS, NULL, &its));
        assert_true(shares_diff_make(&shares, &its, &diff));
        for (size_t k = 0; k < diff.n; k++)
            found += diff.rows[k].row->address == 0x100 && !diff.rows[k].is_noise;
        shares_diff_free(&diff);
        shares_free(&shares);
        shares_free(&its);
        profile_file_free(one);
        profile_file_free(other);
    }
    return (double)found / pairs;
}

TEST(noise_is_what_it_says)
{
    double same = told(0.3, 0.3, 300);
    assert_true(same > 0.01 && same < 0.09);
    assert_true(told(0.3, 0.38, 60) > 0.9);
}

/* 500 samples a half second; `burst` of them at 0x200 in each interval whose bit is set. */
static struct shares with_bursts(unsigned intervals, uint64_t burst)
{
    struct profile *profile = profile_new(1);
    struct shares shares;
    for (unsigned i = 0; i < 20; i++) {
        struct profile_interval *interval = profile_interval(profile, 0, i / 2.0, (i + 1) / 2.0);
        uint64_t here = (intervals >> i & 1) * burst;
        if (here < 500)
            profile_count(interval, 0x100, 500 - here);
        if (here > 0)
            profile_count(interval, 0x200, here);
    }
    assert_true(shares_make(profile, 0, SHARES_ADDRESS, NULL, &shares));
    profile_file_free(profile);
    return shares;
}

/* Both rows of one split changed, or none did: `now` against `old`. */
static bool split_has_changed(struct shares now_shares, struct shares old_shares)
{
    struct shares_diff diff;
    assert_true(shares_diff_make(&now_shares, &old_shares, &diff));
    assert_int_equal(diff.n, 2);
    assert_true(fabs(diff.rows[0].plus_minus - diff.rows[1].plus_minus) < 1e-9);
    assert_true(fabs(diff.rows[0].change + diff.rows[1].change) < 1e-9);
    bool changed = !diff.rows[0].is_noise;
    assert_true(diff.rows[1].is_noise == !changed);
    shares_diff_free(&diff);
    shares_free(&now_shares);
    shares_free(&old_shares);
    return changed;
}

TEST(rows_of_one_split_agree)
{
    enum { NONE = 0, SOME = 0x21112, ALL = 0xFFFFF };
    assert_false(split_has_changed(with_bursts(SOME, 50), with_bursts(NONE, 0)));
    assert_false(split_has_changed(with_bursts(NONE, 0), with_bursts(SOME, 50)));
    assert_true(split_has_changed(with_bursts(ALL, 50), with_bursts(NONE, 0)));
    assert_true(split_has_changed(with_bursts(ALL, 500), with_bursts(NONE, 0)));
    /* A burst of the length that the other run saw: three of them in it would not have been unlikely */
    assert_false(split_has_changed(with_bursts(0x49, 500), with_bursts(NONE, 0)));
}
