/* Two links used as one: which link carries out which step, and what the pair shows its user. */
#include "links/link.h"

#include "fake_link.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

struct half {
    struct fake_link fake; /* first */
    struct link_ops ops;
    const char *name;
    unsigned calls, closed, *order;
    size_t n_views;
    bool held;
};

static struct both {
    struct half control, counters;
    unsigned closings;
    struct link *pair;
    struct error error;
} both;

static struct outcome count_calls(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                                  const struct deadline *deadline, struct error *error)
{
    ((struct half *)link)->calls++;
    return fake_execute(link, steps, n, results, deadline, error);
}

static size_t some_views(struct link *link, struct link_view *out, size_t room, struct error *error)
{
    const struct half *half = (struct half *)link;
    size_t n = half->n_views < room ? half->n_views : room;
    (void)error;
    for (size_t i = 0; i < n; i++) {
        out[i] = (struct link_view){.unit = (uint16_t)i};
        snprintf(out[i].name, sizeof out[i].name, "%s %zu", half->name, i);
    }
    return n;
}

static void describe_half(struct link *link, char *out, size_t size)
{
    snprintf(out, size, "%s", ((struct half *)link)->name);
}

static bool hold_half(struct link *link, bool hold, struct error *error)
{
    (void)error;
    ((struct half *)link)->held = hold;
    return true;
}

static bool run_half(struct link *link, uint16_t unit, bool run, const struct deadline *deadline,
                     struct error *error)
{
    (void)link, (void)unit, (void)run, (void)deadline, (void)error;
    return true;
}

static struct debugger *debugger_of_half(struct link *link)
{
    return (struct debugger *)link;
}

static void close_half(struct link *link)
{
    struct half *half = (struct half *)link;
    half->closed = ++*half->order;
}

static void half_init(struct half *half, const char *name, size_t n_views, unsigned *order)
{
    memset(half, 0, sizeof *half);
    fake_init(&half->fake);
    half->ops = (struct link_ops){.execute = count_calls,
                                  .views = some_views,
                                  .describe = describe_half,
                                  .close = close_half,
                                  .exact_faults = true};
    half->fake.link.ops = &half->ops;
    half->name = name;
    half->n_views = n_views;
    half->order = order;
}

static void set_up(void)
{
    memset(&both, 0, sizeof both);
    half_init(&both.control, "control", 2, &both.closings);
    half_init(&both.counters, "counters", 3, &both.closings);
    both.pair = link_combined_new(&both.control.fake.link, &both.counters.fake.link, &both.error);
    assert_non_null(both.pair);
}

static void tear_down(void)
{
    link_close(both.pair);
    assert_int_equal(both.counters.closed, 1); /* before the core is let go */
    assert_int_equal(both.control.closed, 2);
}

