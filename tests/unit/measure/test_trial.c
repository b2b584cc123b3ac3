/* A trial of a counter, while the program runs. */
#include "../test.h"

#include "measure/trial.h"
#include "ticking_link.h"

TEST_TIME(NULL, test_no_nap)

static struct fixture {
    struct ticking ticking;
    struct deadline deadline;
    struct error error;
    double seen_hz;
} f;

static void begin(uint8_t bits)
{
    memset(&f, 0, sizeof f);
    ticking_init(&f.ticking, 50e6, bits, 0, false);
    f.deadline = deadline_in_ms(60000, NULL);
}

static bool run(double hz)
{
    const struct clock clock = hz > 0 ? clock_given(hz, "--freq") : clock_unknown();
    return trial_run(&f.ticking.device, &clock, &f.seen_hz, &f.deadline, &f.error);
}

TEST(a_counter_that_nobody_writes_shows_its_rate)
{
    begin(32);
    assert_true(run(50e6));
    assert_true(f.seen_hz > 0 && f.seen_hz <= 51e6);
    device_close(&f.ticking.device);
}

/* It is cleared every 7,001 cycles. */
TEST(a_counter_that_is_cleared_all_the_time_shows_that)
{
    begin(32);
    f.ticking.modulus = 7001;
    assert_false(run(50e6));
    assert_int_equal(f.error.kind, ERROR_WRITTEN);
    error_clear(&f.error);
    assert_false(run(0));
    assert_int_equal(f.error.kind, ERROR_WRITTEN);
    device_close(&f.ticking.device);
}

/* The counter's own reload is no clearing. */
TEST(a_counter_that_reloads_is_sound)
{
    memset(&f, 0, sizeof f);
    ticking_init(&f.ticking, 50e6, 24, 7001, true);
    f.deadline = deadline_in_ms(60000, NULL);
    assert_true(run(50e6));
    device_close(&f.ticking.device);
}

TEST(a_link_that_is_lost_is_not_a_counter_that_is_written)
{
    begin(32);
    f.ticking.trouble = LINK_LOST;
    f.ticking.trouble_at = 3;
    assert_false(run(50e6));
    assert_int_equal(f.error.kind, ERROR_LINK_LOST);
    device_close(&f.ticking.device);
}
