/*
 * A tick variable next to SysTick, against a simulation in which a debugger halts at every cycle: whatever is
 * taken for exact is the truth, and what can be known is.
 */
#include "../test.h"

#include "measure/evaluation.h"
#include "tick_world.h"

#include <string.h>

enum { CVR, VARIABLE, STATUS, PENDED };

static struct tick_moment moments[TICK_CYCLES];

/* Of an instance of evidence: ticks_judge says so of a program that may hold its handler off for too long */
static bool may_lose;

struct tally {
    unsigned pairs, exact, bounds, wrapped; /* wrapped: of the exact, those with more than a period */
};

static void run(struct tick_world world)
{
    world.cvr = 0;
    world.variable = world.first;
    for (uint64_t cycle = 0; cycle < TICK_CYCLES; cycle++)
        moments[cycle] = tick_pass(&world, cycle);
}

static struct counter systick(uint32_t period)
{
    return (struct counter){.bits = 24, .per_cycle = 1, .down = true, .zero_is_top = true, .modulus = period};
}

static struct wrap_evidence wrap_evidence_of(const struct tick_world *world)
{
    return (struct wrap_evidence){.kind = EVIDENCE_TICK,
                                  .at = VARIABLE,
                                  .has_pended = world->suspended_every != 0,
                                  .may_lose = may_lose,
                                  .each = world->each,
                                  .modulus = world->bits == 64 ? UINT64_MAX : 1ULL << world->bits};
}

static void take(const struct tick_moment *moment, uint64_t *values)
{
    values[CVR] = moment->cvr;
    values[VARIABLE] = moment->variable;
    values[STATUS] = moment->status;
    values[PENDED] = moment->pended;
}

/* The time says that at most `slack` more went by than did. */
static struct widen between(const struct tick_world *world, size_t a, size_t b, uint64_t slack)
{
    const struct counter counter = systick(world->period);
    const struct reading reading = {.counters = {counter}, .n = 4, .counted = 1};
    const struct overhead overhead = {.known = true};
    struct evaluation evaluation = {.reading = &reading,
                                    .overheads = &overhead,
                                    .counts_cycles = true,
                                    .bound_hz = 1e6,
                                    .evidence = wrap_evidence_of(world)};
    struct raw_hit hit = {.after_us = b - a + slack};
    struct widen total;
    take(&moments[a], hit.from);
    take(&moments[b], hit.to);
    evaluation_total(&evaluation, &hit, &total);
    return total;
}

/* A tick that waits where the handler did not run may be one of several: interrupts may be off all the time.
 */
static bool may_be_masked(const struct tick_moment *from, const struct tick_moment *to)
{
    return from->variable == to->variable && (to->status >> 26 & 1) != 0;
}

static bool is_calm(const struct tick_moment *moment)
{
    return (moment->status & 0x1FF) == 0;
}

/* From every cycle to every later one. Pairs of places in threads must be exact. */
static struct tally try_all(struct tick_world world, uint64_t slack)
{
    struct test_sweep sweep =
        test_sweep(1, 10, "late %u, %u bits, above %u", world.late, world.bits, world.above_every);
    struct tally tally = {0};
    run(world);
    for (size_t a = 100; a < 100 + 3 * world.period; a++)
        for (size_t b = a; b < TICK_CYCLES; b++) {
            if (!test_takes(&sweep, (long)(a * TICK_CYCLES + b)))
                continue;
            struct widen total = between(&world, a, b, slack);
            if (total.at_least ? total.total > b - a : total.total != b - a)
                fail_msg("from %zu to %zu: %s%u", a, b, total.at_least ? "at least " : "",
                         (unsigned)total.total);
            if (!may_lose && total.at_least && is_calm(&moments[a]) && is_calm(&moments[b]) &&
                !may_be_masked(&moments[a], &moments[b]))
                fail_msg("from %zu to %zu: at least %u", a, b, (unsigned)total.total);
            tally.pairs++;
            tally.exact += !total.at_least;
            tally.bounds += total.at_least;
            tally.wrapped += !total.at_least && b - a > world.period;
        }
    return tally;
}

static const struct tick_world plain = {
    .period = 40, .late = 4, .length = 9, .each = 1, .bits = 32, .first = 7, .tells_base = true};

TEST(every_phase_of_tick_and_handler)
{
    for (uint32_t late = 0; late < 9; late++) {
        struct tick_world world = plain;
        world.late = late;
        struct tally tally = try_all(world, 100000);
        assert_true(tally.wrapped > tally.pairs / 2);
        assert_true(tally.bounds > 0); /* ends inside of the handler */
    }
}

TEST(interrupts_that_are_off_for_a_while)
{
    struct tick_world world = plain;
    world.masked_every = 53;
    world.masked_for = 20;
    struct tally tally = try_all(world, 100000);
    assert_true(tally.wrapped > tally.pairs / 2);
}

