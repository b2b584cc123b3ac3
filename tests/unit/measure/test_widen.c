/* Widening: by named edges, and by 10,000 random runs that an oracle judges. PMU_SEED repeats them. */
#include "../test.h"

#include "measure/widen.h"
#include "widen_world.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct widen_bounds unknown = {.most = UINT64_MAX};
static const struct counter bits_8 = {.bits = 8}, bits_32 = {.bits = 32}, bits_64 = {.bits = 64},
                            bits_64_down = {.bits = 64, .down = true};

static struct counter systick(uint64_t reload)
{
    return (struct counter){.bits = 24, .down = true, .zero_is_top = true, .modulus = reload + 1};
}

static struct widen_bounds span(uint64_t least, uint64_t most)
{
    return (struct widen_bounds){.least = least, .most = most};
}

static void expect(const struct counter *counter, uint64_t from, uint64_t to, struct widen_bounds bounds,
                   uint64_t total, bool at_least)
{
    struct widen widen = {0};
    widen_add(&widen, counter, from, to, bounds);
    assert_true(widen.total == total);
    assert_int_equal(widen.at_least, at_least);
}

static void expect_bounds(struct widen_bounds bounds, uint64_t least, uint64_t most)
{
    assert_true(bounds.least == least);
    assert_true(bounds.most == most);
}

/* --- one step ------------------------------------------------------------------------------------------- */

TEST(zero_of_systick_is_the_top_at_either_end)
{
    const struct counter counter = systick(999);
    const struct widen_bounds one_period = span(0, 999);
    expect(&counter, 0, 999, one_period, 1, false);
    expect(&counter, 1, 0, one_period, 1, false);
    expect(&counter, 999, 0, one_period, 999, false);
    expect(&counter, 0, 1, one_period, 999, false);
    expect(&counter, 0, 0, one_period, 0, false);
    expect(&counter, 0, 0, span(1, 1000), 1000, false);
    expect(&counter, 1, 999, one_period, 2, false);
}

/* The next period may have another length, so that only what is within this one is sure. */
TEST(of_a_reload_that_changes_one_period_counts)
{
    struct counter counter = systick(999);
    counter.reloads = true;
    const uint64_t reload = 999ULL << 32, longer = 9999ULL << 32;
    expect(&counter, reload | 500, reload | 100, span(0, 900), 400, false);
    expect(&counter, longer | 500, longer | 100, span(0, 5000), 400, false);
    expect(&counter, reload | 100, reload | 500, span(0, 1599), 600, false);
    expect(&counter, reload | 100, reload | 500, span(0, 1600), 0, true);
    expect(&counter, reload | 100, reload | 500, span(1600, 1600), 1600, true);
    expect(&counter, reload | 500, longer | 100, span(30, 900), 30, true);
    expect(&counter, reload | 500, reload | 1000, span(30, 900), 30, true);
}

TEST(equal_readings_are_nothing_or_whole_periods)
{
    expect(&bits_32, 77, 77, span(0, UINT32_MAX), 0, false);
    expect(&bits_32, 77, 77, span(0, 1ULL << 32), 0, true);
    expect(&bits_32, 77, 77, span(1, 1ULL << 32), 1ULL << 32, false);
    expect(&bits_32, 77, 77, unknown, 0, true);
}

TEST(all_24_bits_are_a_period)
{
    const struct counter counter = systick(0xFFFFFF);
    expect(&counter, 0, 1, span(0, 0xFFFFFF), 0xFFFFFF, false);
    expect(&counter, 5, 5, span(0x1000000, 0x1000000), 0x1000000, false);
    expect(&counter, 0, 0xFFFFFF, span(0x1000001, 0x1FFFFFF), 0x1000001, false);
    expect(&counter, 0, 0xFFFFFF, span(2, 0x2000000), 0x1000001, false);
    expect(&counter, 0, 0xFFFFFF, span(2, 0x2000001), 0x1000001, true);
}

