#include "../test.h"

#include "measure/window.h"
#include "ticking_link.h"

static struct fixture {
    struct ticking ticking;
    struct window window;
    struct deadline deadline;
    struct error error;
    uint64_t begun; /* the counter's true count at the first reading */
} f;

static int tear_down(void **state)
{
    (void)state;
    device_close(&f.ticking.device);
    return 0;
}

#define TIDY_TEST(name) TEST_WITH(name, NULL, tear_down)

static void begin(double hz, uint8_t bits, uint64_t modulus, bool down, struct clock clock)
{
    device_close(&f.ticking.device);
    memset(&f, 0, sizeof f);
    ticking_init(&f.ticking, hz, bits, modulus, down);
    f.deadline = deadline_in_ms(60000, NULL);
    uint64_t first_us = f.ticking.now_us + f.ticking.access_us / 2;
    f.begun = (uint64_t)((double)first_us * hz / 1e6);
    assert_true(window_begin(&f.window, &f.ticking.device, &clock, &f.deadline, &f.error));
}

static bool sample(void)
{
    return window_sample(&f.window, &f.deadline, &f.error);
}

/* What went by on the counter up to the last reading. */
static uint64_t truth(void)
{
    uint64_t read_us = f.ticking.now_us - (f.ticking.access_us - f.ticking.access_us / 2);
    return (uint64_t)((double)read_us * f.ticking.hz / 1e6) - f.begun;
}

TIDY_TEST(every_wrap_is_counted)
{
    static const struct {
        uint8_t bits;
        uint64_t modulus;
        bool down;
    } counters[] = {{32, 0, false}, {24, 0x1000000, true}, {24, 1000000, true}, {16, 0, false}};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        begin(50e6, counters[i].bits, counters[i].modulus, counters[i].down,
              clock_given(50e6, "--freq", 1.2e9));
        int pace = window_longest_ms(&f.window);
        assert_true(pace >= 1 && pace <= 1000);
        if (counters[i].bits == 16) { /* wraps every 1.3 ms */
            f.ticking.access_us = 20;
            f.ticking.early_us = 5;
        }
        for (int k = 0; k < 200; k++) {
            ticking_pass(&f.ticking, (uint64_t)pace * (counters[i].bits == 16 ? 900 : 1000));
            assert_true(sample());
            assert_int_equal(f.window.totals[0].count, truth());
            assert_int_equal(f.window.totals[0].missed, 0);
        }
        assert_int_equal(f.window.samples, 200);
        assert_true(f.window.totals[0].count / f.ticking.modulus > 5 || counters[i].bits == 32);
    }
}

/* A sample so late that a wrap may have been missed makes the total a lower bound, for good. */
TIDY_TEST(a_wrap_that_may_be_missed_is_told)
{
    begin(50e6, 24, 0x1000000, true, clock_given(50e6, "--freq", 1.2e9));
    /* 0.336 s to a wrap, 0.320 s if the clock is 5 % fast; but 0.330 s more than a wrap cannot be */
    ticking_pass(&f.ticking, 330000);
    assert_true(sample());
    assert_int_equal(f.window.totals[0].missed, 0);
    assert_int_equal(f.window.totals[0].count, truth());
    ticking_pass(&f.ticking, 337000); /* a wrap and 1 ms, or just 1 ms: nobody can know */
    assert_true(sample());
    assert_true(f.window.totals[0].missed > 0);
    assert_int_equal(f.window.totals[0].count, truth() - f.ticking.modulus);
    ticking_pass(&f.ticking, 1000000);
    assert_true(sample());
    assert_int_equal(f.window.totals[0].count, truth() - 3 * f.ticking.modulus);
    ticking_pass(&f.ticking, 100000);
    assert_true(sample());
    assert_true(f.window.totals[0].missed > 0);
}