/* Only one tick can be pending: DDI 0403 B3.2.4, ICSR.PENDSTSET. */
TEST(ticks_that_are_lost_are_a_lower_bound)
{
    for (int above = 0; above < 2; above++) {
        struct tick_world world = plain;
        *(above ? &world.above_every : &world.masked_every) = 331;
        *(above ? &world.above_for : &world.masked_for) = 170;
        may_lose = true;
        struct tally tally = try_all(world, 100000), tight = try_all(world, 5);
        may_lose = false;
        assert_true(tally.bounds == tally.pairs);
        assert_true(tight.exact > 0); /* as the time leaves one total */
    }
}

/* Interrupts that are off from before the start on, and the code changes no mask: the ticks themselves show
 * it. */
TEST(interrupts_that_are_off_all_the_time)
{
    struct tick_world world = plain;
    unsigned bounds = 0;
    world.masked_every = 700;
    world.masked_for = 300;
    run(world);
    for (size_t a = 402; a < 700; a++)
        for (size_t b = a; b < 700; b++) {
            struct widen total = between(&world, a, b, 100000);
            if (total.at_least ? total.total > b - a : total.total != b - a)
                fail_msg("from %zu to %zu: %s%u", a, b, total.at_least ? "at least " : "",
                         (unsigned)total.total);
            bounds += total.at_least;
        }
    assert_true(bounds > 1000);
}

/* What is above SysTick may have interrupted a handler that has not counted yet. */
TEST(handlers_above_the_tick)
{
    for (int tells = 0; tells < 2; tells++) {
        struct tick_world world = plain;
        world.above_every = 47;
        world.above_for = 15;
        world.tells_base = tells;
        struct tally tally = try_all(world, 100000);
        assert_true(tally.wrapped > tally.pairs / 6); /* neither end is in one */
    }
}

/* With a bound on the time that leaves out a period more or less, the handler is clear. */
TEST(the_time_settles_what_a_handler_leaves_open)
{
    struct tally loose = try_all(plain, 100000), tight = try_all(plain, 5);
    assert_true(tight.bounds < loose.bounds);
}

