/*
 * The main job over an engine that runs what the test wants: what is made of raw readings, how many hits are
 * run, and what is there when it ends early.
 */
#include "../cmocka_all.h"

#include "fake_engine.h"

#include <math.h>

static struct fake_engine fake;
static struct fake_results results;
static struct summary summary;
static struct error error;
static struct delta_options options;

int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = *fake_clock() / 1000000, .tv_nsec = *fake_clock() % 1000000 * 1000};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    summary_free(&summary);
    return 0;
}

static int set_up(void **state)
{
    tear_down(state);
    fake_init(&fake);
    memset(&results, 0, sizeof results);
    memset(&summary, 0, sizeof summary);
    error_clear(&error);
    options = (struct delta_options){
        .hits = 50, .timeout_ms = 1000, .calibrate = true, .clock = clock_given(100e6, "--freq")};
    return 0;
}

static bool measure(void)
{
    struct delta_sink sink = {.context = &results, .hit = fake_on_hit, .tick = fake_on_tick};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    fake_plan(&fake);
    options.plan = &fake.plan;
    return delta_measure(&fake.engine, &fake.target, &options, &sink, &summary, &deadline, &error);
}

static const struct column *column(void)
{
    return &summary.columns[0];
}

static uint64_t count_of(size_t hit)
{
    return results.hits[hit].values[0].count;
}

/* --- what is made of readings --------------------------------------------------------------------------- */

static void the_overhead_is_removed_from_every_hit(void **state)
{
    (void)state;
    assert_true(measure());
    assert_int_equal(results.n, 50);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(results.hits[i].number, i + 1);
        assert_int_equal(results.hits[i].n, 1);
        assert_int_equal(count_of(i), 1000 + 7 * i);
        assert_false(results.hits[i].tainted || results.hits[i].values[0].at_least);
        assert_true(fabs(results.hits[i].seconds - 0.001 * (double)(i + 1)) < 1e-6);
    }
    assert_int_equal(summary.hits, 50);
    assert_int_equal(summary.wanted, 50);
    assert_int_equal(summary.tainted, 0);
    assert_string_equal(column()->name, "CPU_CYCLES");
    assert_int_equal(statistics_count(column()->statistics), 50);
    assert_int_equal(statistics_min(column()->statistics), 1000);
    assert_int_equal(statistics_max(column()->statistics), 1343);
    assert_true(column()->calibrated);
    assert_true(fabs(column()->overhead - 11) < 1e-9 && column()->plus_minus == 0);
    assert_true(fabs(summary.seconds - 0.05) < 1e-6);
    assert_true(results.ticks > 0 && results.last_tick == 49);
}

static void several_counters_have_an_overhead_each(void **state)
{
    (void)state;
    fake.block.n = 2;
    assert_true(measure());
    assert_int_equal(summary.n, 2);
    assert_string_equal(summary.columns[1].name, "OTHER");
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(results.hits[i].values[1].count, 2 * (1000 + 7 * i));
    assert_true(fabs(summary.columns[1].overhead - 22) < 1e-9);
}

static uint64_t uneven_cost(struct fake_engine *engine, uint64_t number)
{
    (void)engine;
    return 9 + number % 5; /* 9 to 13 */
}

static void an_uneven_overhead_is_measured_longer_and_told(void **state)
{
    (void)state;
    fake.rehit = uneven_cost;
    assert_true(measure());
    assert_int_equal(fake.wishes[0].hits, 1);
    assert_int_equal(fake.wishes[1].hits, 1);
    assert_true(fake.wishes[1].rehits > fake.wishes[0].rehits);
    assert_true(fabs(column()->overhead - 11) < 0.2);
    assert_true(column()->plus_minus == 2);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(count_of(i), 1000 + 7 * i);
}

static void one_hit_is_calibrated_at_once(void **state)
{
    (void)state;
    options.hits = 1;
    fake.rehit = uneven_cost;
    assert_true(measure());
    assert_int_equal(fake.calls, 1);
    assert_true(fake.wishes[0].rehits >= 32);
    assert_int_equal(summary.hits, 1);
    assert_int_equal(count_of(0), 1000);
}

