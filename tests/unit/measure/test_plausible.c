/* What a counter can have counted, and what it cannot. */
#include "../test.h"

#include "measure/plausible.h"
#include "ticking_link.h"

#include <stdio.h>
#include <string.h>

static struct reading reading;
static struct error error;

static struct plausible begin(uint8_t bits, double hz, double seen_hz)
{
    struct clock clock = hz > 0 ? clock_given(hz, "--freq", 1.2e9) : clock_unknown(1.2e9);
    reading = (struct reading){
        .counters = {{.name = "CPU_CYCLES", .low = {.size = 4}, .bits = bits, .per_cycle = 1}},
        .n = 1,
        .counted = 1};
    error_clear(&error);
    return plausible_begin(&reading, true, &clock, seen_hz);
}

static bool span(const struct plausible *plausible, uint64_t from, uint64_t to, uint64_t us)
{
    error_clear(&error);
    bool ok = plausible_span(plausible, &from, &to, us, 0, &error);
    assert_int_equal(error.kind, ok ? ERROR_NONE : ERROR_WRITTEN);
    return ok;
}

TEST(an_a_core_may_be_faster_than_any_cortex_m)
{
    const struct clock m = clock_unknown(1.2e9), a = clock_unknown(5e9);
    begin(32, 0, 0);
    const struct plausible of_m = plausible_begin(&reading, true, &m, 0),
                           of_a = plausible_begin(&reading, true, &a, 0);
    assert_true(span(&of_a, 0, 1800000000, 1000000));
    assert_false(span(&of_m, 0, 1800000000, 1000000));
}

TEST(more_than_the_time_allows_cannot_be)
{
    const struct plausible plausible = begin(32, 12e6, 0);
    assert_true(span(&plausible, 0xFFFFFFF0, 12000, 1000)); /* over the top, in a millisecond */
    assert_false(span(&plausible, 12000, 0, 1000));
    assert_non_null(strstr(error.text, "something else writes the counter of CPU_CYCLES"));
    /* A core that runs four times faster than given is the user's mistake, and not that */
    assert_true(span(&plausible, 0, 288000, 1000));
    assert_false(span(&plausible, 0, 310000, 1000));
}

TEST(a_core_that_was_seen_to_be_faster_than_is_said_is)
{
    const struct plausible plausible = begin(32, 12e6, 480e6);
    assert_true(span(&plausible, 0, 480000, 1000));
    assert_false(span(&plausible, 480000, 0, 1000));
}

TEST(without_a_clock_no_core_is_beyond_what_cores_can)
{
    const struct plausible plausible = begin(24, 0, 1000); /* seen while it slept */
    assert_true(span(&plausible, 0, 1000000, 1000));
    assert_false(span(&plausible, 1000, 0, 5000)); /* 16.7 million in 5 ms */
    assert_true(span(&plausible, 1000, 0, 100000));
}

static struct raw_hit hit_of(uint64_t from, uint64_t to, uint64_t before_us, uint64_t after_us)
{
    return (struct raw_hit){
        .from = {from}, .to = {to}, .before_us = before_us, .after_us = after_us, .pairs = 1};
}

TEST(what_is_counted_between_two_hits_counts_too)
{
    struct plausible plausible = begin(32, 12e6, 0);
    const struct raw_hit first = hit_of(1000, 2000, 5000, 5100), second = hit_of(3000, 4000, 6000, 6100),
                         cleared = hit_of(100, 1100, 7000, 7100);
    assert_true(plausible_hit(&plausible, &first, &error));
    assert_true(plausible_hit(&plausible, &second, &error));
    assert_false(plausible_hit(&plausible, &cleared, &error));
    assert_int_equal(error.kind, ERROR_WRITTEN);
}