TEST(variables_of_any_width_wrap)
{
    static const struct {
        unsigned bits;
        uint32_t each;
        uint64_t first;
    } cases[] = {{8, 1, 250},         {8, 5, 250},          {16, 1, 0xFFF0},       {16, 10, 0xFFF0},
                 {32, 1, 0xFFFFFFF0}, {32, 10, 0xFFFFFFF7}, {32, 100, 0xFFFFFFF7}, {64, 1, UINT64_MAX - 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tick_world world = plain;
        world.bits = cases[i].bits;
        world.each = cases[i].each;
        world.first = cases[i].first;
        /* 8 bits are around after 51 ticks of 5: the time must leave that out */
        struct tally tally = try_all(world, cases[i].bits == 8 ? 400 : 100000);
        assert_true(tally.wrapped > tally.pairs / 2);
    }
}

/* 8 bits, 64 a tick: four ticks read as none. */
TEST(a_variable_that_goes_around_is_not_believed)
{
    struct tick_world world = plain;
    unsigned exact = 0;
    world.bits = 8;
    world.each = 64;
    run(world);
    for (size_t a = 100; a < 220; a++)
        for (size_t b = a; b < TICK_CYCLES; b++) {
            struct widen total = between(&world, a, b, 100000);
            assert_true(total.at_least && total.total <= b - a);
            total = between(&world, a, b, 30);
            assert_true(total.at_least ? total.total <= b - a : total.total == b - a);
            if (b - a < 120 && is_calm(&moments[a]) && is_calm(&moments[b]))
                assert_false(total.at_least);
            exact += !total.at_least;
        }
    assert_true(exact > 120 * 50);
}

TEST(ticks_that_are_put_by_are_counted)
{
    struct tick_world world = plain;
    world.suspended_every = 300;
    world.suspended_for = 190;
    run(world);
    uint64_t most = 0;
    for (size_t i = 0; i < TICK_CYCLES; i++)
        most = moments[i].pended > most ? moments[i].pended : most;
    assert_true(most > 3);
    struct tally tally = try_all(world, 100000);
    assert_true(tally.wrapped > tally.pairs / 2);
}

/* --- readings by hand ----------------------------------------------------------------------------------- */

static const uint64_t PENDING = 1 << 26, BASE = 1 << 11, LOOSE = 1000000;

static struct widen_bounds narrowed(const uint64_t *from, const uint64_t *to, uint64_t most)
{
    const struct counter counter = systick(1000);
    struct widen_bounds bounds = {.most = most};
    wrap_evidence_narrow(
        &(struct wrap_evidence){.kind = EVIDENCE_TICK, .at = 1, .each = 1, .modulus = 1ULL << 32}, &counter,
        from, to, 0, &bounds);
    return bounds;
}

static void expect(const uint64_t *from, const uint64_t *to, uint64_t least, uint64_t most)
{
    struct widen_bounds bounds = narrowed(from, to, 1000000);
    assert_int_equal(bounds.least, least);
    assert_int_equal(bounds.most, most);
}

TEST(zero_is_after_the_tick)
{
    expect((uint64_t[]){5, 70, 0}, (uint64_t[]){0, 70, PENDING}, 5, LOOSE); /* it never ran */
    expect((uint64_t[]){0, 70, PENDING}, (uint64_t[]){999, 71, 0}, 1, 1);
    expect((uint64_t[]){0, 70, PENDING}, (uint64_t[]){0, 71, PENDING}, 1000, 1000);
    expect((uint64_t[]){0, 70, PENDING}, (uint64_t[]){0, 71, 0}, 0, 0);
    expect((uint64_t[]){1, 70, 0}, (uint64_t[]){999, 71, 0}, 2, 2);
}

TEST(a_handler_may_have_counted_or_not)
{
    expect((uint64_t[]){500, 70, 0}, (uint64_t[]){400, 73, 15 | BASE}, 3100, 4100);
    expect((uint64_t[]){500, 70, 15 | BASE}, (uint64_t[]){400, 73, 0}, 2100,
           LOOSE); /* it may be what is measured */
    expect((uint64_t[]){500, 70, 15 | BASE}, (uint64_t[]){400, 70, 0}, 100, LOOSE);
    expect((uint64_t[]){500, 70, 14 | BASE}, (uint64_t[]){400, 73, 16 | BASE}, 3100, LOOSE);
    expect((uint64_t[]){500, 70, 0}, (uint64_t[]){400, 73, 16}, 3100, LOOSE);
    expect((uint64_t[]){995, 70, 0}, (uint64_t[]){990, 70, 15 | BASE}, 5, 1005);
}

TEST(contradictions_are_no_evidence)
{
    static const uint64_t pairs[][2][3] = {{{5, 70, 0}, {999, 70, 0}}, /* it passed 0 without a tick */
                                           {{999, 70, 0}, {5, 69, 0}}, /* the variable was set back */
                                           {{999, 70, 1 << 26}, {5, 70, 0}}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint64_t elapsed = i == 0 ? 6 : 994;
        struct widen_bounds bounds = narrowed(pairs[i][0], pairs[i][1], i == 1 ? UINT64_MAX : 1000000);
        if (i == 1) { /* or 2^32 ticks went by: then no total is too high */
            assert_true(bounds.least > 4000000000000 && bounds.least % 1000 == elapsed);
            continue;
        }
        assert_true(bounds.least > bounds.most);
    }
}

TEST(ticks_without_proof_bound_nothing)
{
    const struct counter counter = systick(1000);
    struct wrap_evidence evidence = {.kind = EVIDENCE_TICK, .at = 1, .each = 1, .modulus = 1ULL << 32};
    static const uint64_t from[] = {500, 70, 0}, to[] = {400, 73, 0}, before[] = {5, 70, 0},
                          after[] = {999, 70, 0};
    assert_false(wrap_evidence_is_refuted(&evidence, &counter, from, to));
    assert_true(wrap_evidence_is_refuted(&evidence, &counter, before, after));
    for (int i = 0; i < 2; i++) {
        struct widen_bounds bounds = {.most = 1000000};
        evidence.refuted = i == 0;
        evidence.unproved = i == 1;
        wrap_evidence_narrow(&evidence, &counter, from, to, 0, &bounds);
        assert_true(bounds.least == 0 && bounds.most == 1000000);
        assert_false(wrap_evidence_is_refuted(&evidence, &counter, before, after));
    }
}

TEST(absurd_values_overflow_nothing)
{
    static const uint64_t odd[] = {0, 1, INT64_MAX - 1ULL, INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};
    enum { ODD = sizeof odd / sizeof *odd };
    const struct counter counter = systick(1000);
    const struct wrap_evidence evidence = {
        .kind = EVIDENCE_TICK, .at = 1, .each = 1, .modulus = UINT64_MAX, .has_pended = true};
    for (size_t i = 0; i < (size_t)ODD * ODD * ODD; i++) {
        const uint64_t from[] = {5, odd[i % ODD], 15, 0};
        const uint64_t to[] = {7, odd[i / ODD % ODD], 15, odd[i / ODD / ODD]};
        struct widen_bounds bounds = {.most = UINT64_MAX};
        wrap_evidence_narrow(&evidence, &counter, from, to, 0, &bounds);
        assert_true(bounds.least == 1 || bounds.least == 0 || bounds.least % 1000 == 998);
    }
}
