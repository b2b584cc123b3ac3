/*
 * Changes: rows of simulated runs, with and without a step, of each shape that runs have. docs/ci.md has the
 * figures; PMU_SOAK=1 build/unit/measure test_changes prints them.
 */
#include "measure/changes.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 400, ROOM = 16 };

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

/* What a run differs from the level by, with a spread of about 1. */
typedef double shape(double before);

static double equal(double before)
{
    (void)before;
    return 0;
}

static double bell(double before)
{
    (void)before;
    return normal();
}

/* As of a cache that is laid out anew at each build. */
static double two_modes(double before)
{
    (void)before;
    return uniform() < 0.5 ? -1 : 1;
}

static double seldom_slow(double before)
{
    (void)before;
    return 0.1 * normal() + (uniform() < 0.05 ? 4 : 0);
}

/* Student's t with three degrees of freedom. */
static double heavy_tail(double before)
{
    (void)before;
    double a = normal(), b = normal(), c = normal();
    return normal() / sqrt((a * a + b * b + c * c) / 3) / sqrt(3);
}

/* As of a board that warms up over a few runs. */
static double alike(double before)
{
    return 0.4 * before + sqrt(1 - 0.16) * normal();
}

static const struct {
    const char *name;
    shape *of;
    double right; /* the part of the steps that is found at its run, at least: a slow run next to it blurs a
                     step */
} shapes[] = {{"all equal", equal, 1},          {"normal", bell, 0.97},
              {"two modes", two_modes, 0.97},   {"5 % slow ones", seldom_slow, 0.93},
              {"heavy tail", heavy_tail, 0.95}, {"alike neighbours (0.4)", alike, 0.9}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* `spread` in parts of 10,000 cycles; from `at` on it is 2 % more. */
static void fill(struct change_value *values, size_t n, shape *of, double spread, size_t at)
{
    double off = 0;
    for (size_t i = 0; i < n; i++) {
        off = of(off);
        values[i] = (struct change_value){.value = 10000 * (i >= at ? 1.02 : 1) + 10000 * spread * off};
    }
}

TEST(no_change_in_flat_rows)
{
    static const size_t lengths[] = {2, 5, 12, 40, 300};
    struct change_value values[MOST];
    struct change changes[ROOM];
    unsigned rows = test_soaks() ? 3000 : 30;
    dice = test_seed();
    for (size_t s = 0; s < SHAPES; s++) {
        printf("%-24s", shapes[s].name);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            unsigned wrong = 0;
            for (unsigned row = 0; row < rows; row++) {
                fill(values, lengths[l], shapes[s].of, 0.01, MOST);
                wrong += changes_find(values, lengths[l], 0.01, changes, ROOM) > 0;
            }
            printf("  %6.2f %%", 100.0 * wrong / rows);
            /* 1 %, somewhat more if neighbours are alike, and what chance adds to that */
            assert_in_range(wrong, 0, (unsigned)(rows * 0.015 + 4 * sqrt(rows * 0.015)));
        }
        printf("\n");
    }
}

TEST(a_step_is_found_at_its_run)
{
    struct change_value values[MOST];
    struct change changes[ROOM];
    unsigned rows = test_soaks() ? 3000 : 30;
    dice = test_seed();
    for (size_t s = 0; s < SHAPES; s++) {
        unsigned right = 0, found = 0;
        for (unsigned row = 0; row < rows; row++) {
            size_t n = 20 + (size_t)(uniform() * 80), at = 5 + (size_t)(uniform() * (double)(n - 10));
            fill(values, n, shapes[s].of, 0.003, at);
            size_t some = changes_find(values, n, 0.01, changes, ROOM);
            bool there = false;
            for (size_t i = 0; i < some; i++)
                there = there || changes[i].at == at;
            found += some > 0;
            right += there;
        }
        printf("%-24s a step of 2 %%, spread 0.3 %%: found %.1f %%, at its run %.1f %%\n", shapes[s].name,
               100.0 * found / rows, 100.0 * right / rows);
        double chance = shapes[s].right * (1 - shapes[s].right);
        assert_in_range(right, (unsigned)(rows * shapes[s].right - 4 * sqrt(rows * chance)), rows);
    }
}