TEST(a_counter_that_stands_was_switched_off)
{
    struct plausible plausible = begin(32, 12e6, 0);
    const struct raw_hit stands = hit_of(1000, 1000, 5000, 5100), longer = hit_of(7, 7, 5000, 900000000);
    assert_false(plausible_hit(&plausible, &stands, &error));
    assert_non_null(strstr(error.text, "did not move"));
    error_clear(&error);
    assert_true(plausible_hit(&plausible, &longer, &error)); /* it may have wrapped */
    struct plausible events = begin(32, 12e6, 0);
    events.counts_cycles = false;
    assert_true(plausible_hit(&events, &stands, &error));
}

/* A hit executes at least one instruction; it may have no other event. */
TEST(a_count_of_no_instruction_is_none)
{
    static const struct {
        const char *name;
        uint8_t bits;
        uint64_t to, us;
        bool passes;
    } cases[] = {{"INST_RETIRED", 32, 7, 100, false},
                 {"INST_RETIRED", 32, 8, 100, true},
                 {"LD_RETIRED", 32, 7, 100, true},
                 {"INST_RETIRED", 16, 7, 100, false},
                 {"INST_RETIRED", 16, 7, 1000, true}}; /* 48,000 cycles of 8 */
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct plausible plausible = begin(32, 12e6, 0);
        struct raw_hit hit = hit_of(1000, 1100, 5000, 5000 + cases[i].us);
        reading.counters[1] = (struct counter){.low = {.size = 4}, .bits = cases[i].bits, .per_cycle = 8};
        snprintf(reading.counters[1].name, sizeof reading.counters[1].name, "%s", cases[i].name);
        reading.n = reading.counted = 2;
        hit.from[1] = 7;
        hit.to[1] = cases[i].to;
        assert_int_equal(plausible_hit(&plausible, &hit, &error), cases[i].passes);
        if (!cases[i].passes)
            assert_non_null(strstr(error.text, "INST_RETIRED did not move in a hit: something else"));
        error_clear(&error);
        reading.may_hide_events = true;
        plausible.has_last = false;
        assert_int_equal(plausible_hit(&plausible, &hit, &error), cases[i].passes);
        if (!cases[i].passes)
            assert_non_null(strstr(error.text, "MDCR_EL3.SPME"));
    }
}

TEST(a_counter_that_stands_from_hit_to_hit_was_switched_off)
{
    const struct raw_hit hit = hit_of(100, 200, 5000, 5100), stands = {.from = {200}, .to = {200}},
                         goes_on = {.from = {201}, .to = {202}};
    struct plausible plausible = begin(24, 12e6, 0);
    assert_true(plausible_rehit(&plausible, &stands, 9000, &error)); /* there was no hit yet */
    assert_true(plausible_hit(&plausible, &hit, &error));
    assert_true(plausible_rehit(&plausible, &goes_on, 9000, &error));
    assert_false(plausible_rehit(&plausible, &stands, 9000, &error));
    assert_int_equal(error.kind, ERROR_WRITTEN);
    assert_non_null(strstr(error.text, "did not move from one hit to the next"));
    error_clear(&error);
    plausible.counts_cycles = false;
    assert_true(plausible_rehit(&plausible, &stands, 9000, &error));
    struct plausible narrow = begin(8, 12e6, 0);
    assert_true(plausible_hit(&narrow, &hit, &error));
    assert_true(plausible_rehit(&narrow, &stands, 9000, &error)); /* it may have wrapped */
}

/* ---- a trial, while the program runs */

TEST_TIME(NULL, test_no_nap)

static struct fixture {
    struct ticking ticking;
    struct deadline deadline;
    struct error error;
    double seen_hz;
} f;

static void begin_trial(uint8_t bits)
{
    memset(&f, 0, sizeof f);
    ticking_init(&f.ticking, 50e6, bits, 0, false);
    f.deadline = deadline_in_ms(60000, NULL);
}

static bool run_trial(double hz)
{
    struct clock clock = hz > 0 ? clock_given(hz, "--freq", 1.2e9) : clock_unknown(1.2e9);
    return plausible_trial(&f.ticking.device, &clock, &f.seen_hz, &f.deadline, &f.error);
}

