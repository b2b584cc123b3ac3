/* From raw readings to counts: what polls, cycles and a slower clock decide, and what stays a bound. */
#include "../test.h"

#include "measure/evaluation.h"

#include <string.h>

static struct reading reading;
static struct overhead overheads[READING_ROOM];
static struct evaluation evaluation;

static struct counter up(uint8_t bits, uint8_t per_cycle)
{
    return (struct counter){.low = {.size = 4}, .bits = bits, .per_cycle = per_cycle};
}

/* SysTick with a reload. */
static struct counter tick(uint64_t reload)
{
    return (struct counter){.low = {.size = 4},
                            .bits = 24,
                            .per_cycle = 1,
                            .down = true,
                            .zero_is_top = true,
                            .modulus = reload + 1};
}

static uint64_t shown(uint64_t count, uint64_t reload)
{
    uint64_t phase = count % (reload + 1);
    return phase == 0 ? 0 : reload + 1 - phase;
}

static int set_up(void **state)
{
    (void)state;
    memset(&reading, 0, sizeof reading);
    memset(overheads, 0, sizeof overheads);
    for (size_t i = 0; i < READING_ROOM; i++)
        overheads[i].known = true;
    evaluation = (struct evaluation){
        .reading = &reading, .overheads = overheads, .counts_cycles = true, .bound_hz = 100e6};
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static void count_with(struct counter counter)
{
    reading.counters[reading.n++] = counter;
    reading.counted = reading.n;
}

FRESH_TEST(a_short_hit_is_exact)
{
    struct widen totals[READING_ROOM];
    count_with(up(32, 1));
    const struct raw_hit hit = {
        .from = {0xFFFFFFF0}, .to = {0x10}, .before_us = 10, .after_us = 20, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 0x20);
    assert_false(totals[0].at_least);
}

FRESH_TEST(what_halts_add_is_removed_from_the_whole)
{
    count_with(up(32, 1));
    overheads[0] = (struct overhead){.known = true, .mean = 12, .low = 10, .high = 15};
    const struct widen exact = {.total = 100}, bound = {.total = 100, .at_least = true};
    assert_int_equal(evaluation_value(&evaluation, 0, &exact, 1).count, 88);
    assert_int_equal(evaluation_value(&evaluation, 0, &exact, 3).count, 64);
    assert_int_equal(evaluation_value(&evaluation, 0, &bound, 1).count, 85); /* what it can be off by, too */
}

/* 24 bits at 100 MHz wrap every 168 ms: polled every 50 ms over ten of those. */
FRESH_TEST(looks_save_what_wraps_between_the_stops)
{
    struct widen totals[READING_ROOM];
    count_with(tick(0xFFFFFF));
    const uint64_t begin = 12345, per_ms = 100000;
    struct raw_hit hit = {.from = {shown(begin, 0xFFFFFF)}, .before_us = 1000, .pairs = 1};
    for (uint64_t ms = 50; ms < 1680; ms += 50) {
        struct raw_poll look = {.values = {shown(begin + ms * per_ms, 0xFFFFFF)},
                                .before_us = 1000 + ms * 1000,
                                .after_us = 1200 + ms * 1000,
                                .first = ms == 50};
        evaluation_poll(&evaluation, &hit, &look);
    }
    hit.to[0] = shown(begin + 1700 * per_ms, 0xFFFFFF);
    hit.after_us = 1000 + 1700 * 1000;
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 1700 * per_ms);
    assert_false(totals[0].at_least);
    /* the next hit knows nothing of those polls; without its own it is a bound */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
}

/* 24 bits at 100 MHz: between the start of one poll and the end of the next there is time for a wrap. */
FRESH_TEST(a_look_that_takes_long_may_hide_a_wrap)
{
    struct widen totals[READING_ROOM];
    count_with(tick(0xFFFFFF));
    struct raw_hit hit = {.from = {shown(0, 0xFFFFFF)}, .before_us = 1000, .pairs = 1};
    for (int slow = 0; slow < 2; slow++) {
        const struct raw_poll look = {.values = {shown(1000, 0xFFFFFF)},
                                      .before_us = 151000,
                                      .after_us = slow ? 201000 : 151010,
                                      .first = true};
        evaluation_poll(&evaluation, &hit, &look);
        hit.to[0] = shown(2000, 0xFFFFFF);
        hit.after_us = 202000;
        evaluation_total(&evaluation, &hit, totals);
        assert_int_equal(totals[0].total, 2000);
        assert_int_equal(totals[0].at_least, slow);
    }
}

