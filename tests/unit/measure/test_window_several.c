/* Windows over several counters at a time, of any width, each with its rate. */
#include "../test.h"

#include "measure/window.h"

#include <string.h>

enum { COUNTERS = 5 };

/* Counters that run all the time, on a link where each access takes a while. */
static struct fixture {
    struct link link;
    struct counter_block block;
    struct device device;
    struct window window;
    struct deadline deadline;
    struct error error;
    double rates[COUNTERS]; /* counts a microsecond */
    uint64_t now_us, access_us, fail_in;
    uint64_t read_at[COUNTERS], begun[COUNTERS];
} f;

static uint64_t count_of(size_t counter, uint64_t us)
{
    return (uint64_t)((double)us * f.rates[counter]);
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    for (size_t i = 0; i < n; i++) {
        if (steps[i].op == OP_TIME) {
            results[i] = f.now_us;
            continue;
        }
        f.now_us += f.access_us;
        if (f.fail_in > 0 && --f.fail_in == 0) {
            error_set(error, ERROR_FAULT, "refused");
            return (struct outcome){.why = TARGET_FAULT, .done = i};
        }
        size_t which = steps[i].at.offset / 8;
        if (which >= COUNTERS) { /* of what is read with them */
            results[i] = 99;
            continue;
        }
        uint64_t count = count_of(which, f.now_us);
        f.read_at[which] = f.now_us;
        results[i] = steps[i].at.offset % 8 == 0 ? (uint32_t)count : count >> 32;
    }
    return (struct outcome){.why = DONE, .done = n};
}

/* Of 64 bits: in two words. */
static void add_counter(uint8_t bits, uint8_t per_cycle, double rate)
{
    struct reading *reading = &f.device.reading;
    struct counter counter = {
        .low = {.size = 4, .offset = 8 * reading->n}, .bits = bits, .per_cycle = per_cycle};
    if (bits == 64)
        counter.high = (struct address){.size = 4, .offset = 8 * reading->n + 4};
    f.rates[reading->n] = rate;
    assert_true(reading_append(reading, &counter));
    reading->counted = reading->n;
}

static int tear_down(void **state)
{
    (void)state;
    ledger_free(f.device.ledger);
    return 0;
}

