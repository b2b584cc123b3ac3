/* From the steps of a walk to hits and cycles of lines. */
#include "../test.h"

#include "measure/line_costs.h"

enum { HALT = 11, CLOCK = 1000000 };

/* Line 10; line 11 in two pieces, the second after line 12; line 12 is a loop of one block. */
static struct code_block blocks[] = {
    {.low = 0x100, .line = 10, .instructions = 2, .next = {0x104}, .n_next = 1},
    {.low = 0x104, .line = 11, .instructions = 1, .next = {0x106}, .n_next = 1},
    {.low = 0x106, .line = 12, .instructions = 1, .next = {0x106, 0x108}, .n_next = 2},
    {.low = 0x108, .line = 11, .instructions = 1, .returns = true},
    {.low = 0x10A, .line = 13, .instructions = 1, .returns = true, .calls = true},
};
enum { BLOCKS = sizeof blocks / sizeof *blocks };
static const struct code_blocks all = {.at = blocks, .n = BLOCKS};
static struct reading reading;
static struct halt_cost halts;
static struct line_costs costs;

static int set_up(void **state)
{
    (void)state;
    reading = (struct reading){.n = 1, .counted = 1};
    reading.counters[0] = (struct counter){.low = {.size = 4}, .bits = 32, .per_cycle = 1};
    halts = (struct halt_cost){.reading = &reading};
    halts.overheads[0] = (struct overhead){.known = true, .mean = HALT, .low = HALT, .high = HALT + 1};
    halts.evaluation = (struct evaluation){
        .reading = &reading, .overheads = halts.overheads, .counts_cycles = true, .bound_hz = CLOCK};
    return line_costs_begin(&costs, &all, &halts) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    line_costs_free(&costs);
    return 0;
}

#define COST_TEST(name) TEST_WITH(name, set_up, tear_down)

static void hop(size_t from, size_t to, uint64_t cycles, unsigned pairs, bool tainted)
{
    struct walk_hop one = {
        .from = from,
        .to = to,
        .begins = from == 0,
        .after_us = 1000,
        .readings = {{0xFFFFFFF0}, {(0xFFFFFFF0 + cycles + (uint64_t)HALT * pairs) & UINT32_MAX}},
        .pairs = pairs,
        .tainted = tainted};
    line_costs_hop(&costs, &one);
}

static const struct line_cost *line(unsigned number)
{
    for (size_t i = 0; i < costs.n; i++)
        if (costs.lines[i].line == number)
            return &costs.lines[i];
    fail_msg("no line %u", number);
    return NULL;
}

static void call(unsigned rounds, bool tainted)
{
    hop(0, 1, 4, 1, false);
    hop(1, 2, 3, 2, false);
    for (unsigned i = 1; i < rounds; i++)
        hop(2, 2, 5, 2, false);
    hop(2, 3, tainted ? 500 : 2, 1, tainted);
    hop(3, BLOCKS, 6, 1, false);
}

COST_TEST(hits_and_cycles_per_call)
{
    call(1, false);
    call(3, false);
    line_costs_end(&costs);
    assert_int_equal(costs.calls, 2);
    assert_int_equal(costs.hops, 10);
    assert_int_equal(line(10)->hits, 2);
    assert_int_equal(line(11)->hits, 4);
    assert_int_equal(line(12)->hits, 4);
    assert_int_equal(line(13)->hits, 0);
    assert_float_equal(line(10)->mean, 4, 1e-9);
    assert_float_equal(line(11)->mean, 9, 1e-9);
    assert_float_equal(line(12)->mean, (2 + 12) / 2.0, 1e-9);
    assert_float_equal(costs.sum, 20, 1e-9);
    assert_int_equal(statistics_min(line(12)->calls), 2);
    assert_int_equal(statistics_max(line(12)->calls), 12);
    assert_float_equal(statistics_mean(costs.totals), 20, 1e-9);
    assert_true(line(11)->is_mixed && line(11)->pieces == 2 && !line(12)->is_mixed);
    assert_true(line(12)->has_jumps && line(13)->has_calls && !line(10)->has_jumps);
    /* A halt may cost one more than was subtracted: eight of the first call, and twelve */
    assert_float_equal(costs.correction, (5 + 9) / 2.0, 1e-9);
}

COST_TEST(a_call_that_is_left_counts_nowhere)
{
    call(3, false);
    hop(0, 1, 4000, 1, false);
    hop(1, 2, 3000, 2, true);
    line_costs_left(&costs);
    call(3, false);
    line_costs_end(&costs);
    assert_int_equal(costs.calls, 2);
    assert_int_equal(costs.left, 1);
    assert_int_equal(costs.hops, 12);
    assert_int_equal(costs.tainted, 0);
    assert_float_equal(line(10)->mean, 4, 1e-9);
    assert_float_equal(costs.sum, statistics_mean(costs.totals), 1e-9);
}

COST_TEST(interrupts_that_the_halts_brought_are_no_cycles)
{
    call(1, false);
    call(1, true);
    line_costs_end(&costs);
    assert_int_equal(line(12)->hits, 2);
    assert_float_equal(line(12)->mean, 2, 1e-9);
    assert_int_equal(statistics_count(line(12)->calls), 1);
    assert_int_equal(statistics_count(line(10)->calls), 2);
    assert_int_equal(costs.tainted, 1);
    assert_false(line(12)->is_disturbed);
}

/* Line 11 runs twice in a call: before the loop and after it. */
COST_TEST(a_line_disturbed_once_in_a_call_has_no_cost_of_that_call)
{
    call(1, false);
    hop(0, 1, 4, 1, false);
    hop(1, 2, 500, 2, true);
    hop(2, 3, 2, 1, false);
    hop(3, BLOCKS, 6, 1, false);
    line_costs_end(&costs);
    assert_int_equal(statistics_count(line(11)->calls), 1);
    assert_float_equal(line(11)->mean, 9, 1e-9);
    assert_int_equal(statistics_count(line(12)->calls), 2);
}

COST_TEST(a_line_that_was_always_disturbed_says_so)
{
    call(1, true);
    line_costs_end(&costs);
    assert_true(line(12)->is_disturbed);
    assert_float_equal(line(12)->mean, 500, 1e-9);
}

COST_TEST(a_call_that_did_not_return_does_not_count)
{
    call(2, false);
    hop(0, 1, 4, 1, false);
    hop(1, 2, 3, 1, false);
    line_costs_end(&costs);
    assert_int_equal(costs.calls, 1);
    assert_int_equal(line(10)->hits, 1);
    assert_int_equal(line(11)->hits, 2);
    assert_float_equal(costs.sum, 20, 1e-9);
}