static struct outcome run(const struct step *steps, size_t n, uint64_t *results)
{
    struct deadline deadline = deadline_in_ms(1000, NULL);
    error_clear(&both.error);
    return link_execute(both.pair, steps, n, results, &deadline, &both.error);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static struct address memory(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static struct address msr(uint64_t offset)
{
    return (struct address){.space = SPACE_MSR, .size = 8, .unit = 5, .offset = offset};
}

FRESH_TEST(test_goes_where_it_belongs)
{
    const struct step steps[] = {step_read(memory(0x10)), step_write(memory(0x20), 7), step_read(msr(0x10)),
                                 step_read(msr(0x20)), step_expect(memory(0x20), UINT64_MAX, 7)};
    uint64_t results[5];
    *fake_at(&both.control.fake, 0x10) = 1;
    *fake_at(&both.counters.fake, 0x10) = 2;
    *fake_at(&both.counters.fake, 0x20) = 3;
    struct outcome outcome = run(steps, 5, results);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(outcome.done, 5);
    assert_int_equal(results[0], 1);
    assert_int_equal(results[2], 2);
    assert_int_equal(results[3], 3);
    assert_int_equal(both.control.calls, 2); /* consecutive steps of one link go in one call */
    assert_int_equal(both.counters.calls, 1);
    assert_int_equal(both.counters.fake.n_writes, 0);
}

FRESH_TEST(test_copies_from_one_to_the_other)
{
    const struct step steps[] = {step_read(msr(0x20)), step_copy(memory(0x40), 1),
                                 step_check(2, UINT64_MAX, 99)};
    uint64_t results[3];
    *fake_at(&both.counters.fake, 0x20) = 99;
    struct outcome outcome = run(steps, 3, results);
    assert_int_equal(outcome.why, DONE);
    assert_int_equal(*fake_at(&both.control.fake, 0x40), 99);
}

/* Nothing after the failed step runs, on either link. */
FRESH_TEST(test_stops_where_one_fails)
{
    static const enum why whys[] = {TARGET_FAULT, LINK_LOST, TARGET_WAIT};
    const struct step steps[] = {step_write(memory(0x10), 1), step_read(msr(0x10)), step_read(msr(0x20)),
                                 step_write(memory(0x20), 1)};
    for (size_t i = 0; i < COUNT(whys); i++) {
        uint64_t results[4];
        both.control.fake.n_writes = 0;
        both.counters.fake.fail_after = 1;
        both.counters.fake.fail_with = whys[i];
        struct outcome outcome = run(steps, 4, results);
        assert_int_equal(outcome.why, whys[i]);
        assert_int_equal(outcome.done, 2);
        assert_int_equal(both.control.fake.n_writes, 1);
    }
}

FRESH_TEST(test_tells_what_it_saw)
{
    const struct step steps[] = {step_read(memory(0x10)), step_expect(msr(0x10), UINT64_MAX, 5)};
    uint64_t results[2];
    *fake_at(&both.counters.fake, 0x10) = 6;
    struct outcome outcome = run(steps, 2, results);
    assert_int_equal(outcome.why, UNEXPECTED);
    assert_int_equal(outcome.done, 1);
    assert_int_equal(outcome.saw, 6);
}

/* The clocks of two links cannot be compared. */
FRESH_TEST(test_has_one_clock)
{
    const struct step steps[] = {step_time(TIME_BEFORE), step_read(memory(0x10)), step_time(TIME_AFTER),
                                 step_read(msr(0x10)), step_time(TIME_AFTER)};
    uint64_t results[5], begun = (uint64_t)deadline_now_us();
    assert_int_equal(run(steps, 5, results).why, DONE);
    uint64_t ended = (uint64_t)deadline_now_us();
    assert_in_range(results[0], begun, results[2]);
    assert_in_range(results[2], results[0], results[4]);
    assert_in_range(results[4], results[2], ended);
}

FRESH_TEST(test_shows_both)
{
    struct link_view views[8];
    char text[64];
    assert_int_equal(link_views(both.pair, views, 8, &both.error), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(views[i].counts_only, i >= 2);
    assert_string_equal(views[1].name, "control 1");
    assert_string_equal(views[2].name, "counters 0");
    assert_int_equal(link_views(both.pair, views, 3, &both.error), 3);
    assert_int_equal(link_views(both.pair, views, 2, &both.error), 0); /* a pair needs counters */
    both.control.n_views = 0;
    assert_int_equal(link_views(both.pair, views, 8, &both.error), 0);
    link_describe(both.pair, text, sizeof text);
    assert_string_equal(text, "control, counters by counters");
    link_describe(both.pair, text, 8);
    assert_string_equal(text, "control");
}

FRESH_TEST(test_is_what_the_first_is)
{
    assert_null(link_debugger(both.pair));
    assert_false(link_has_server(both.pair));
    assert_true(link_hold(both.pair, true, &both.error)); /* no server to hold */
    both.control.ops.hold = both.counters.ops.hold = hold_half;
    both.control.ops.debugger = debugger_of_half;
    assert_true(link_hold(both.pair, true, &both.error));
    assert_true(both.control.held);
    assert_false(both.counters.held);
    assert_ptr_equal(link_debugger(both.pair), (struct debugger *)&both.control);
}

TEST(test_has_a_server_and_exact_faults_as_they_have)
{
    struct both other = {0};
    struct error error = {0};
    half_init(&other.control, "control", 1, &other.closings);
    half_init(&other.counters, "counters", 1, &other.closings);
    other.control.ops.server_run = run_half;
    other.counters.ops.comes_back = true;
    other.counters.ops.exact_faults = false;
    struct link *pair = link_combined_new(&other.control.fake.link, &other.counters.fake.link, &error);
    assert_non_null(pair);
    assert_true(link_has_server(pair));
    assert_true(link_comes_back(pair));
    assert_false(link_faults_are_exact(pair));
    link_close(pair);
}