static void without_calibration_readings_are_shown_as_they_are(void **state)
{
    (void)state;
    options.calibrate = false;
    assert_true(measure());
    assert_int_equal(fake.rehits, 0);
    assert_int_equal(results.n, 50);
    assert_int_equal(count_of(0), 1011);
    assert_false(column()->calibrated);
}

static void rehits_that_were_all_disturbed_calibrate_nothing(void **state)
{
    (void)state;
    fake.no_rehits = true;
    assert_true(measure());
    assert_false(column()->calibrated);
    assert_int_equal(count_of(0), 1011);
}

static void stepped_past(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->past = number % 3;
    hit->pairs = 1 + 2 * (unsigned)hit->past;
    hit->to[0] += 22 * hit->past;
}

static void every_halt_in_a_hit_is_removed(void **state)
{
    (void)state;
    fake.make = stepped_past;
    assert_true(measure());
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(count_of(i), 1000 + 7 * i);
    assert_int_equal(summary.steps_past, 17 + 2 * 17);
    assert_true(fabs(column()->overhead - 55) < 1e-9); /* of the hit with the most halts */
}

static void down_and_over(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    (void)engine;
    hit->from[0] = number % 2 ? 300 : 900000;
    hit->to[0] = number % 2 ? 1000000 - (1011 - 300) : 900000 - 1011; /* over the reload, or not */
}

static void a_wrap_is_no_matter(void **state)
{
    (void)state;
    fake.block.counters[0].bits = 24;
    fake.block.counters[0].down = fake.block.counters[0].zero_is_top = true;
    fake.block.counters[0].modulus = 1000000;
    fake.make = down_and_over;
    fake.no_rehits = true;
    assert_true(measure());
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(count_of(i), 1011);
}

/* --- hits apart ----------------------------------------------------------------------------------------- */

static void some_tainted(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->tainted = number % 10 == 3;
    hit->to[0] += hit->tainted ? 1000000 : 0;
}

static void tainted_hits_are_shown_apart(void **state)
{
    (void)state;
    fake.make = some_tainted;
    assert_true(measure());
    assert_int_equal(results.n, 50);
    assert_true(results.hits[2].tainted);
    assert_int_equal(count_of(2), 1001014);
    assert_int_equal(summary.tainted, 5);
    assert_int_equal(statistics_count(column()->statistics), 45);
    assert_int_equal(statistics_max(column()->statistics), 1343);
}

/* 24 bits at 100 MHz: 167 ms to a wrap. */
static void long_ones(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->to[0] += 2; /* the dearest of uneven_cost */
    hit->after_us = hit->before_us + (200000);
}

static void hits_that_may_have_wrapped_are_lower_bounds(void **state)
{
    (void)state;
    fake.block.counters[0].bits = 24;
    fake.rehit = uneven_cost;
    fake.make = long_ones;
    assert_true(measure());
    assert_int_equal(summary.hits, 50); /* a region that never can be decided is not run for ever */
    assert_int_equal(column()->at_least, 50);
    assert_int_equal(statistics_count(column()->statistics), 0);
    for (size_t i = 0; i < 50; i++) {
        assert_true(results.hits[i].values[0].at_least);
        assert_true(count_of(i) <= 1000 + 7 * i); /* a bound, also with the overhead's error */
        assert_true(count_of(i) + 4 >= 1000 + 7 * i);
    }
    assert_int_equal(column()->at_least_max, count_of(49));
}

static void bounds_hold_up_to_a_wrap(void **state)
{
    (void)state;
    fake.block.counters[0].bits = 24;
    fake.make = long_ones;
    for (int fast = 0; fast < 2; fast++) {
        set_up(NULL);
        fake.block.counters[0].bits = 24;
        fake.make = long_ones;
        options.clock =
            clock_given(fast ? 80e6 : 79e6, "--freq"); /* with 5 %: 16.8e6 and 16.6e6 of 16.78e6 */
        assert_true(measure());
        assert_int_equal(column()->at_least, fast ? 50 : 0);
    }
}

