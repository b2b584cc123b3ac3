#include "../test.h"
#include "cores/architectures.h"

#include "measure/result.h"
#include "ticking_link.h"

#include <time.h>

static struct ticking ticking;
static struct device_core core = {.core.ops = &cortex_m_ops};
static struct deadline deadline;
static struct error error;
static uint64_t oversleep_us; /* the host may wake up later than it wanted */

/* While the tool sleeps, the link's clock goes on. */
static void nap(uint64_t us)
{
    ticking_pass(&ticking, us + oversleep_us);
}

TEST_TIME(NULL, nap)

static int tear_down(void **state)
{
    (void)state;
    device_close(&ticking.device);
    return 0;
}

#define TIDY_TEST(name) TEST_WITH(name, NULL, tear_down)

static void begin(double hz, uint8_t bits, uint64_t modulus, bool down)
{
    device_close(&ticking.device);
    ticking_init(&ticking, hz, bits, modulus, down);
    ticking.device.chosen = &core;
    deadline = deadline_in_ms(60000, NULL);
    error_clear(&error);
    oversleep_us = 0;
}

static struct clock measure(int ms)
{
    struct clock clock;
    assert_true(clock_measure(&ticking.device, ms, &clock, &deadline, &error));
    return clock;
}

TIDY_TEST(given_clocks_have_no_error_and_a_little_tolerance)
{
    struct clock clock = clock_given(48e6, "--freq", 1.2e9);
    assert_true(clock.hz == 48e6 && clock.error_hz == 0);
    assert_true(clock.bound_hz > 48e6 && clock.bound_hz < 1.1 * 48e6);
    assert_string_equal(clock.source, "--freq");
    clock = clock_unknown(1.2e9);
    assert_true(clock.hz == 0 && clock.bound_hz >= 1e9);
    assert_string_equal(clock.source, "");
}

/* What N samples, 2.5 ms apart and each within 0.1 ms, show of a counter of this rate. */
static struct clock_seen looks_at(double hz, unsigned n)
{
    struct clock_look looks[CLOCK_LOOKS];
    for (unsigned i = 0; i < n; i++) {
        uint64_t ns = UINT64_C(2500000) * i;
        looks[i] = (struct clock_look){
            .count = (uint64_t)((double)ns * hz / 1e9), .before_ns = ns, .after_ns = ns + 100000};
    }
    return clock_seen_of(looks, n, false);
}

/* Whether it is believed: NULL, or why not. */
static const char *doubt_of(double claimed, struct clock_seen seen, bool may_sleep)
{
    static struct clock clock;
    clock = clock_given(claimed, "SystemCoreClock", 1.2e9);
    clock.may_sleep = may_sleep;
    clock_check(&clock, &seen);
    assert_true((clock.hz == 0) == (clock.doubt[0] != '\0'));
    assert_true(clock.hz == claimed || (clock.bound_hz == clock.fastest_hz && clock.source[0] == '\0'));
    return clock.hz == 0 ? clock.doubt : NULL;
}

TIDY_TEST(a_claimed_clock_is_compared_to_the_error_of_the_looks)
{
    struct clock_seen seen = looks_at(12e6, 24);
    assert_true(seen.even && seen.low_hz <= 12e6 && 12e6 <= seen.high_hz &&
                seen.high_hz < 1.01 * seen.low_hz);
    assert_string_equal(doubt_of(168e6, seen, false),
                        "no times: the clock is wrong: 168 MHz by SystemCoreClock, "
                        "and the core's counter of cycles goes on at 12 MHz");
    static const double wrong[] = {4e6, 8e6, 11.5e6, 12.5e6, 18e6, 1e9}, right[] = {11.8e6, 12e6, 12.2e6};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_non_null(doubt_of(wrong[i], seen, false));
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_null(doubt_of(right[i], seen, false));
    struct clock measured = {.hz = 4e6, .error_hz = 1e3};
    clock_check(&measured, &seen);
    assert_true(measured.hz == 4e6);
    assert_null(doubt_of(4e6, looks_at(12e6, 1), false)); /* nothing was seen */
}

TIDY_TEST(a_core_that_may_have_slept_is_not_called_slow)
{
    struct clock_seen seen = looks_at(12e6, 24);
    assert_null(doubt_of(13e6, seen, true)); /* 8 % of the time asleep, and no sample found it so */
    struct clock clock = clock_given(18e6, "--freq", 1.2e9);
    clock.may_sleep = true;
    assert_false(clock_is_odd(&clock, &seen));
    assert_non_null(doubt_of(18e6, seen, true));
    clock = clock_given(14e6, "--freq", 1.2e9);
    clock.may_sleep = true;
    assert_true(clock_is_odd(&clock, &seen)); /* more samples decide */
    assert_non_null(doubt_of(14e6, looks_at(12e6, CLOCK_LOOKS), true));
    seen.stopped = true;
    assert_null(doubt_of(168e6, seen, false));
    assert_non_null(doubt_of(8e6, seen, true)); /* nothing makes it faster */
}

