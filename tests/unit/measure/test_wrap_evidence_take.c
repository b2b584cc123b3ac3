/* Taking what is to be read with a counter: a tick variable that must go up, the timer of an RP2040. */
#include "../test.h"

#include "measure/widen.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { PERIOD = 48000, MHZ = 48 };

/* A core whose SysTick and tick variable go on with the time that is slept. */
static struct fixture {
    struct link link;
    struct device device;
    struct wrap_evidence evidence;
    struct deadline deadline;
    struct error error;
    uint64_t now_us, reads;
    double ticks_a_ms, first;
    uint32_t chip_id, dbgpause;
    bool timer_runs;
    uint64_t refuses; /* the address that cannot be read */
    uint64_t lost_at; /* the read at which the link goes; 0: none */
} f;

static const uint64_t VARIABLE = 0x20000100, PENDED = 0x20000104;

static void nap(uint64_t us)
{
    f.now_us += us;
}

TEST_TIME(NULL, nap)

static uint64_t value_at(uint64_t offset)
{
    uint64_t count = f.now_us * MHZ;
    if (offset == 0xE000E018)
        return count % PERIOD == 0 ? 0 : PERIOD - count % PERIOD;
    if (offset == VARIABLE)
        return (uint32_t)(int64_t)(f.first + f.ticks_a_ms * (double)f.now_us / 1000);
    if (offset == 0x40054028)
        return f.timer_runs ? (uint32_t)f.now_us : 5;
    return offset == 0x40000000 ? f.chip_id : offset == 0x4005402C ? f.dbgpause : 0;
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
        assert_int_equal(steps[i].op, OP_READ);
        f.now_us += 100;
        if (++f.reads == f.lost_at) {
            error_set(error, ERROR_LINK_LOST, "gone");
            return (struct outcome){.why = LINK_LOST, .done = i};
        }
        if (f.refuses != 0 && steps[i].at.offset == f.refuses) {
            error_set(error, ERROR_FAULT, "refused");
            return (struct outcome){.why = TARGET_FAULT, .done = i};
        }
        results[i] = value_at(steps[i].at.offset);
    }
    return (struct outcome){.why = DONE, .done = n};
}

static int tear_down(void **state)
{
    (void)state;
    ledger_free(f.device.ledger);
    f.device.ledger = NULL;
    return 0;
}

static int set_up(void **state)
{
    static const struct link_ops ops = {.execute = execute};
    tear_down(state);
    memset(&f, 0, sizeof f);
    f.link.ops = &ops;
    f.device.link = &f.link;
    f.device.ledger = ledger_new(&f.link);
    static struct device_core core;
    core = (struct device_core){0};
    f.device.chosen = &core;
    f.device.chosen->core.memory_unit = 3;
    const struct counter systick = {.low = {.size = 4, .unit = 3, .offset = 0xE000E018},
                                    .bits = 24,
                                    .down = true,
                                    .zero_is_top = true,
                                    .modulus = PERIOD};
    f.device.reading.counted = 1;
    f.now_us = 1000000;
    f.ticks_a_ms = 1;
    f.chip_id = 0x20002927; /* RP2040 B2 */
    f.dbgpause = 7;
    f.deadline = deadline_in_ms(60000, NULL);
    return !reading_append(&f.device.reading, &systick);
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static struct address word(uint64_t offset, uint8_t size)
{
    return (struct address){.space = SPACE_MEMORY, .size = size, .unit = 3, .offset = offset};
}

static bool take_tick(struct wrap_evidence_tick tick)
{
    return wrap_evidence_take_tick(&f.evidence, &f.device, &tick, &f.error);
}

FRESH_TEST(the_variable_is_read_behind_the_counters)
{
    assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 2), .each = 10}));
    const struct reading *reading = &f.device.reading;
    assert_int_equal(reading->n, 3);
    assert_int_equal(reading->counted, 1);
    assert_int_equal(f.evidence.kind, EVIDENCE_TICK);
    assert_int_equal(f.evidence.at, 1);
    assert_int_equal(f.evidence.each, 10);
    assert_int_equal(f.evidence.modulus, 0x10000);
    assert_false(f.evidence.has_pended);
    assert_int_equal(reading->counters[1].low.offset, VARIABLE);
    assert_int_equal(reading->counters[1].bits, 16);
    assert_int_equal(reading->counters[2].low.offset, 0xE000ED04);
    assert_int_equal(reading->counters[2].low.unit, 3);
}

