/* Regions that take turns: what a turn begins lives on to the next one. And how often a region is called. */
#include "../test.h"

#include "fake_engine.h"

#include <math.h>

enum { REGIONS = 2, CALL = 700, APART = 300, HALT = 11 };

static struct fake_engine fake;
static struct fake_results results;
static struct summary summaries[REGIONS];
static struct delta *deltas[REGIONS];
static struct delta_options options;
static struct delta_sink sink;
static struct error error;
static uint64_t tainted_at, late_us; /* the hit that is; how much later than expected the hits occur */

TEST_TIME(fake_time, NULL)

/* A call of 700 cycles each 1000 cycles, and each halt costs 11. */
static void by_period(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    (void)engine;
    uint64_t start = number * (CALL + APART + 2 * HALT);
    hit->from[0] = start;
    hit->to[0] = start + CALL + HALT;
    hit->before_us = (uint64_t)number * (10 + late_us);
    hit->after_us = hit->before_us + 7;
    hit->tainted = number == tainted_at;
}

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_plan(&fake);
    fake.make = by_period;
    tainted_at = late_us = 0;
    memset(&results, 0, sizeof results);
    memset(summaries, 0, sizeof summaries);
    error_clear(&error);
    options = (struct delta_options){.timeout_ms = 1000,
                                     .calibrate = true,
                                     .clock = clock_given(100e6, "--freq", 1.2e9),
                                     .plan = &fake.plan};
    sink = (struct delta_sink){.context = &results, .hit = fake_on_hit, .tick = fake_on_tick};
    for (size_t i = 0; i < REGIONS; i++) {
        deltas[i] = delta_begin(&fake.device, &options, &sink, &summaries[i], &error);
        assert_non_null(deltas[i]);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < REGIONS; i++)
        summary_free(&summaries[i]);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool turn(size_t region, uint64_t goal, int64_t for_us)
{
    const struct delta_turn wanted = {.goal = goal, .for_us = for_us};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    return delta_turn(deltas[region], &fake.engine, &wanted, &deadline, &error);
}

static void end(void)
{
    for (size_t i = 0; i < REGIONS; i++)
        delta_end(deltas[i]);
}

FRESH_TEST(turns_of_two_regions_calibrate_once_each)
{
    for (uint64_t goal = 5; goal <= 20; goal += 5)
        for (size_t i = 0; i < REGIONS; i++)
            assert_true(turn(i, goal, 0));
    end();
    size_t with_rehits = 0;
    for (size_t i = 0; i < fake.calls; i++)
        with_rehits += fake.requests[i].rehits > 0;
    assert_int_equal(with_rehits, REGIONS);
    for (size_t i = 0; i < REGIONS; i++) {
        assert_int_equal(summaries[i].hits, 20);
        assert_int_equal(statistics_count(summaries[i].columns[0].statistics), 20);
        assert_int_equal(statistics_max(summaries[i].columns[0].statistics), CALL);
        assert_true(summaries[i].columns[0].calibrated);
    }
}

FRESH_TEST(a_turn_that_does_not_reach_the_start_is_followed_by_one_that_calibrates)
{
    fake.late_at = 1;
    assert_false(turn(0, 3, 0));
    assert_int_equal(error.kind, ERROR_START);
    error_clear(&error);
    fake.late_at = 0;
    assert_true(turn(0, 3, 0));
    end();
    assert_int_equal(summaries[0].hits, 3);
    assert_true(summaries[0].columns[0].calibrated);
    assert_int_equal(statistics_min(summaries[0].columns[0].statistics), CALL);
}

FRESH_TEST(a_turn_that_fails_keeps_its_hits)
{
    fake.fail_at = 4;
    assert_false(turn(0, 10, 0));
    assert_int_equal(error.kind, ERROR_RESET);
    end();
    assert_int_equal(summaries[0].hits, 3);
    assert_int_equal(statistics_max(summaries[0].columns[0].statistics), CALL);
}

FRESH_TEST(a_region_that_is_never_reached_has_no_hits)
{
    fake.late_at = 1;
    assert_false(turn(0, 3, 0));
    end();
    assert_int_equal(summaries[0].hits, 0);
    assert_int_equal(summaries[0].periods.n, 0);
    assert_false(summaries[0].columns[0].calibrated);
}

FRESH_TEST(a_turn_ends_with_its_time)
{
    assert_true(turn(0, UINT64_MAX, 20000));
    uint64_t first = summaries[0].hits;
    assert_in_range(first, 15, 25); /* a hit takes 1 ms */
    assert_true(turn(0, UINT64_MAX, 10000));
    end();
    assert_in_range(summaries[0].hits - first, 5, 15);
    assert_true(summaries[0].seconds > 0.025 && summaries[0].seconds < 0.035);
}

/* An engine waits for all hits that it was asked for and has begun. */
FRESH_TEST(a_turn_asks_for_the_hits_that_are_likely_to_come)
{
    static const int64_t hit_us[] = {10, 1000, 15000}; /* 40000, 400 and 26 in the time */
    for (size_t i = 0; i < sizeof hit_us / sizeof *hit_us; i++) {
        uint64_t asked = 0, before = summaries[0].hits, few = 20;
        fake.hit_us = hit_us[i];
        fake.calls = 0;
        assert_true(turn(0, UINT64_MAX, 400000));
        for (size_t k = 0; k < fake.calls; k++)
            asked += fake.requests[k].hits;
        assert_in_range(fake.calls, 2, 10);
        assert_in_range(summaries[0].hits - before, 400000 / hit_us[i] - few, 400000 / hit_us[i] + few);
        assert_in_range(asked, summaries[0].hits - before, summaries[0].hits - before + few);
    }
    end();
}