FRESH_TEST(eight_bits_are_exact_while_fewer_cycles_went_by)
{
    struct widen totals[READING_ROOM];
    count_with(up(32, 1));
    count_with(up(8, 1));
    struct raw_hit hit = {
        .from = {1000, 250}, .to = {1255, 5}, .before_us = 1, .after_us = 1000000, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[1].total, 11);
    assert_false(totals[1].at_least);
    hit.to[0] = 1000 + 267; /* one wrap more would fit */
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[1].total, 11);
    assert_true(totals[1].at_least);
    /* polls, in which the two are not read at one moment, lose nothing */
    hit.to[0] = 1255;
    const struct raw_poll look = {.values = {1100, 252}, .before_us = 20, .after_us = 900000, .first = true};
    evaluation_poll(&evaluation, &hit, &look);
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[1].total, 11);
    assert_false(totals[1].at_least);
}

/* A clock given ten times slower than it is: counts that fit the counter stay what they are. */
FRESH_TEST(a_clock_that_is_wrong_makes_no_count_doubtful)
{
    struct widen totals[READING_ROOM];
    evaluation.bound_hz = 10e6;
    count_with(up(32, 1));
    const struct raw_hit hit = {.from = {0}, .to = {1000000}, .before_us = 0, .after_us = 10000, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 1000000);
    assert_false(totals[0].at_least);
}

/* Every phase of a start and an end against a program whose handler counts ticks, some of them late. */
FRESH_TEST(a_tick_variable_decides_every_phase)
{
    enum { RELOAD = 39, PERIOD = RELOAD + 1, ICSR_PENDSTSET = 1 << 26 };
    struct widen totals[READING_ROOM];
    count_with(tick(RELOAD));
    reading.counters[1] = up(32, 0);
    reading.counters[2] = up(32, 0);
    reading.n = 3;
    evaluation.evidence =
        (struct wrap_evidence){.kind = EVIDENCE_TICK, .at = 1, .each = 1, .modulus = UINT64_C(1) << 32};
    for (uint64_t begin = 10000; begin < 10000 + 2 * PERIOD; begin++)
        for (uint64_t length = 0; length < UINT64_C(60) * PERIOD; length += 7) {
            uint64_t end = begin + length;
            for (unsigned late = 0; late < 4; late++) { /* a tick is pending when its handler has not run */
                uint64_t a = begin / PERIOD - (late & 1), b = end / PERIOD - (late >> 1);
                if (b < a)
                    continue;
                const struct raw_hit hit = {.from = {shown(begin, RELOAD), a, late & 1 ? ICSR_PENDSTSET : 0},
                                            .to = {shown(end, RELOAD), b, late >> 1 ? ICSR_PENDSTSET : 0},
                                            .before_us = 0,
                                            .after_us = 1000000,
                                            .pairs = 1};
                evaluation_total(&evaluation, &hit, totals);
                assert_int_equal(totals[0].total, length);
                /* It waits, and its handler has not run: there may have been others */
                assert_int_equal(totals[0].at_least, a == b && late >> 1 != 0);
            }
        }
}