static int set_up(void **state)
{
    static const struct link_ops ops = {.execute = execute};
    (void)state;
    memset(&f, 0, sizeof f);
    f.link.ops = &ops;
    f.device.link = &f.link;
    f.device.ledger = ledger_new(&f.link);
    f.device.block = &f.block;
    f.block.counts_cycles = true;
    f.now_us = 1000000;
    f.access_us = 20;
    f.deadline = deadline_in_ms(60000, NULL);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static void begin(double hz)
{
    const struct clock clock = clock_given(hz, "--freq", 1.2e9);
    assert_true(window_begin(&f.window, &f.device, &clock, &f.deadline, &f.error));
    for (size_t i = 0; i < f.device.reading.counted; i++)
        f.begun[i] = count_of(i, f.read_at[i]);
}

static bool sample_after(uint64_t us)
{
    f.now_us += us;
    return window_sample(&f.window, &f.deadline, &f.error);
}

static uint64_t truth(size_t counter)
{
    return count_of(counter, f.read_at[counter]) - f.begun[counter];
}

static void expect_exact(size_t counter)
{
    assert_int_equal(f.window.totals[counter].count, truth(counter));
    assert_int_equal(f.window.totals[counter].missed, 0);
}

FRESH_TEST(all_are_summed_over_their_wraps)
{
    add_counter(32, 1, 100);
    add_counter(32, 8, 180);
    add_counter(24, 1, 3);
    add_counter(64, 1, 90);
    f.now_us = 42940000; /* at 100 MHz 2^32 is near */
    begin(100e6);
    int pace = window_longest_ms(&f.window);
    assert_in_range(pace, 10, 100); /* 24 bits: 168 ms to a wrap */
    for (int i = 0; i < 2000; i++) {
        assert_true(sample_after((uint64_t)pace * 1000));
        for (size_t k = 0; k < 4; k++)
            expect_exact(k);
    }
    assert_true(f.window.totals[0].count > 1ULL << 32 && f.window.totals[3].count > 1ULL << 32);
    assert_int_equal(f.window.lost, 0);
    assert_int_equal(f.window.samples, 2000);
    assert_int_equal(f.window.skew_us, 6 * 20); /* the wide one takes three reads */
}

/* At the pace that the window asks for, no counter is ever in doubt, whatever is known of its rate. */
FRESH_TEST(the_pace_fits_each_counter)
{
    static const struct {
        uint8_t bits, per_cycle;
        double hz;
    } cases[] = {{32, 0, 1e9}, {32, 8, 1e9}, {32, 1, 1e9}, {24, 0, 50e6}, {16, 1, 1e6}, {16, 0, 1e6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tear_down(NULL);
        set_up(NULL);
        f.access_us = 2;
        add_counter(64, 1, cases[i].hz / 1e6);
        add_counter(cases[i].bits, cases[i].per_cycle, cases[i].hz / 1e6);
        begin(cases[i].hz);
        for (int k = 0; k < 50; k++) {
            assert_true(sample_after((uint64_t)window_longest_ms(&f.window) * 1000));
            expect_exact(0);
            expect_exact(1);
        }
    }
}

/* One that wraps faster than any link reads is a bound, and does not keep the others from being exact. */
FRESH_TEST(each_is_judged_by_itself)
{
    add_counter(32, 1, 100);
    add_counter(8, 1, 7);
    add_counter(32, 8, 50);
    begin(100e6);
    assert_true(window_longest_ms(&f.window) > 100);
    for (unsigned i = 1; i <= 20; i++) {
        assert_true(sample_after(100000));
        expect_exact(0);
        expect_exact(2);
        assert_true(f.window.totals[1].count <= truth(1));
        assert_int_equal(f.window.totals[1].missed, i);
        assert_int_equal(f.window.lost, i);
    }
}

/* The second counter may have gone eight times as far as the first. */
FRESH_TEST(a_late_sample_loses_the_fast_ones_first)
{
    add_counter(32, 1, 100);
    add_counter(32, 8, 50);
    begin(100e6);
    assert_true(sample_after(6000000)); /* 8 * 100 MHz * 6 s is more than 2^32; 100 MHz is not */
    expect_exact(0);
    assert_int_equal(f.window.totals[1].missed, 1);
    assert_int_equal(f.window.totals[1].count, truth(1)); /* a bound, and as it happens all */
    assert_int_equal(f.window.lost, 1);
    assert_true(sample_after(50000000)); /* now both */
    assert_int_equal(f.window.totals[0].missed, 1);
    assert_int_equal(f.window.totals[1].missed, 2);
    assert_int_equal(f.window.lost, 2);
    assert_true(f.window.totals[0].count < truth(0));
    assert_true(sample_after(1000));
    assert_int_equal(f.window.lost, 2);
}

/* What is read with the counters is not one. */
FRESH_TEST(what_is_read_beside_them_is_not_summed)
{
    const struct counter beside = {.low = {.size = 4, .offset = UINT64_C(8) * COUNTERS}, .bits = 32};
    add_counter(32, 1, 100);
    assert_true(reading_append(&f.device.reading, &beside));
    begin(100e6);
    assert_true(sample_after(1000));
    expect_exact(0);
    assert_int_equal(f.window.totals[1].count, 0);
    assert_int_equal(f.window.totals[1].missed, 0);
}

FRESH_TEST(a_failure_between_two_counters_adds_to_none)
{
    for (uint64_t fail_in = 1; fail_in <= 3; fail_in++) {
        tear_down(NULL);
        set_up(NULL);
        for (int i = 0; i < 3; i++)
            add_counter(32, 1, 10 + i);
        begin(100e6);
        assert_true(sample_after(1000));
        uint64_t before[3];
        for (size_t i = 0; i < 3; i++)
            before[i] = f.window.totals[i].count;
        f.fail_in = fail_in;
        assert_false(sample_after(1000));
        assert_int_equal(f.window.samples, 1);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(f.window.totals[i].count, before[i]);
        error_clear(&f.error);
        assert_true(sample_after(1000));
        for (size_t i = 0; i < 3; i++)
            expect_exact(i);
    }
}