FRESH_TEST(ticks_put_by_are_read_too)
{
    assert_true(
        take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .pended = word(PENDED, 4)}));
    assert_int_equal(f.device.reading.n, 4);
    assert_true(f.evidence.has_pended);
    assert_int_equal(f.evidence.each, 1); /* not given */
    assert_int_equal(f.device.reading.counters[3].low.offset, PENDED);
}

FRESH_TEST(a_full_reading_takes_none)
{
    while (f.device.reading.n < READING_ROOM - 1)
        assert_true(reading_append(&f.device.reading, &f.device.reading.counters[0]));
    assert_false(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4)}));
    assert_int_equal(f.error.kind, ERROR_SYSTEM);
}

static bool check(double bound_hz)
{
    const struct clock clock = {.bound_hz = bound_hz};
    return wrap_evidence_check(&f.evidence, &f.device, &clock, &f.deadline, &f.error);
}

FRESH_TEST(a_variable_that_keeps_pace_is_believed)
{
    static const double firsts[] = {0, 0x7FFFFFFF, 4294967290.0 - 1000}; /* over its sign, and its end */
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        set_up(NULL);
        f.first = firsts[i];
        assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .each = 1}));
        assert_true(check(MHZ * 1e6));
        assert_int_equal(f.error.kind, ERROR_NONE);
    }
}

/* One tick in several calls of the handler is late, but counts. */
FRESH_TEST(a_slow_one_is_waited_for)
{
    f.ticks_a_ms = 0.005;
    assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .each = 1}));
    assert_true(check(MHZ * 1e6));
}

FRESH_TEST(what_is_no_tick_variable_is_refused)
{
    static const double rates[] = {0, 3, -1}; /* it does not move, goes too fast, goes down */
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        set_up(NULL);
        f.first = 5000;
        f.ticks_a_ms = rates[i];
        assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .each = 1}));
        assert_false(check(MHZ * 1e6));
        assert_int_equal(f.error.kind, ERROR_USAGE);
        assert_non_null(strstr(f.error.text, "tick variable"));
    }
}

/* uwTick that goes up by 10 each 10 ms. */
FRESH_TEST(what_goes_up_by_more_a_tick_is_measured_by_that)
{
    f.ticks_a_ms = 10;
    assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .each = 10}));
    assert_true(check(MHZ * 1e6));
    f.ticks_a_ms = 40;
    assert_false(check(MHZ * 1e6));
}

FRESH_TEST(a_link_that_goes_is_told)
{
    for (uint64_t at = 1; at <= 6; at++) {
        set_up(NULL);
        assert_true(take_tick((struct wrap_evidence_tick){.variable = word(VARIABLE, 4), .each = 1}));
        f.lost_at = at;
        assert_false(check(MHZ * 1e6));
        assert_int_equal(f.error.kind, ERROR_LINK_LOST);
    }
}

/* --- the timer ------------------------------------------------------------------------------------------ */

static enum wrap_evidence_kind take_timer(struct clock clock)
{
    size_t before = f.device.reading.n;
    assert_true(wrap_evidence_take_timer(&f.evidence, &f.device, &clock, &f.deadline, &f.error));
    assert_int_equal(f.error.kind, ERROR_NONE);
    assert_int_equal(f.device.reading.n, before + (f.evidence.kind == EVIDENCE_TIMER));
    return f.evidence.kind;
}