TEST(a_counter_that_stands_still_needs_the_exact_count)
{
    const struct counter counter = systick(0);
    expect(&counter, 0, 0, unknown, 0, true);
    expect(&counter, 0, 0, span(3, 4), 3, true);
    expect(&counter, 0, 0, span(4, 4), 4, false);
    expect(&counter, 0, 0, span(UINT64_MAX, UINT64_MAX), UINT64_MAX, true);
}

TEST(bits_64_are_exact_whatever_is_said)
{
    const struct widen_bounds said[] = {unknown, span(0, 0), span(50, 40), span(UINT64_MAX, UINT64_MAX)};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        expect(&bits_64, 5, 3, said[i], UINT64_MAX - 1, false);
        expect(&bits_64, 0, UINT64_MAX, said[i], UINT64_MAX, false);
        expect(&bits_64_down, 3, 5, said[i], UINT64_MAX - 1, false);
        expect(&bits_64_down, 9, 9, said[i], 0, false);
    }
}

TEST(a_total_stays_at_the_top)
{
    struct widen widen = {.total = UINT64_MAX - 10};
    widen_add(&widen, &bits_64, 0, 10, unknown);
    assert_true(widen.total == UINT64_MAX && !widen.at_least);
    widen_add(&widen, &bits_64, 0, 0, unknown);
    assert_true(widen.total == UINT64_MAX && !widen.at_least);
    widen_add(&widen, &bits_64, 0, 1, unknown);
    assert_true(widen.total == UINT64_MAX && widen.at_least);
    widen = (struct widen){.total = UINT64_MAX - 10};
    widen_add(&widen, &bits_8, 0, 11, span(0, 255));
    assert_true(widen.total == UINT64_MAX && widen.at_least);
}

TEST(what_was_a_bound_remains_one)
{
    struct widen widen = {0};
    widen_add(&widen, &bits_32, 100, 300, span(0, 1000));
    assert_true(widen.total == 200 && !widen.at_least);
    widen_add(&widen, &bits_32, 300, 350, unknown);
    assert_true(widen.total == 250 && widen.at_least);
    widen_add(&widen, &bits_32, 350, 351, span(1, 1));
    assert_true(widen.total == 251 && widen.at_least);
}

TEST(contradictions_are_at_least)
{
    expect(&bits_8, 0, 10, span(11, 265), 266, true);  /* between two candidates */
    expect(&bits_8, 0, 10, span(0, 9), 10, true);      /* below the first */
    expect(&bits_8, 0, 10, span(300, 200), 522, true); /* no count at all */
    expect(&bits_8, 0, 10, span(5, 0), 10, true);
    expect(&bits_8, 0, 10, span(UINT64_MAX, UINT64_MAX), 10, true);     /* the next does not fit */
    expect(&bits_8, 0, 10, span(UINT64_MAX - 4, UINT64_MAX), 10, true); /* whatever is unknown above */
    expect(&bits_8, 0, 255, span(UINT64_MAX - 4, UINT64_MAX), UINT64_MAX, true);
    const struct counter counter = systick(999);
    expect(&counter, 0, 999, span(UINT64_MAX - 613, UINT64_MAX - 1), 1, true);
    expect(&counter, 0, 999, span(UINT64_MAX - 614, UINT64_MAX - 1), UINT64_MAX - 614, false);
}

TEST(readings_that_cannot_be_say_nothing)
{
    const struct counter counter = systick(99);
    expect(&counter, 100, 50, span(0, 99), 0, true);
    expect(&counter, 50, 100, span(30, 99), 30, true);
    expect(&bits_8, 256, 3, span(0, 99), 0, true);
}

/* --- bounds --------------------------------------------------------------------------------------------- */

TEST(spans_intersect)
{
    struct widen_bounds bounds = unknown;
    widen_by_span(&bounds, 10, 100);
    expect_bounds(bounds, 10, 100);
    widen_by_span(&bounds, 5, 200);
    expect_bounds(bounds, 10, 100);
    widen_by_span(&bounds, 20, 30);
    expect_bounds(bounds, 20, 30);
    widen_by_span(&bounds, 40, 50);
    expect_bounds(bounds, 40, 30);
}