/* It has its hits after 5 ms; the time from call to call is known by all of 30. */
FRESH_TEST(a_turn_with_a_number_of_hits_lasts_as_long_as_it_is_to)
{
    options.hits = 5;
    const struct delta_turn wanted = {.goal = 5, .for_us = 60000, .least_us = 30000};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    assert_true(delta_turn(deltas[0], &fake.engine, &wanted, &deadline, &error));
    assert_in_range(summaries[0].hits, 25, 35);
    assert_true(turn(0, 5, 60000));
    assert_true(turn(1, 5, 60000));
    end();
    assert_in_range(summaries[0].hits, 25, 35);
    assert_int_equal(summaries[1].hits, 5);
}

static void by_the_clock(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    by_period(engine, number, hit);
    hit->before_us = (uint64_t)*fake_clock();
    hit->after_us = hit->before_us + 7;
}

/* After the fourth call none began within the second that was waited. The wait is known, here by
 * the time. */
FRESH_TEST(the_period_in_which_a_turn_ends_is_known_at_least)
{
    fake.make = by_the_clock;
    fake.late_at = 5;
    assert_false(turn(0, 10, 0));
    assert_int_equal(error.kind, ERROR_START);
    end();
    const struct periods *periods = &summaries[0].periods;
    assert_true(periods->n > 0);
    assert_int_equal(periods->cycles, periods->n * (CALL + APART));
    assert_int_equal(summaries[0].in_order.cycles.n, periods->n);
    assert_true(summaries[0].in_order.inside.means[0] == CALL);
    assert_true(fabs(periods->unfinished / 100e6 - 1.0) < 0.05);
}

/* Those with re-hits in them, and the step from one turn to the next, are left out. */
FRESH_TEST(periods_are_without_the_cost_of_halts)
{
    for (uint64_t goal = 10; goal <= 20; goal += 10)
        for (size_t i = 0; i < REGIONS; i++)
            assert_true(turn(i, goal, 0));
    end();
    const struct periods *periods = &summaries[0].periods;
    assert_in_range(periods->n, 16, 18);
    assert_int_equal(periods->cycles, periods->n * (CALL + APART));
    assert_int_equal(periods->inside, periods->n * CALL);
    assert_false(periods->at_least);
    assert_false(periods->inside_at_least);
}

FRESH_TEST(a_tainted_call_is_in_no_period)
{
    assert_true(turn(0, 10, 0));
    uint64_t untainted = summaries[0].periods.n;
    tainted_at = fake.hits + 5;
    assert_true(turn(0, 20, 0));
    end();
    assert_in_range(summaries[0].periods.n - untainted, 7, 8);
    assert_int_equal(summaries[0].periods.cycles, summaries[0].periods.n * (CALL + APART));
}

/* From start to start also there, but nothing is known of the time inside. */
FRESH_TEST(periods_go_on_over_calls_that_are_left)
{
    const struct periods *periods = &summaries[0].periods;
    fake.left_each = 3;
    assert_true(turn(0, 10, 0));
    for (uint64_t goal = 20; goal <= 40; goal += 10)
        assert_true(turn(0, goal, 0));
    end();
    assert_in_range(summaries[0].left, 18, 22);
    assert_in_range(periods->n_left, 14, 20);
    assert_in_range(periods->n - periods->n_left, 34, 38);
    assert_int_equal(periods->cycles, periods->n * (CALL + APART));
    assert_int_equal(periods->inside, (periods->n - periods->n_left) * CALL);
    assert_true(periods->inside_at_least);
    assert_false(periods->at_least);
}

/* Each run ends at a return: a call that was left just before is no more often in a period than others. */
FRESH_TEST(calls_that_are_left_do_not_count_more_often_than_they_occur)
{
    fake.left_each = 2;
    for (uint64_t goal = 2; goal <= 60; goal += 2)
        assert_true(turn(0, goal, 0));
    end();
    assert_true(summaries[0].periods.n_left > 0);
    assert_in_range(2 * summaries[0].periods.n_left, summaries[0].periods.n - 2, summaries[0].periods.n + 2);
}

/* 2^32 cycles at 100 MHz are 43 s. */
FRESH_TEST(calls_far_apart_may_hide_a_wrap)
{
    late_us = 60000000;
    assert_true(turn(0, 10, 0));
    late_us = 0; /* that there was one stays true */
    assert_true(turn(0, 20, 0));
    end();
    assert_true(summaries[0].periods.n > 0);
    assert_true(summaries[0].periods.at_least);
    assert_false(summaries[0].periods.inside_at_least);
}

FRESH_TEST(without_the_cost_of_a_halt_there_are_no_periods)
{
    options.calibrate = false;
    assert_true(turn(0, 10, 0));
    end();
    assert_int_equal(summaries[0].periods.n, 0);
}