/* In its handler nobody knows whether the tick was counted already: a bound, and a true one. */
FRESH_TEST(a_tick_being_counted_is_a_bound)
{
    struct widen totals[READING_ROOM];
    count_with(tick(999));
    reading.counters[1] = up(32, 0);
    reading.counters[2] = up(32, 0);
    reading.n = 3;
    evaluation.evidence =
        (struct wrap_evidence){.kind = EVIDENCE_TICK, .at = 1, .each = 1, .modulus = UINT64_C(1) << 32};
    const struct raw_hit hit = {.from = {shown(5500, 999), 5, 0},
                                .to = {shown(9005, 999), 8, 15}, /* the ninth is being handled */
                                .after_us = 1000000,
                                .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
    assert_int_equal(totals[0].total, 2505);
}

FRESH_TEST(a_timer_decides_unless_it_contradicts)
{
    struct widen totals[READING_ROOM];
    count_with(tick(11999));
    reading.counters[1] = up(64, 0);
    reading.n = 2;
    evaluation.bound_hz = 12.6e6;
    evaluation.evidence =
        (struct wrap_evidence){.kind = EVIDENCE_TIMER, .at = 1, .slow_hz = 12e6, .fast_hz = 12e6};
    struct raw_hit hit = {.from = {shown(100, 11999), 0}, .after_us = 100000, .pairs = 1};
    hit.to[0] = shown(100 + 600000, 11999);
    hit.to[1] = 50000; /* 50 ms at 12 MHz */
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 600000);
    assert_false(totals[0].at_least);
    assert_false(totals[0].contradicted);
    hit.to[1] = 50500; /* half a period more, which no count fits */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least && totals[0].contradicted);
    hit.to[0] = shown(100 + 5000, 11999);
    hit.to[1] = 10; /* it has paused for most of the hit */
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[0].contradicted);
    hit.to[0] = shown(100 + 600000, 11999);
    hit.to[1] = 50000;
    hit.after_us = 20000; /* the host saw less time go by than the target */
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 600000);
    assert_false(totals[0].at_least || totals[0].contradicted);
}

/* A counter of events that was set back. */
FRESH_TEST(more_events_than_the_cycles_have_room_for_are_none)
{
    struct widen totals[READING_ROOM];
    count_with(up(32, 1));
    count_with(up(16, 2));
    struct raw_hit hit = {.to = {733, 1466}, .after_us = 100, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[1].contradicted);
    hit.from[1] = 2000; /* and 757 are left */
    hit.to[1] = 757;
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[1].contradicted && !totals[0].contradicted);
    evaluation.counts_cycles = false;
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[1].contradicted);
}

/* The host was slow, the target was not; and long hits are still polled. */
FRESH_TEST(a_timer_without_a_clock_bounds_what_the_host_saw)
{
    struct widen totals[READING_ROOM];
    count_with(up(24, 1));
    reading.counters[1] = up(64, 0);
    reading.n = 2;
    evaluation.evidence =
        (struct wrap_evidence){.kind = EVIDENCE_TIMER, .at = 1, .wants_clock = true, .fast_hz = 100e6};
    struct raw_hit hit = {.to = {600, 0}, .after_us = 900000, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least); /* it may not run */
    hit.to[1] = 50;
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].total == 600 && !totals[0].at_least);
    const struct raw_hit brief = {.from = {700, 60}, .to = {740, 60}, .after_us = 900000, .pairs = 1};
    evaluation_total(&evaluation, &brief, totals); /* within a microsecond */
    assert_true(totals[0].total == 40 && !totals[0].at_least);
    hit.to[1] = 200000; /* of which 168 ms are a wrap */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].total == 600 && totals[0].at_least);
    struct raw_poll poll = {.values = {1 << 23, 0}, .before_us = 83000, .after_us = 84000, .first = true};
    hit.to[1] = 180000;
    for (int late = 0; late < 2; late++) {
        evaluation_poll(&evaluation, &hit, &poll);
        hit.after_us = late == 0 ? 200000 : 900000;
        evaluation_total(&evaluation, &hit, totals);
        assert_true(totals[0].total == (1 << 24) + 600 && totals[0].at_least == (late > 0));
    }
    evaluation_poll(&evaluation, &hit, &poll);
    hit.to[0] = (1 << 23) + 5;
    hit.to[1] = 90000; /* the last poll was late, and the whole hit is no longer than this */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].total == (1 << 23) + 5 && !totals[0].at_least);
}