TEST(time_is_rounded_outward)
{
    struct widen_bounds bounds = unknown;
    widen_by_time(&bounds, 2.5, 2.5, 1, 1);
    expect_bounds(bounds, 2, 3);
    bounds = unknown; /* two edges fit a time of one period, when it begins just before the first */
    widen_by_time(&bounds, 1, 1, 1000, 1000);
    expect_bounds(bounds, 999, 1001);
    bounds = unknown;
    widen_by_time(&bounds, 0, 0, 1e6, 1e6);
    expect_bounds(bounds, 0, 1);
    bounds = unknown; /* the product is one of doubles that lie 64 apart */
    widen_by_time(&bounds, 0.1, 0.1, 3e18, 3e18);
    assert_true(bounds.least <= 300000000000000000 - 64 && bounds.most >= 300000000000000000 + 64);
    assert_true(bounds.most - bounds.least < 1000);
    bounds = unknown;
    widen_by_time(&bounds, 1e10, 1e10, 1e10, 1e10); /* beyond 64 bits */
    expect_bounds(bounds, UINT64_MAX, UINT64_MAX);
}

TEST(times_that_are_none_say_nothing)
{
    const double odd[] = {NAN, -NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        struct widen_bounds bounds = span(3, 5000);
        widen_by_time(&bounds, odd[i], odd[i], 1000, 1000);
        widen_by_time(&bounds, 1, 1, odd[i], odd[i]);
        widen_by_time(&bounds, odd[i], odd[i], odd[i], odd[i]);
        expect_bounds(bounds, 3, 5000);
        widen_by_time(&bounds, odd[i], 2.0005, odd[i], 1000);
        expect_bounds(bounds, 3, 2001);
        widen_by_time(&bounds, 1.0005, odd[i], 1000, odd[i]);
        expect_bounds(bounds, 1000, 2001);
    }
    struct widen_bounds bounds = unknown;
    widen_by_time(&bounds, 0, 1, 0, 0); /* a rate of 0 is how an unknown one is written */
    expect_bounds(bounds, 0, UINT64_MAX);
    widen_by_time(&bounds, 1e300, 1e300, 1e300, 1e300);
    expect_bounds(bounds, UINT64_MAX, UINT64_MAX);
}

/* --- any counter, any evidence -------------------------------------------------------------------------- */

enum { SEQUENCES = 10000, LOOKS = 20, ON_FOOT = 4096 };

static uint64_t seed;

struct tally {
    unsigned decided, undecided, edge, on_foot;
    unsigned wrapped; /* of the decided, those whose readings alone would not have decided */
};

/* What the oracle makes of the reads so far. */
struct judgement {
    bool decidable, undecidable; /* neither: it depends on the rounding */
    bool wrapped;
    wide least, most; /* in which the lower bound must lie */
};

static void check(bool ok, const struct world *world, unsigned look, const char *what)
{
    if (!ok)
        fail_msg("PMU_SEED=%" PRIu64 ", sequence %u, read %u, %u bits %s, modulus %" PRIu64 ": %s", seed,
                 world->number, look, world->shape.bits, world->shape.down ? "down" : "up",
                 (uint64_t)(world->shape.modulus - 1) + 1, what);
}

static bool verdict_is(struct verdict a, struct verdict b)
{
    return a.fits == b.fits && a.least == b.least;
}