TIDY_TEST(late_looks_widen_what_is_known)
{
    static const uint64_t late_ms[] = {0, 3, 40, 7, 0, 500, 1, 90};
    struct clock_look looks[8];
    for (unsigned i = 0; i < 8; i++) { /* the read itself is anywhere in between */
        uint64_t ns = UINT64_C(700000000) * i, late = 1000000 * late_ms[i], at = i % 2 ? late : 0;
        looks[i] =
            (struct clock_look){.count = (ns + at) * 12 / 1000, .before_ns = ns, .after_ns = ns + late};
    }
    struct clock_seen seen = clock_seen_of(looks, 8, false);
    assert_true(seen.even && seen.low_hz <= 12e6 && seen.high_hz >= 12e6);
    assert_null(doubt_of(12e6, seen, false));
    seen = clock_seen_of(looks, 8, true);
    assert_true(seen.even && seen.low_hz <= 12e6 && seen.high_hz >= 12e6);
}

TIDY_TEST(a_counter_that_jumps_is_no_clock)
{
    struct clock_look looks[3] = {{0, 0, 1000}, {30000, 2500000, 2501000}, {120000, 5000000, 5001000}};
    struct clock_seen seen = clock_seen_of(looks, 3, false);
    assert_false(seen.even);
    assert_null(doubt_of(20e6, seen, false));
    assert_null(doubt_of(60e6, seen, false));
    assert_non_null(doubt_of(4e6, seen, false)); /* more than twice */
}

/* The true rate lies within the error, whatever the counter and its value. */
TIDY_TEST(the_truth_lies_within_the_error)
{
    static const double rates[] = {12e6, 48e6, 133e6, 600e6};
    for (size_t i = 0; i < 4; i++)
        for (uint64_t offset = 0; offset < 400; offset += 7) {
            begin(rates[i], i % 2 ? 24 : 32, i % 2 ? 0x1000000 : 0, i % 2);
            ticking_pass(&ticking, 1000 * offset);
            struct clock clock = measure(60);
            assert_string_equal(clock.source, "measured");
            assert_true(clock.hz - clock.error_hz <= rates[i] * 1.000001);
            assert_true(clock.hz + clock.error_hz >= rates[i] * 0.999999);
            assert_true(clock.error_hz > 0 && clock.error_hz < 0.1 * rates[i]);
            assert_true(clock.bound_hz >= 1e9); /* what was measured now does not bound what follows */
        }
}

TIDY_TEST(a_counter_that_may_wrap_meanwhile_says_nothing)
{
    begin(48e6, 24, 1000, true); /* wraps within a microsecond at the fastest */
    struct clock clock = measure(60);
    assert_true(clock.hz == 0);
    assert_string_equal(clock.source, "");
    assert_int_equal(ticking.accesses, 0);
    begin(48e6, 24, 0x1000000, true);
    oversleep_us = 20000; /* the host was busy: a wrap cannot be ruled out */
    clock = measure(60);
    assert_true(clock.hz == 0);
    assert_string_equal(clock.source, "");
}

TIDY_TEST(a_slow_link_says_nothing_rather_than_nonsense)
{
    begin(48e6, 32, 0, false);
    ticking.early_us = 100000; /* each time may be off by more than the pause */
    struct clock clock = measure(60);
    assert_true(clock.hz == 0);
    assert_string_equal(clock.source, "");
}

/* A core that sleeps with its counter stopped. */
TIDY_TEST(a_counter_that_stands_still_is_no_clock)
{
    begin(0, 32, 0, false);
    struct clock clock = measure(60);
    assert_true(clock.hz == 0);
    assert_string_equal(clock.source, "");
}

TIDY_TEST(a_slice_is_gone_on_from)
{
    for (long k = 0; k < 2; k++) {
        begin(48e6, 32, 0, false);
        ticking.trouble = NOT_YET;
        ticking.trouble_at = k;
        struct clock clock = measure(60);
        assert_true(clock.hz - clock.error_hz <= 48e6 * 1.000001 &&
                    clock.hz + clock.error_hz >= 48e6 * 0.999999);
    }
}

TIDY_TEST(trouble_is_told)
{
    static const enum why troubles[] = {LINK_LOST, TARGET_FAULT};
    static const enum error_kind kinds[] = {ERROR_LINK_LOST, ERROR_FAULT};
    for (long i = 0; i < 4; i++) {
        struct clock clock;
        begin(48e6, 32, 0, false);
        ticking.trouble = troubles[i % 2];
        ticking.trouble_at = i / 2;
        assert_false(clock_measure(&ticking.device, 60, &clock, &deadline, &error));
        assert_int_equal(error.kind, kinds[i % 2]);
        assert_true(clock.hz == 0);
    }
}
