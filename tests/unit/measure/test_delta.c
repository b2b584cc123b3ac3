/*
 * The main job over an engine that runs what the test wants: what is made of raw readings, how many hits are
 * run, and what is there when it ends early.
 */
#include "../test.h"

#include "fake_engine.h"
#include "measure/verdict.h"

#include <math.h>

static struct fake_engine fake;
static struct fake_results results;
static struct summary summary;
static struct error error;
static struct delta_options options;

TEST_TIME(fake_time, NULL)

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
        .hits = 50, .timeout_ms = 1000, .calibrate = true, .clock = clock_given(100e6, "--freq", 1.2e9)};
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool measure(void)
{
    struct delta_sink sink = {.context = &results, .hit = fake_on_hit, .tick = fake_on_tick};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    fake_plan(&fake);
    options.plan = &fake.plan;
    return delta_measure(&fake.engine, &fake.device, &options, &sink, &summary, &deadline, &error);
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

FRESH_TEST(the_overhead_is_removed_from_every_hit)
{
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

FRESH_TEST(several_counters_have_an_overhead_each)
{
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

FRESH_TEST(an_uneven_overhead_is_measured_longer_and_told)
{
    fake.rehit = uneven_cost;
    assert_true(measure());
    assert_int_equal(fake.requests[0].hits, 1);
    assert_int_equal(fake.requests[1].hits, 1);
    assert_true(fake.requests[1].rehits > fake.requests[0].rehits);
    assert_true(fabs(column()->overhead - 11) < 0.2);
    assert_true(column()->plus_minus == 2);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(count_of(i), 1000 + 7 * i);
}

FRESH_TEST(one_hit_is_calibrated_at_once)
{
    options.hits = 1;
    fake.rehit = uneven_cost;
    assert_true(measure());
    assert_int_equal(fake.calls, 1);
    assert_true(fake.requests[0].rehits >= 32);
    assert_int_equal(summary.hits, 1);
    assert_int_equal(count_of(0), 1000);
}

FRESH_TEST(without_calibration_readings_are_shown_as_they_are)
{
    options.calibrate = false;
    assert_true(measure());
    assert_int_equal(fake.rehits, 0);
    assert_int_equal(results.n, 50);
    assert_int_equal(count_of(0), 1011);
    assert_false(column()->calibrated);
}

/* The counter stops during the re-hits at the first hit's end, and nothing shows it: the run ends before the
 * next start. */
static uint64_t stopped_cost(struct fake_engine *engine, uint64_t number)
{
    return number <= engine->requests[0].rehits + 1 ? 11 : 0;
}

FRESH_TEST(after_an_error_rehits_count_only_if_the_counter_went_on_afterwards)
{
    fake.rehit = stopped_cost;
    fake.late_at = 2;
    assert_false(measure());
    assert_int_equal(error.kind, ERROR_START);
    assert_int_equal(results.n, 1);
    assert_int_equal(count_of(0), 1000);
    assert_true(column()->overhead == 11);
}

FRESH_TEST(rehits_that_were_all_disturbed_calibrate_nothing)
{
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

FRESH_TEST(every_halt_in_a_hit_is_removed)
{
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

FRESH_TEST(a_wrap_is_no_matter)
{
    fake.block.counters[0].bits = 24;
    fake.block.counters[0].down = fake.block.counters[0].zero_is_top = true;
    fake.block.counters[0].modulus = 1000000;
    fake.make = down_and_over;
    fake.no_rehits = true;
    assert_true(measure());
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(count_of(i), 1011);
}

/* --- the slowest hits ----------------------------------------------------------------------------------- */

static struct slow_hits outliers;
static uint64_t looked[SLOW_HIT_SLOTS]; /* the number of the hit at which a slot was read last */
static size_t n_looked;

static bool on_slow_hit(void *context, size_t slot, struct error *why)
{
    (void)context;
    (void)why;
    assert_true(slot < SLOW_HIT_SLOTS && outliers.is_used[slot]);
    looked[slot] = fake.hits;
    n_looked++;
    *fake_clock() += 30;
    return true;
}

static bool measure_outliers(size_t wanted)
{
    struct delta_sink sink = {
        .context = &results, .hit = fake_on_hit, .tick = fake_on_tick, .slow_hit = on_slow_hit};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    fake_plan(&fake);
    slow_hits_begin(&outliers, wanted);
    n_looked = 0;
    options.plan = &fake.plan;
    options.slow_hits = &outliers;
    return delta_measure(&fake.engine, &fake.device, &options, &sink, &summary, &deadline, &error);
}

/* Each was read at its own stop. */
static void outliers_are_read(void)
{
    for (size_t i = 0; i < outliers.n; i++) {
        const struct slow_hit *outlier = &outliers.at[i];
        assert_true(outliers.is_read[outlier->slot]);
        assert_int_equal(looked[outlier->slot], outlier->hit.number);
        assert_int_equal(outlier->hit.values[0].count, results.hits[outlier->hit.number - 1].values[0].count);
    }
    size_t used = 0;
    for (size_t slot = 0; slot < SLOW_HIT_SLOTS; slot++)
        used += outliers.is_used[slot];
    assert_int_equal(used, outliers.n);
}

static void shrinking(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, 101 - number, hit);
    hit->tainted = number == 2;
}

FRESH_TEST(the_slowest_hits_are_read_where_they_end)
{
    fake.make = shrinking;
    assert_true(measure_outliers(3));
    outliers_are_read();
    assert_int_equal(outliers.n, 3); /* without the tainted one */
    assert_true(outliers.at[0].hit.number == 1 && outliers.at[1].hit.number == 3 &&
                outliers.at[2].hit.number == 4);
    assert_int_equal(n_looked, 3); /* no later one is read */
    assert_int_equal(outliers.longest_us, 30);
}

FRESH_TEST(a_hit_before_the_calibration_is_judged_after_it)
{
    fake.rehit = uneven_cost; /* the second hit waits, too */
    assert_true(measure_outliers(50));
    outliers_are_read();
    assert_int_equal(outliers.n, 50);
    assert_int_equal(outliers.at[49].hit.number, 1);
    assert_int_equal(outliers.at[49].hit.values[0].count, 1000);
}

FRESH_TEST(hits_of_a_warmup_are_no_outliers)
{
    fake.make = shrinking;
    options.warmup = 5;
    assert_true(measure_outliers(2));
    outliers_are_read();
    assert_true(outliers.n == 2 && outliers.at[0].hit.number == 6 && outliers.at[1].hit.number == 7);
}

static void bounded_once(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    if (number == 20)
        hit->after_us = hit->before_us + 3600000000; /* it may have wrapped */
}

FRESH_TEST(a_hit_with_a_bound_is_judged_by_it)
{
    fake.make = bounded_once;
    assert_true(measure_outliers(50));
    outliers_are_read();
    size_t bounded = 0;
    for (size_t i = 0; i < outliers.n; i++)
        if (outliers.at[i].hit.values[0].at_least) {
            assert_int_equal(outliers.at[i].hit.number, 20);
            assert_int_equal(outliers.at[i - 1].hit.number, 21);
            bounded++;
        }
    assert_int_equal(bounded, 1);
}

/* --- a counter that something else writes --------------------------------------------------------------- */

static void cleared_inside(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    if (number == 23)
        hit->to[0] = 3; /* below where it began */
}

static void stopped_inside(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    if (number == 23)
        hit->to[0] = hit->from[0];
}

FRESH_TEST(what_cannot_be_is_no_hit_and_ends_it)
{
    void (*const makes[])(struct fake_engine *, uint64_t, struct raw_hit *) = {cleared_inside,
                                                                               stopped_inside};
    for (size_t i = 0; i < 2; i++) {
        set_up(NULL);
        fake.make = makes[i];
        assert_false(measure());
        assert_int_equal(error.kind, ERROR_WRITTEN);
        assert_int_equal(results.n, 22);
        assert_int_equal(summary.hits, 22);
    }
}

static void before_calibration(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    if (number == 2)
        hit->to[0] = 3;
}

FRESH_TEST(nor_are_the_ones_that_waited_for_calibration)
{
    fake.make = before_calibration;
    fake.rehit = uneven_cost;
    assert_false(measure());
    assert_int_equal(error.kind, ERROR_WRITTEN);
    assert_int_equal(results.n, 0);
}

/* --- hits apart ----------------------------------------------------------------------------------------- */

static void some_tainted(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->tainted = number % 10 == 3;
    hit->to[0] += hit->tainted ? 1000000 : 0;
    hit->after_us += hit->tainted ? 10000 : 0;
}

FRESH_TEST(tainted_hits_are_shown_apart)
{
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

FRESH_TEST(hits_that_may_have_wrapped_are_lower_bounds)
{
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

FRESH_TEST(bounds_hold_up_to_a_wrap)
{
    fake.block.counters[0].bits = 24;
    fake.make = long_ones;
    for (int fast = 0; fast < 2; fast++) {
        set_up(NULL);
        fake.block.counters[0].bits = 24;
        fake.make = long_ones;
        options.clock =
            clock_given(fast ? 80e6 : 79e6, "--freq", 1.2e9); /* with 5 %: 16.8e6 and 16.6e6 of 16.78e6 */
        assert_true(measure());
        assert_int_equal(column()->at_least, fast ? 50 : 0);
    }
}

static void a_third_long(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->after_us = hit->before_us + (number % 3 == 0 ? 200000 : 10);
}

FRESH_TEST(undecided_hits_are_made_up_for)
{
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

FRESH_TEST(making_up_comes_to_an_end)
{
    fake.block.counters[0].bits = 24;
    fake.make = first_one_decided;
    assert_true(measure());
    assert_in_range(summary.hits, 51, 500);
    assert_int_equal(statistics_count(column()->statistics), 1);
}

/* --- how many ------------------------------------------------------------------------------------------- */

FRESH_TEST(never_more_hits_than_wanted)
{
    for (uint64_t wanted = 1; wanted < 8; wanted++) {
        set_up(NULL);
        options.hits = wanted;
        fake.rehit = wanted % 2 ? uneven_cost : fake_cost_11;
        assert_true(measure());
        assert_int_equal(results.n, wanted);
        assert_int_equal(fake.hits, wanted);
    }
}

FRESH_TEST(by_default_a_hundred)
{
    options.hits = 0;
    assert_true(measure());
    assert_int_equal(results.n, 100);
}

FRESH_TEST(by_default_two_seconds_after_the_first)
{
    options.hits = 0;
    fake.hit_us = 100000;
    fake.wait_us = 30000000;
    assert_true(measure());
    assert_in_range(results.n, 20, 22);
}

FRESH_TEST(by_default_also_without_calibration)
{
    options.hits = 0;
    options.calibrate = false;
    assert_true(measure());
    assert_int_equal(results.n, 100);
}

FRESH_TEST(for_a_time_however_many_hits)
{
    options.hits = 0;
    options.for_us = 400000;
    assert_true(measure());
    assert_in_range(results.n, 395, 405); /* of 1 ms each: neither a hundred nor two seconds' worth */
}

FRESH_TEST(for_a_time_at_least_one_hit)
{
    options.hits = 0;
    options.for_us = 1;
    fake.hit_us = 5000000;
    assert_true(measure());
    assert_int_equal(results.n, 1);
    assert_true(column()->calibrated);
}

FRESH_TEST(for_a_time_or_so_many_hits_whichever_comes_first)
{
    options.for_us = 30000;
    assert_true(measure());
    assert_in_range(results.n, 28, 32);
    assert_int_equal(summary.wanted, 50);
    options.for_us = 90000000;
    tear_down(NULL);
    memset(&results, 0, sizeof results);
    assert_true(measure());
    assert_int_equal(results.n, 50);
}

/* The hit that does not occur is awaited no longer than that, and nothing fails. */
FRESH_TEST(for_a_time_a_wait_ends_with_it)
{
    options.hits = 0;
    options.for_us = 20500;
    fake.late_at = 15;
    assert_true(measure());
    assert_int_equal(results.n, 14);
    assert_in_range(fake.requests[fake.calls - 1].start_ms, 15, 20);
    assert_int_equal(fake.requests[fake.calls - 1].timeout_ms, options.timeout_ms); /* a hit may end */
    set_up(NULL);
    options.for_us = 20500;
    fake.late_at = 1;
    assert_false(measure()); /* nothing at all is one */
    assert_int_equal(error.kind, ERROR_START);
}

/* --- an early end --------------------------------------------------------------------------------------- */

/* --- what is before, and when it is precise enough ----------------------------------------------------- */

static void expect_warmup(uint64_t warmup, uint64_t hits)
{
    assert_int_equal(results.n, warmup + hits);
    for (size_t i = 0; i < results.n; i++) {
        assert_int_equal(results.hits[i].number, i + 1);
        assert_int_equal(results.hits[i].warmup, i < warmup);
        assert_int_equal(count_of(i), 1000 + 7 * i);
    }
    assert_int_equal(summary.warmup, warmup);
    assert_int_equal(summary.hits, hits);
    assert_int_equal(statistics_count(column()->statistics), hits);
    assert_int_equal(statistics_min(column()->statistics), 1000 + 7 * warmup);
    assert_int_equal(summary.max_number, warmup + hits);
    assert_true(summary.periods.n < hits); /* nor does the way from one of them to the next */
}

FRESH_TEST(warmup_is_measured_and_not_counted)
{
    static const uint64_t warmups[] = {1, 3, 4, 5, 20};
    for (size_t i = 0; i < sizeof warmups / sizeof *warmups; i++)
        for (int calibrate = 0; calibrate < 2; calibrate++) {
            set_up(NULL);
            options.warmup = warmups[i];
            options.calibrate = calibrate != 0;
            options.hits = i == 0 ? 1 : 10;
            assert_true(measure());
            if (options.calibrate)
                expect_warmup(warmups[i], options.hits);
            assert_int_equal(summary.warmup, warmups[i]);
            assert_int_equal(summary.hits, options.hits);
        }
}

static void taint_the_first(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->tainted = number <= 5;
}

FRESH_TEST(a_tainted_hit_of_the_warmup_counts_nowhere)
{
    fake.make = taint_the_first;
    options.warmup = 4;
    assert_true(measure());
    assert_int_equal(summary.warmup, 4);
    assert_int_equal(summary.hits, 50);
    assert_int_equal(summary.tainted, 1);
    assert_int_equal(results.n, 54);
}

FRESH_TEST(the_time_is_over_but_one_hit_counts)
{
    options.hits = 0;
    options.for_us = 5000;
    options.warmup = 30;
    fake.hit_us = 1000;
    assert_true(measure());
    expect_warmup(30, 1);
}

FRESH_TEST(two_seconds_begin_behind_the_warmup)
{
    options.hits = 0;
    options.warmup = 30;
    fake.hit_us = 100000;
    assert_true(measure());
    expect_warmup(30, 21);
}

FRESH_TEST(a_failure_in_the_warmup_leaves_no_hit)
{
    options.warmup = 10;
    fake.fail_at = 8;
    assert_false(measure());
    assert_int_equal(summary.warmup, 7);
    assert_int_equal(summary.hits, 0);
    assert_int_equal(statistics_count(column()->statistics), 0);
}

/* Equal hits, or such as vary by 5 %. */
static void even(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    (void)engine;
    (void)number;
    hit->from[0] = 500;
    hit->to[0] = 500 + 1000 + 11;
}

static void uneven(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    (void)engine;
    hit->from[0] = 500;
    hit->to[0] = 500 + 900 + number * 7919 % 201 + 11;
}

FRESH_TEST(it_ends_when_the_mean_is_known)
{
    options.hits = 0;
    options.precision = 0.004;
    fake.make = even;
    assert_true(measure());
    assert_int_equal(summary.hits, 100); /* fewer would not show what is rare */
    assert_true(summary.precise == 0 && summary.precision == 0.004 && summary.wanted == 0);
    set_up(NULL);
    options.hits = 0;
    options.precision = 0.004;
    fake.make = uneven;
    assert_true(measure());
    assert_true(summary.hits > 100 && summary.hits < 2000);
    assert_true(summary.precise > 0.002 && summary.precise <= 0.004);
    uint64_t looks = 0;
    while (looks < summary.hits)
        looks = precision_next(looks);
    assert_int_equal(looks, summary.hits); /* it ended where it read */
}

FRESH_TEST(or_after_so_many_hits)
{
    options.hits = 110;
    options.warmup = 3;
    options.precision = 0.004;
    fake.make = uneven;
    assert_true(measure());
    assert_int_equal(summary.hits, 110);
    assert_int_equal(summary.warmup, 3);
    assert_true(summary.precise > 0.004);
}

FRESH_TEST(or_when_the_time_is_over)
{
    options.hits = 0;
    options.for_us = 150000;
    options.precision = 0.0001;
    fake.make = uneven;
    fake.hit_us = 1000;
    assert_true(measure());
    assert_in_range(summary.hits, 149, 151);
    assert_true(summary.precise > 0.0001);
}

static void taint_all(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    fake_growing(engine, number, hit);
    hit->tainted = true;
}

FRESH_TEST(or_if_no_hit_counts)
{
    options.hits = 0;
    options.precision = 0.01;
    fake.make = taint_all;
    assert_true(measure());
    assert_int_equal(summary.hits, 100);
    assert_true(isinf(summary.precise));
}

FRESH_TEST(what_was_measured_before_a_failure_is_there)
{
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

FRESH_TEST(a_summary_can_be_freed_twice)
{
    assert_true(measure());
    summary_free(&summary);
    assert_int_equal(summary.n, 0);
    summary_free(&summary);
}