static void judge(const struct world *world, const struct look *now, unsigned number, struct judgement *all,
                  struct tally *tally)
{
    const struct evidence *e = &now->evidence;
    bool possible = !too_few(e, now->count, STRICT) && !too_many(e, now->count, STRICT);
    check(possible, world, number, "the simulated evidence is not true");
    struct verdict strict = oracle_search(&world->shape, e, now->from, now->to, STRICT);
    struct verdict lax = oracle_search(&world->shape, e, now->from, now->to, LAX);
    if (now->count < ON_FOOT && world->shape.modulus <= ON_FOOT) {
        struct verdict walked = oracle_walk(&world->shape, e, now->from, now->to, STRICT);
        check(verdict_is(strict, walked), world, number, "the oracle disagrees with itself");
        walked = oracle_walk(&world->shape, e, now->from, now->to, LAX);
        check(verdict_is(lax, walked), world, number, "the lax oracle disagrees with itself");
        tally->on_foot++;
    }
    all->decidable = all->decidable && lax.fits == 1;
    all->undecidable = all->undecidable || strict.fits == 2;
    all->wrapped = all->wrapped || now->count >= world->shape.modulus;
    all->least += lax.least;
    all->most += strict.least;
}

static struct widen_bounds bounds_of(const struct look *now)
{
    const struct evidence *e = &now->evidence;
    struct widen_bounds bounds = unknown;
    if (e->spanned)
        widen_by_span(&bounds, e->least, e->most);
    widen_by_time(&bounds, e->shortest_s, e->longest_s, e->slowest_hz, e->fastest_hz);
    return bounds;
}

static void run_sequence(unsigned number, struct tally *tally)
{
    struct world world;
    struct widen widen = {0};
    struct judgement all = {.decidable = true};
    world_begin(&world, seed, number);
    unsigned looks = 1 + (unsigned)world_below(&world, LOOKS);
    for (unsigned i = 1; i <= looks; i++) {
        struct look now = world_look(&world);
        judge(&world, &now, i, &all, tally);
        widen_add(&widen, &world.counter, now.from, now.to, bounds_of(&now));
        check(!all.decidable || !widen.at_least, &world, i, "decidable, but at least");
        check(!all.undecidable || widen.at_least, &world, i, "undecidable, but exact");
        check(widen.at_least || widen.total == world.truth, &world, i, "exact, but wrong");
        check(widen.total <= world.truth, &world, i, "more than the truth");
        check(widen.total >= all.least, &world, i, "less than the least that is possible");
        check(widen.total <= all.most, &world, i, "more than the least that is possible");
    }
    tally->decided += all.decidable;
    tally->undecided += all.undecidable;
    tally->wrapped += all.decidable && all.wrapped;
    tally->edge += !all.decidable && !all.undecidable;
}

TEST(no_sequence_of_looks_is_widened_wrongly)
{
    struct tally tally[WORLD_KINDS] = {0}, sum = {0};
    for (unsigned i = 0; i < SEQUENCES; i++)
        run_sequence(i, &tally[i % WORLD_KINDS]);
    for (unsigned i = 0; i < WORLD_KINDS; i++) {
        sum.decided += tally[i].decided;
        sum.undecided += tally[i].undecided;
        sum.edge += tally[i].edge;
        sum.on_foot += tally[i].on_foot;
        bool open = world_kinds[i].bits < 64;
        bool enough = tally[i].decided >= 100 && tally[i].undecided >= (open ? 100 : 0) &&
                      tally[i].wrapped >= (open ? 50 : 0);
        if (!enough)
            fail_msg("PMU_SEED=%" PRIu64 ", kind %u: %u decidable, %u of them wrapped, %u not", seed, i,
                     tally[i].decided, tally[i].wrapped, tally[i].undecided);
    }
    print_message("%u sequences decidable, %u not, %u by rounding; %u reads judged on foot\n", sum.decided,
                  sum.undecided, sum.edge, sum.on_foot);
    if (sum.decided < SEQUENCES / 4 || sum.undecided < SEQUENCES / 4 || sum.edge > SEQUENCES / 20 ||
        sum.on_foot < SEQUENCES)
        fail_msg("PMU_SEED=%" PRIu64 ": too few of a sort", seed);
}

static int take_seed(void **state)
{
    (void)state;
    seed = test_seed();
    return 0;
}

TEST_GROUP(take_seed, NULL)