static void a_third_long(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->after_us = hit->before_us + (number % 3 == 0 ? 200000 : 10);
}

static void undecided_hits_are_made_up_for(void **state)
{
    (void)state;
    fake.block.counters[0].bits = 24;
    fake.make = a_third_long;
    assert_true(measure());
    assert_int_equal(statistics_count(column()->statistics), 50);
    assert_int_equal(summary.hits, 74); /* 24 of them undecided */
    assert_int_equal(column()->at_least, 24);
}

static void first_one_decided(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->after_us = hit->before_us + (number == 1 ? 10 : 200000);
}

static void making_up_comes_to_an_end(void **state)
{
    (void)state;
    fake.block.counters[0].bits = 24;
    fake.make = first_one_decided;
    assert_true(measure());
    assert_in_range(summary.hits, 51, 500);
    assert_int_equal(statistics_count(column()->statistics), 1);
}

/* --- how many ------------------------------------------------------------------------------------------- */

static void never_more_hits_than_wanted(void **state)
{
    (void)state;
    for (uint64_t wanted = 1; wanted < 8; wanted++) {
        set_up(NULL);
        options.hits = wanted;
        fake.rehit = wanted % 2 ? uneven_cost : fake_cost_11;
        assert_true(measure());
        assert_int_equal(results.n, wanted);
        assert_int_equal(fake.hits, wanted);
    }
}

static void by_default_a_hundred(void **state)
{
    (void)state;
    options.hits = 0;
    assert_true(measure());
    assert_int_equal(results.n, 100);
}

static void by_default_two_seconds_after_the_first(void **state)
{
    (void)state;
    options.hits = 0;
    fake.hit_us = 100000;
    fake.wait_us = 30000000;
    assert_true(measure());
    assert_in_range(results.n, 20, 22);
}

static void by_default_also_without_calibration(void **state)
{
    (void)state;
    options.hits = 0;
    options.calibrate = false;
    assert_true(measure());
    assert_int_equal(results.n, 100);
}

/* --- an early end --------------------------------------------------------------------------------------- */

static void what_was_measured_before_a_failure_is_there(void **state)
{
    (void)state;
    for (uint64_t at = 1; at < 20; at++) {
        set_up(NULL);
        fake.fail_at = at;
        fake.rehit = uneven_cost;
        assert_false(measure());
        assert_int_equal(error.kind, ERROR_RESET);
        assert_int_equal(results.n, at - 1);
        assert_int_equal(summary.hits, at - 1);
        assert_int_equal(statistics_count(column()->statistics), at - 1);
        for (size_t i = 0; i + 1 < at; i++)
            assert_int_equal(count_of(i), 1000 + 7 * i);
        assert_int_equal(column()->calibrated, at > 1);
    }
}

static void a_summary_can_be_freed_twice(void **state)
{
    (void)state;
    assert_true(measure());
    summary_free(&summary);
    assert_int_equal(summary.n, 0);
    summary_free(&summary);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_overhead_is_removed_from_every_hit),
        TEST(several_counters_have_an_overhead_each),
        TEST(an_uneven_overhead_is_measured_longer_and_told),
        TEST(one_hit_is_calibrated_at_once),
        TEST(without_calibration_readings_are_shown_as_they_are),
        TEST(rehits_that_were_all_disturbed_calibrate_nothing),
        TEST(every_halt_in_a_hit_is_removed),
        TEST(a_wrap_is_no_matter),
        TEST(tainted_hits_are_shown_apart),
        TEST(hits_that_may_have_wrapped_are_lower_bounds),
        TEST(bounds_hold_up_to_a_wrap),
        TEST(undecided_hits_are_made_up_for),
        TEST(making_up_comes_to_an_end),
        TEST(never_more_hits_than_wanted),
        TEST(by_default_a_hundred),
        TEST(by_default_two_seconds_after_the_first),
        TEST(by_default_also_without_calibration),
        TEST(what_was_measured_before_a_failure_is_there),
        TEST(a_summary_can_be_freed_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