/* The time bounds each counter by its own pace, 8 a cycle where that is not known. */
FRESH_TEST(the_time_bounds_each_counter_by_its_pace)
{
    struct widen totals[READING_ROOM];
    evaluation.counts_cycles = false;
    count_with(up(24, 1));
    count_with(up(24, 8));
    count_with(up(24, 0));
    struct raw_hit hit = {.to = {5, 5, 5}, .after_us = 20000}; /* 2e6 cycles, 16e6 of 16.8e6 events */
    evaluation_total(&evaluation, &hit, totals);
    for (size_t i = 0; i < 3; i++)
        assert_true(totals[i].total == 5 && !totals[i].at_least);
    hit.after_us = 21000; /* 16.8e6 */
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[0].at_least);
    assert_true(totals[1].at_least && totals[2].at_least);
    hit.after_us = 168000;
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
}

/* Halts count in the counter, and not in the time that the core ran. */
FRESH_TEST(halts_may_make_a_counter_wrap)
{
    struct widen totals[READING_ROOM];
    count_with(up(8, 1));
    struct raw_hit hit = {.to = {5}, .after_us = 1, .pairs = 0};
    evaluation_total(&evaluation, &hit, totals); /* 100 cycles at most */
    assert_false(totals[0].at_least);
    overheads[0] = (struct overhead){.known = true, .mean = 12, .low = 10, .high = 40};
    hit.pairs = 1; /* 100 and 208 */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
    overheads[0].known = false; /* not measured yet */
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
}

FRESH_TEST(a_look_that_comes_too_late_leaves_a_bound)
{
    struct widen totals[READING_ROOM];
    count_with(up(24, 1));
    struct raw_hit hit = {.from = {0}, .pairs = 1};
    struct raw_poll look = {.values = {100}, .before_us = 100000, .after_us = 100100, .first = true};
    evaluation_poll(&evaluation, &hit, &look);
    look = (struct raw_poll){.values = {200}, .before_us = 300000, .after_us = 300100};
    evaluation_poll(&evaluation, &hit, &look);
    hit.to[0] = 300;
    hit.after_us = 300200;
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least);
    assert_int_equal(totals[0].total, 300);
    /* and the next hit is free of that */
    hit = (struct raw_hit){.from = {300}, .to = {400}, .before_us = 400000, .after_us = 400100, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[0].at_least);
    assert_int_equal(totals[0].total, 100);
}

/* A poll of a hit whose first poll was not seen says nothing of the hit. */
FRESH_TEST(looks_begin_with_the_first)
{
    struct widen totals[READING_ROOM];
    count_with(up(24, 1));
    struct raw_hit hit = {.from = {1000}, .to = {1300}, .after_us = 10, .pairs = 1};
    const struct raw_poll look = {.values = {900}, .before_us = 5, .after_us = 6};
    evaluation_poll(&evaluation, &hit, &look);
    evaluation_total(&evaluation, &hit, totals);
    assert_int_equal(totals[0].total, 300);
    assert_false(totals[0].at_least);
}

/* Cycles that are a bound themselves, or are not counted, pace nothing. */
FRESH_TEST(what_is_not_known_paces_nothing)
{
    struct widen totals[READING_ROOM];
    count_with(up(24, 1));
    count_with(up(8, 1));
    struct raw_hit hit = {.to = {100, 10}, .after_us = 1000000, .pairs = 1};
    evaluation_total(&evaluation, &hit, totals);
    assert_true(totals[0].at_least && totals[1].at_least);
    hit.after_us = 1000;
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[0].at_least || totals[1].at_least);
    evaluation.counts_cycles = false;
    evaluation_total(&evaluation, &hit, totals);
    assert_false(totals[0].at_least);
    assert_true(totals[1].at_least);
}

FRESH_TEST(a_bound_is_never_below_nothing)
{
    count_with(up(32, 1));
    overheads[0] = (struct overhead){.known = true, .mean = 12, .low = 10, .high = 15};
    const struct widen little = {.total = 13, .at_least = true}, none = {.total = 5, .at_least = true};
    assert_int_equal(evaluation_value(&evaluation, 0, &little, 1).count, 0);
    assert_int_equal(evaluation_value(&evaluation, 0, &none, 1).count, 0);
    assert_true(evaluation_value(&evaluation, 0, &none, 1).at_least);
    overheads[0] = (struct overhead){0};
    assert_int_equal(evaluation_value(&evaluation, 0, &little, 1).count, 13);
}
