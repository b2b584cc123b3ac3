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

TIDY_TEST(a_claimed_clock_that_the_counter_outruns_is_not_believed)
{
    struct clock clock = clock_given(4e6, "SystemCoreClock", 1.2e9);
    clock_check(&clock, 5e6);
    assert_true(clock.hz == 4e6 && clock.doubt[0] == '\0');
    clock_check(&clock, 9.6e6);
    assert_true(clock.hz == 0 && clock.bound_hz == clock.fastest_hz && clock.source[0] == '\0');
    assert_string_equal(
        clock.doubt, "no times: the clock is 4 MHz by SystemCoreClock, and the core runs at 9.6 MHz or more");
    clock = (struct clock){.hz = 4e6, .error_hz = 1e3}; /* measured */
    clock_check(&clock, 9.6e6);
    assert_true(clock.hz == 4e6);
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