/* Rows of two values are in order by chance: 2 of 210 for 19 and 2 runs, 2 of 10 for 3 and 2. */
TEST(exact_rows_need_two_runs)
{
    struct change_value values[21] = {{0}};
    struct change changes[ROOM];
    for (size_t i = 0; i < 21; i++)
        values[i].value = i < 20 ? 475 : 483;
    assert_int_equal(changes_find(values, 21, 0.01, changes, ROOM), 0);
    values[19].value = 483;
    assert_int_equal(changes_find(values, 21, 0.01, changes, ROOM), 0);
    assert_int_equal(changes_find(values, 21, 0.03, changes, ROOM), 1);
    assert_int_equal(changes[0].at, 19);
    assert_true(changes[0].before == 475 && changes[0].after == 483);
    values[20].error = 1; /* a run that knows its value less well proves nothing */
    assert_int_equal(changes_find(values, 21, 0.03, changes, ROOM), 0);
    values[20].error = 0;
    assert_int_equal(changes_find(values + 16, 5, 0.01, changes, ROOM), 0);
    assert_int_equal(changes_find(values + 16, 5, 0.6, changes, ROOM), 1);
}

TEST(several_steps_up_and_down)
{
    static const double levels[] = {1000, 1010, 1010, 990, 1200};
    struct change_value values[100];
    struct change changes[ROOM];
    dice = 5;
    for (size_t i = 0; i < 100; i++)
        values[i] = (struct change_value){.value = levels[i / 20] + normal()};
    assert_int_equal(changes_find(values, 100, 0.01, changes, ROOM), 3);
    assert_int_equal(changes[0].at, 20);
    assert_int_equal(changes[1].at, 60);
    assert_int_equal(changes[2].at, 80);
    assert_true(fabs(changes[1].before - 1010) < 1 && fabs(changes[1].after - 990) < 1);
    assert_int_equal(changes_find(values, 100, 0.01, changes, 2), 2); /* room for two */
}

TEST(short_rows_have_no_change)
{
    struct change_value values[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    struct change changes[ROOM];
    for (size_t n = 0; n <= 3; n++)
        assert_int_equal(changes_find(values, n, 0.01, changes, ROOM), 0);
}

/* What a run knows of the value counts, even if the runs happen to agree. */
TEST(unsure_runs_hide_a_step)
{
    struct change_value values[40];
    struct change changes[ROOM];
    for (size_t i = 0; i < 40; i++)
        values[i] = (struct change_value){.value = i < 20 ? 1000 : 1001, .error = 10};
    assert_int_equal(changes_find(values, 40, 0.01, changes, ROOM), 0);
    for (size_t i = 0; i < 40; i++)
        values[i].error = 0.1;
    assert_int_equal(changes_find(values, 40, 0.01, changes, ROOM), 1);
}

TEST(a_trend_is_found_and_flat_rows_have_none)
{
    static const size_t lengths[] = {8, 12, 40, 300};
    enum { ROWS = 400 };
    struct change_value values[MOST];
    struct change trend;
    dice = test_seed();
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            unsigned wrong = 0;
            for (unsigned row = 0; row < ROWS; row++) {
                fill(values, lengths[l], shapes[s].of, 0.01, MOST);
                wrong += changes_trend(values, lengths[l], 0.01, &trend);
            }
            printf("%-24s %3zu runs: %.2f %%\n", shapes[s].name, lengths[l], 100.0 * wrong / ROWS);
            assert_in_range(wrong, 0, (unsigned)(ROWS * 0.015 + 5 * sqrt(ROWS * 0.015)));
        }
    for (unsigned row = 0; row < ROWS; row++) {
        fill(values, 40, bell, 0.002, MOST);
        for (size_t i = 0; i < 40; i++)
            values[i].value += 10.0 * (double)i; /* 4 % in all */
        assert_true(changes_trend(values, 40, 0.001, &trend));
        assert_true(fabs(trend.before - 10000) < 60 && fabs(trend.after - 10390) < 60 && trend.at == 0);
    }
    for (size_t i = 0; i < 8; i++)
        values[i] = (struct change_value){.value = 50 + (double)i};
    assert_false(changes_trend(values, 7, 0.001, &trend)); /* too few */
    assert_true(changes_trend(values, 8, 0.001, &trend) && trend.before == 50 && trend.after == 57);
}