TEST(a_counter_that_nobody_writes_shows_its_rate)
{
    begin_trial(32);
    assert_true(run_trial(50e6));
    assert_true(f.seen_hz > 0 && f.seen_hz <= 51e6);
    device_close(&f.ticking.device);
}

/* It is cleared every 7,001 cycles. */
TEST(a_counter_that_is_cleared_all_the_time_shows_that)
{
    begin_trial(32);
    f.ticking.modulus = 7001;
    assert_false(run_trial(50e6));
    assert_int_equal(f.error.kind, ERROR_WRITTEN);
    error_clear(&f.error);
    assert_false(run_trial(0));
    assert_int_equal(f.error.kind, ERROR_WRITTEN);
    device_close(&f.ticking.device);
}

/* Seven times as fast as claimed, all the time: the claim is wrong, not the program. */
TEST(a_claimed_clock_far_below_the_counter_is_not_believed)
{
    struct clock clock = clock_given(7e6, "SystemCoreClock", 1.2e9);
    begin_trial(32);
    f.ticking.device.block->counts_cycles = true;
    assert_true(plausible_trial(&f.ticking.device, &clock, &f.seen_hz, &f.deadline, &f.error));
    assert_true(clock.hz == 0 && strstr(clock.doubt, "the clock is wrong: 7 MHz by SystemCoreClock") != NULL);
    assert_true(f.seen_hz > 14e6);
    device_close(&f.ticking.device);
}

static void bounds_are(struct clock clock, struct clock_seen seen, double low, double high)
{
    seen.looks = 24;
    clock_check(&clock, &seen);
    assert_float_equal(clock.low_hz, low, 1);
    assert_float_equal(clock.high_hz, high, 1);
}

/* By the samples, and within the error of what is claimed. */
TEST(a_clock_has_bounds_if_it_ran_evenly)
{
    const struct clock claimed = clock_given(100e6, "--freq", 1.2e9), none = clock_unknown(1.2e9);
    struct clock measured = none;
    measured.hz = 50e6;
    measured.error_hz = 1e6;
    bounds_are(claimed, (struct clock_seen){.low_hz = 99e6, .high_hz = 103e6, .even = true}, 99e6, 102e6);
    bounds_are(claimed, (struct clock_seen){.low_hz = 99e6, .high_hz = 103e6}, 0, 0);
    bounds_are(claimed, (struct clock_seen){.low_hz = 99e6, .high_hz = 103e6, .even = true, .stopped = true},
               0, 0);
    bounds_are(claimed, (struct clock_seen){.low_hz = 49e6, .high_hz = 51e6, .even = true}, 0, 0);
    bounds_are(claimed, (struct clock_seen){.low_hz = 149e6, .high_hz = 151e6, .even = true}, 0, 0);
    bounds_are(claimed, (struct clock_seen){.looks = 0}, 0, 0);
    bounds_are(measured, (struct clock_seen){.low_hz = 45e6, .high_hz = 50.5e6, .even = true}, 49e6, 50.5e6);
    bounds_are(none, (struct clock_seen){.low_hz = 45e6, .high_hz = 50.5e6, .even = true}, 0, 0);
}

/* The counter's reload does not clear it. */
TEST(a_counter_that_reloads_is_sound)
{
    memset(&f, 0, sizeof f);
    ticking_init(&f.ticking, 50e6, 24, 7001, true);
    f.deadline = deadline_in_ms(60000, NULL);
    assert_true(run_trial(50e6));
    device_close(&f.ticking.device);
}

TEST(a_link_that_is_lost_is_not_a_counter_that_is_written)
{
    begin_trial(32);
    f.ticking.trouble = LINK_LOST;
    f.ticking.trouble_at = 3;
    assert_false(run_trial(50e6));
    assert_int_equal(f.error.kind, ERROR_LINK_LOST);
    device_close(&f.ticking.device);
}