/* Samples that cost a halt are as far apart as wraps allow, and how long they take is the program's loss. */
TIDY_TEST(looks_that_halt_are_few)
{
    begin(10e6, 32, 0, false, clock_given(10e6, "--freq", 1.2e9));
    assert_int_equal(window_longest_ms(&f.window), 1000);
    f.window.halts = true;
    f.window.skew_us = 0;
    int pace = window_longest_ms(&f.window);
    assert_in_range(pace, 10000, 60000);
    uint64_t each_us = 0;
    for (uint64_t k = 1; k <= 20; k++) {
        ticking_pass(&f.ticking, (uint64_t)pace * 1000);
        assert_true(sample());
        assert_int_equal(f.window.totals[0].count, truth());
        each_us = k == 1 ? f.window.halted_us : each_us;
        assert_int_equal(f.window.halted_us, k * each_us);
    }
    assert_int_equal(f.window.totals[0].missed, 0);
    assert_int_equal(f.window.skew_us, 0);
    assert_true(each_us > 0);
}

TIDY_TEST(an_unknown_clock_is_taken_to_be_the_fastest)
{
    begin(50e6, 24, 0x1000000, true, clock_unknown(1.2e9));
    ticking_pass(&f.ticking, 13000); /* 2^24 at 1.2 GHz: 13.98 ms */
    assert_true(sample());
    assert_int_equal(f.window.totals[0].missed, 0);
    ticking_pass(&f.ticking, 15000);
    assert_true(sample());
    assert_true(f.window.totals[0].missed > 0);
}

/* The host stalls in the middle of a sample: the time until the answer counts. */
TIDY_TEST(a_slow_reading_counts_as_late)
{
    begin(50e6, 24, 0x1000000, true, clock_given(50e6, "--freq", 1.2e9));
    f.ticking.access_us = 1000000;
    assert_true(sample());
    assert_true(f.window.totals[0].missed > 0);
    /* The counter may have been read as soon as it was asked for: the next sample counts from there. */
    begin(50e6, 24, 0x1000000, true, clock_given(50e6, "--freq", 1.2e9));
    f.ticking.access_us = 100000;
    assert_true(sample());
    assert_int_equal(f.window.totals[0].missed, 0);
    f.ticking.access_us = 200;
    ticking_pass(&f.ticking, 300000);
    assert_true(sample());
    assert_true(f.window.totals[0].missed > 0);
}

TIDY_TEST(the_pace_fits_the_counter)
{
    begin(48e6, 24, 0x1000000, true, clock_given(48e6, "--freq", 1.2e9));
    assert_in_range(window_longest_ms(&f.window), 50, 160);
    begin(48e6, 32, 0, false, clock_given(48e6, "--freq", 1.2e9));
    assert_int_equal(window_longest_ms(&f.window), 1000);
    begin(48e6, 24, 60000, true, clock_given(48e6, "--freq", 1.2e9));
    assert_int_equal(window_longest_ms(&f.window), 1);
    begin(48e6, 24, 1000, true, clock_given(48e6, "--freq", 1.2e9)); /* no link reads that often */
    assert_int_equal(window_longest_ms(&f.window), 1000);
}

TIDY_TEST(a_slice_is_gone_on_from)
{
    begin(50e6, 32, 0, false, clock_given(50e6, "--freq", 1.2e9));
    f.ticking.trouble = NOT_YET;
    f.ticking.trouble_at = f.ticking.accesses;
    ticking_pass(&f.ticking, 1000);
    assert_true(sample());
    assert_int_equal(f.window.totals[0].count, truth());
}

TIDY_TEST(trouble_is_told_and_adds_nothing)
{
    static const enum why troubles[] = {LINK_LOST, TARGET_FAULT};
    static const enum error_kind kinds[] = {ERROR_LINK_LOST, ERROR_FAULT};
    for (size_t i = 0; i < 2; i++) {
        begin(50e6, 32, 0, false, clock_given(50e6, "--freq", 1.2e9));
        ticking_pass(&f.ticking, 1000);
        assert_true(sample());
        uint64_t total = f.window.totals[0].count;
        f.ticking.trouble = troubles[i];
        f.ticking.trouble_at = f.ticking.accesses;
        ticking_pass(&f.ticking, 1000);
        assert_false(sample());
        assert_int_equal(f.error.kind, kinds[i]);
        assert_int_equal(f.window.totals[0].count, total);
        error_clear(&f.error);
        assert_true(sample()); /* and nothing is lost when it works again */
        assert_int_equal(f.window.totals[0].count, truth());
    }
}
