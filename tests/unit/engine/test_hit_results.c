/*
 * Hit results: a hit without a check for resets is held until a later hit, or the engine, has checked.
 */
#include "../test.h"

#include "cores/architectures.h"
#include "engine/hit_plan.h"

enum { ROOM = 1024, HITS = 8, DFSR = 0xE000ED30, VCATCH = 1 << 3 };

static struct core core;
static struct breakpoints breakpoints;
static struct reading reading;
static struct step items[ROOM];
static uint64_t results[ROOM];
static struct steps list;
static struct hit_results hits;
static struct engine_request request;
static uint64_t got[HITS];
static size_t n_got, n_looks, enough_after;

static bool on_hit(void *context, const struct raw_hit *hit)
{
    (void)context;
    assert_true(n_got < HITS);
    got[n_got++] = hit->to[0] - hit->from[0];
    return enough_after == 0 || n_got < enough_after;
}

static void on_poll(void *context, const struct raw_hit *hit, const struct raw_poll *look)
{
    (void)context;
    (void)hit;
    (void)look;
    n_looks++;
}

static void set_up(void)
{
    static const uint64_t m4[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = 0x410FC241, [CORTEX_M_FP_CTRL] = 0x260};
    static const struct engine_sink sink = {.hit = on_hit, .poll = on_poll};
    memset(&breakpoints, 0, sizeof breakpoints);
    memset(results, 0, sizeof results);
    list = (struct steps){.items = items, .room = ROOM};
    reading = (struct reading){.n = 1, .counted = 1};
    reading.counters[0] = (struct counter){.low = {.size = 4, .offset = 0xE0001004}, .bits = 32};
    n_got = n_looks = enough_after = 0;
    request = (struct engine_request){.hits = HITS};
    assert_true(cortex_m_identify(0, m4, &core));
    breakpoints.core = &core;
    breakpoints.comparator_held = true;
    static const struct witness nothing;
    hit_results_init(&hits, &core, &reading, &nothing);
    hit_results_begin(&hits, &request, &sink);
    hit_results_expect_none(&hits);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

/* A hit of `cycles`, from the counter's present value; the index of its check for a reset, SIZE_MAX: none. */
static size_t add(uint64_t cycles, bool reset_later)
{
    struct hit_plan plan = {.core = &core,
                            .breakpoints = &breakpoints,
                            .reading = &reading,
                            .start = 0x1000,
                            .end = 0x1100,
                            .reset_later = reset_later};
    struct hit_steps *hit_steps = hit_results_expect(&hits, 1, plan.end);
    size_t first = list.n;
    assert_non_null(hit_steps);
    hit_plan_add(&plan, SEGMENT_AT_START, &list, hit_steps);
    results[hit_steps->reading_at[0][0]] = 1000 * first;
    results[hit_steps->reading_at[1][0]] = 1000 * first + cycles;
    size_t looks = 0;
    for (size_t i = first; i < list.n; i++)
        looks += items[i].op == OP_READ && items[i].at.offset == DFSR;
    assert_int_equal(looks, reset_later ? 0 : 1);
    return hit_steps->reset_at;
}

static void assert_got(size_t n)
{
    assert_int_equal(n_got, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(got[i], 100 + i);
}

FRESH_TEST(hits_wait_for_a_look_and_come_in_order)
{
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(add(100 + i, true), SIZE_MAX);
    hit_results_take(&hits, results, list.n);
    assert_got(0);
    assert_int_equal(hits.n_held, 3);
    assert_true(add(103, false) < list.n);
    hit_results_take(&hits, results, list.n - 1); /* not in whole yet */
    assert_got(0);
    hit_results_take(&hits, results, list.n);
    assert_got(4);
    assert_int_equal(hits.n_held, 0);
    assert_int_equal(hits.hits, 4);
    assert_false(hits.enough);
}

FRESH_TEST(a_reset_takes_all_that_is_held)
{
    size_t first = add(100, false);
    (void)add(101, true);
    (void)add(102, true);
    results[add(103, false)] = VCATCH;
    (void)add(104, true);
    (void)add(105, false); /* what follows a reset is another program's */
    assert_int_equal(results[first], 0);
    hit_results_take(&hits, results, list.n);
    assert_got(1);
    assert_true(hits.was_reset);
    hit_results_release(&hits, false);
    assert_got(1);
}

/* What it counted by was changed at some time since the check before. */
FRESH_TEST(a_change_of_the_settings_takes_all_that_is_held)
{
    static const struct witness enable = {
        .items = {{.at = {.size = 4, .offset = 0xE0001000}, .mask = 1, .value = 1, .name = "DWT_CTRL"}},
        .n = 1};
    hits.witness = &enable;
    (void)add(100, true);
    (void)add(101, true);
    (void)add(102, false); /* DWT_CTRL reads as zero */
    hit_results_take(&hits, results, list.n);
    assert_got(0);
    assert_ptr_equal(hits.changed, &enable.items[0]);
    assert_int_equal(hits.n_held, 0);
    hit_results_release(&hits, false);
    assert_got(0);
}

FRESH_TEST(the_engine_may_have_looked)
{
    (void)add(100, true);
    (void)add(101, true);
    hit_results_take(&hits, results, list.n);
    hit_results_release(&hits, false);
    assert_got(2);
    assert_int_equal(hits.n_held, 0);
    (void)add(102, true);
    hit_results_take(&hits, results, list.n);
    hit_results_release(&hits, true);
    assert_got(2);
    assert_true(hits.was_reset);
    assert_int_equal(hits.n_held, 0);
}

FRESH_TEST(what_is_delivered_by_hand_comes_behind_what_is_held)
{
    (void)add(100, true);
    (void)add(101, false);
    const struct hit_steps second = hits.expected[1].hit_steps;
    hit_results_take(&hits, results, second.first[SEGMENT_FINISH]);
    assert_got(0);
    hit_results_complete(&hits, &second, results);
    hit_results_hold(&hits);
    assert_got(0);
    hit_results_release(&hits, false);
    assert_got(2);
}

FRESH_TEST(another_run_begins_with_nothing_held)
{
    (void)add(100, true);
    hit_results_take(&hits, results, list.n);
    hit_results_begin(&hits, &request, hits.sink);
    hit_results_release(&hits, false);
    assert_got(0);
}

FRESH_TEST(enough_counts_what_was_held)
{
    enough_after = 2;
    (void)add(100, true);
    (void)add(101, false);
    hit_results_take(&hits, results, list.n);
    assert_got(2);
    assert_true(hits.enough);
}

/* The sink has not seen the hits before yet, and would take it for a poll of the first of them. */
FRESH_TEST(looks_are_not_given_ahead_of_held_hits)
{
    const uint64_t values[] = {1};
    (void)add(100, true);
    hit_results_take(&hits, results, list.n);
    hit_results_poll(&hits, values, 0, 1);
    assert_int_equal(n_looks, 0);
    hit_results_release(&hits, false);
    hit_results_poll(&hits, values, 0, 1);
    assert_int_equal(n_looks, 1);
}