FRESH_TEST(the_timer_is_one_wide_counter)
{
    struct clock proved = clock_given(125e6, "--freq", 1.2e9);
    proved.fit = CLOCK_FITS;
    assert_int_equal(take_timer(proved), EVIDENCE_TIMER);
    const struct counter *timer = &f.device.reading.counters[1];
    assert_int_equal(timer->bits, 64);
    assert_int_equal(timer->low.offset, 0x40054028);
    assert_int_equal(timer->high.offset, 0x40054024);
    assert_int_equal(f.evidence.at, 1);
    assert_true(f.evidence.slow_hz == 125e6 && f.evidence.fast_hz == 125e6 && !f.evidence.claimed);
    assert_false(f.evidence.runs);
    f.timer_runs = true;
    assert_int_equal(take_timer(clock_given(125e6, "--freq", 1.2e9)), EVIDENCE_TIMER);
    assert_true(f.evidence.runs);
}

/* A wrong clock must not choose the number of wraps: of 9,069 cycles, 13 MHz makes 9,837 of a period of 256.
 */
FRESH_TEST(a_clock_that_is_only_claimed_does_not_choose_between_totals)
{
    const uint64_t from[] = {0, 0, 0}, to[] = {0, 755, 755}; /* us */
    struct counter counter = {.bits = 24, .modulus = 256, .down = true, .zero_is_top = true};
    struct widen_bounds bounds = {.most = UINT64_MAX};
    f.timer_runs = true;
    assert_int_equal(take_timer(clock_given(13e6, "--freq", 1.2e9)), EVIDENCE_TIMER);
    assert_true(f.evidence.claimed);
    wrap_evidence_narrow(&f.evidence, &counter, from, to, 0, &bounds);
    assert_true(bounds.least == 0 && bounds.most == UINT64_MAX);
    assert_int_equal(take_timer(clock_given(12.4e6, "--freq", 1.2e9)), EVIDENCE_TIMER);
    counter.modulus = 12000; /* here it cannot */
    wrap_evidence_narrow(&f.evidence, &counter, from, to, 0, &bounds);
    assert_true(bounds.least <= 9069 && bounds.most >= 9069 && bounds.most - bounds.least < 12000);
}

/* 24 samples of a counter of 12 MHz, each within that many us; not one after the other at one distance. */
static enum clock_fit fit_of(uint64_t modulus, uint64_t within_us, double claimed)
{
    const struct counter counter = {.bits = 24, .modulus = modulus};
    struct timer_look looks[24];
    uint64_t us = 1000;
    for (size_t i = 0; i < 24; i++) {
        us += 1300 + 97 * (i % 7) + 13 * i;
        looks[i] = (struct timer_look){
            .before_us = us, .count = (us + within_us / 2) * 12 % modulus, .after_us = us + within_us};
    }
    return wrap_evidence_fit(&counter, looks, 24, claimed);
}

FRESH_TEST(the_timer_proves_a_claimed_clock_or_refutes_it)
{
    static const uint64_t periods[] = {4096, 11999, 12000, 100000, 0x1000000};
    static const double wrong[] = {4e6, 11.9e6, 12.2e6, 13e6, 24e6, 125e6};
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        assert_int_equal(fit_of(periods[i], 30, 12e6), CLOCK_FITS);
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            if (fit_of(periods[i], 30, wrong[k]) == CLOCK_FITS)
                fail_msg("%g fits a period of %u", wrong[k], (unsigned)periods[i]);
    }
    assert_int_equal(fit_of(12000, 30, 13e6), CLOCK_MISFITS);
    assert_int_equal(fit_of(256, 30, 12e6), CLOCK_UNPROVED);
    assert_int_equal(fit_of(256, 30, 13e6), CLOCK_UNPROVED);
    assert_int_equal(fit_of(12000, 5000, 13e6), CLOCK_UNPROVED); /* an OpenOCD that reads one by one */
    assert_int_equal(fit_of(12000, 5000, 12e6), CLOCK_UNPROVED);
    assert_int_equal(fit_of(256, 1, 12e6), CLOCK_FITS);
    assert_int_equal(fit_of(256, 1, 13e6), CLOCK_MISFITS);
}

FRESH_TEST(only_a_timer_that_is_known_to_fit_is_taken)
{
    f.chip_id = 0x10004927; /* an RP2350: other addresses */
    assert_int_equal(take_timer(clock_given(150e6, "--freq", 1.2e9)), EVIDENCE_NONE);
    f.chip_id = 0x20002927;
    static const uint32_t pauses[] = {0, 1, 2, 4}; /* it goes on while one of the cores is halted */
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        f.dbgpause = pauses[i];
        assert_int_equal(take_timer(clock_given(125e6, "--freq", 1.2e9)), EVIDENCE_NONE);
    }
    f.dbgpause = 6;
    static const uint64_t refused[] = {0x40000000, 0x4005402C};
    for (size_t i = 0; i < 2; i++) {
        f.refuses = refused[i];
        assert_int_equal(take_timer(clock_given(125e6, "--freq", 1.2e9)), EVIDENCE_NONE);
    }
    f.refuses = 0;
    assert_int_equal(take_timer(clock_given(125e6, "--freq", 1.2e9)), EVIDENCE_TIMER);
    assert_true(check(125e6)); /* there is no variable to read */
}

FRESH_TEST(without_an_exact_clock_the_timer_gives_an_upper_bound)
{
    static const uint64_t from[] = {0, 100}, to[] = {0, 150}; /* us, give or take two */
    struct clock measured = clock_given(125e6, "measured", 1.2e9);
    measured.error_hz = 1000;
    const struct clock clocks[] = {measured, clock_unknown(1.2e9)};
    for (size_t i = 0; i < 2; i++) {
        struct widen_bounds bounds = {.most = UINT64_MAX};
        set_up(NULL);
        assert_int_equal(take_timer(clocks[i]), EVIDENCE_TIMER);
        assert_true(f.evidence.wants_clock);
        wrap_evidence_see(&f.evidence, from);
        wrap_evidence_narrow(&f.evidence, &f.device.reading.counters[0], from, from, 0, &bounds);
        assert_int_equal(bounds.most, UINT64_MAX); /* it may not run: no program has started its tick */
        wrap_evidence_see(&f.evidence, to);
        wrap_evidence_narrow(&f.evidence, &f.device.reading.counters[0], from, to, 0, &bounds);
        assert_int_equal(bounds.least, 0);
        assert_int_equal(bounds.most, ceil(52 * clocks[i].bound_hz / 1e6));
    }
}

/* Any phase of the timer's microsecond against any phase of the counter, and ends at any distance. */
FRESH_TEST(the_timer_tells_every_wrap)
{
    enum { CYCLES = 12, MODULUS = 200 }; /* a microsecond; 17 of those to a wrap */
    const struct counter counter = {
        .bits = 24, .per_cycle = 1, .down = true, .zero_is_top = true, .modulus = MODULUS};
    const struct wrap_evidence evidence = {
        .kind = EVIDENCE_TIMER, .at = 1, .slow_hz = 12e6, .fast_hz = 12e6, .runs = true};
    for (uint64_t a = 1000; a < 1000 + CYCLES * 4; a++)
        for (uint64_t length = 0; length < UINT64_C(20) * MODULUS; length++) {
            uint64_t b = a + length;
            const uint64_t from[] = {a % MODULUS == 0 ? 0 : MODULUS - a % MODULUS, a / CYCLES};
            const uint64_t to[] = {b % MODULUS == 0 ? 0 : MODULUS - b % MODULUS, b / CYCLES};
            struct widen_bounds bounds = {.most = UINT64_MAX};
            struct widen widen = {0};
            wrap_evidence_narrow(&evidence, &counter, from, to, 0, &bounds);
            widen_add(&widen, &counter, from[0], to[0], bounds);
            assert_false(widen.at_least);
            assert_int_equal(widen.total, length);
        }
}
