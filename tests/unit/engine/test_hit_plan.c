/*
 * Hit plans: the steps of a hit, and where in the list its results will be.
 */
#include "../test.h"

#include "cores/architectures.h"
#include "engine/hit_plan.h"

#include <string.h>

enum { ROOM = 2048, COUNTER = 0xE0001004, COMPARATOR = 0xE000201C };
enum { DHCSR = 0xE000EDF0, DCRSR = 0xE000EDF4, DCRDR = 0xE000EDF8, DFSR = 0xE000ED30, ICSR = 0xE000ED04 };

static const uint64_t RUN = 0xA05F0001, RUN_HELD = 0xA05F0009;

static struct core core;
static struct breakpoints breakpoints;
static struct reading reading;
static struct step items[ROOM];
static struct steps list;
static struct hit_steps hit_steps;

static int set_up(void **state)
{
    (void)state;
    static const uint64_t m4[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = 0x410FC241, [CORTEX_M_FP_CTRL] = 0x260};
    memset(&breakpoints, 0, sizeof breakpoints);
    memset(&hit_steps, 0, sizeof hit_steps);
    list = (struct steps){.items = items, .room = ROOM};
    reading = (struct reading){.n = 1, .counted = 1};
    reading.counters[0] = (struct counter){.low = {.size = 4, .offset = COUNTER}, .bits = 32};
    reading.counters[1] = (struct counter){
        .low = {.size = 4, .offset = 0x1000}, .high = {.size = 4, .offset = 0x1004}, .bits = 64};
    breakpoints.core = &core;
    breakpoints.comparator = 5;
    breakpoints.comparator_held = true;
    return cortex_m_identify(0, m4, &core) ? 0 : -1;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static struct hit_plan plan_to(uint64_t end)
{
    static const struct witness nothing;
    return (struct hit_plan){
        .core = &core,
        .witness = &nothing,
        .breakpoints = &breakpoints,
        .reading = &reading,
        .start = 0x1000,
        .end = end,
        .start_proofs = {{.which = CORE_LR, .value = 0x2005}, {.which = CORE_SP, .value = 0x20007F00}},
        .end_proof = {.which = CORE_SP, .value = 0x20007F40}};
}

static void assert_step(size_t at, enum op op, uint64_t offset, uint64_t value)
{
    assert_true(at < list.n);
    assert_int_equal(items[at].op, op);
    assert_int_equal(items[at].at.offset, offset);
    if (op != OP_READ)
        assert_int_equal(items[at].value, value);
}

/* The first step in [from, to) of this kind at this address with this value; fails when there is none. */
static size_t find(size_t from, size_t to, enum op op, uint64_t offset, uint64_t value)
{
    for (size_t i = from; i < to; i++)
        if (items[i].op == op && items[i].at.offset == offset && (op == OP_READ || items[i].value == value))
            return i;
    fail_msg("missing step: %d 0x%08X 0x%08X", (int)op, (unsigned)offset, (unsigned)value);
    return SIZE_MAX;
}

static size_t count(size_t from, size_t to, enum op op, uint64_t offset)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += items[i].op == op && items[i].at.offset == offset;
    return n;
}

static void assert_segments(enum segment from)
{
    for (int segment = 0; segment < SEGMENTS; segment++) {
        assert_true(hit_steps.first[segment] <= hit_steps.first[segment + 1]);
        if (segment < (int)from)
            assert_int_equal(hit_steps.first[segment], hit_steps.first[segment + 1]);
        for (size_t i = hit_steps.first[segment]; i < hit_steps.first[segment + 1]; i++)
            assert_int_equal(hit_steps_segment(&hit_steps, i), segment);
    }
    assert_int_equal(hit_steps.first[SEGMENTS], list.n);
    assert_false(list.overflow);
}

/* Proves the PC, or what else DCRSR selects: the transfer, and the value expected after it. */
static void assert_proof(size_t from, size_t to, uint64_t selector, uint64_t value)
{
    size_t transfer = find(from, to, OP_WRITE, DCRSR, selector);
    size_t proof = find(transfer, to, OP_EXPECT, DCRDR, value);
    assert_int_equal(count(transfer + 1, proof, OP_WRITE, DCRSR), 0);
    assert_true(items[proof].mask >= 0xFFFFFFFE);
}

FRESH_TEST(a_hit_from_start_to_end)
{
    struct hit_plan plan = plan_to(0x1100);
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_segments(SEGMENT_AT_START);
    const size_t *first = hit_steps.first;

    assert_step(0, OP_UNTIL, DHCSR, 0x20000);
    assert_int_equal(items[0].mask, 0x20000);
    assert_proof(0, first[SEGMENT_ENTRY], 15, 0x1000);
    assert_int_equal(first[SEGMENT_ENTRY], first[SEGMENT_LEAVE]); /* no call to be proved */

    /* Read, point at the end, check for interrupts, run: in this order, and nothing between the time and run.
     */
    size_t leave = first[SEGMENT_LEAVE], at_end = first[SEGMENT_AT_END];
    assert_step(hit_steps.reading_at[0][0], OP_READ, COUNTER, 0);
    size_t move = find(leave, at_end, OP_WRITE, COMPARATOR, 0x40001101);
    assert_true(hit_steps.reading_at[0][0] < move);
    assert_step(hit_steps.pending_at, OP_READ, ICSR, 0);
    assert_true(move < hit_steps.pending_at && hit_steps.pending_at < hit_steps.before_at);
    assert_int_equal(items[hit_steps.before_at].op, OP_TIME);
    assert_int_equal(items[hit_steps.before_at].value, TIME_BEFORE);
    assert_int_equal(hit_steps.before_at + 2, at_end);
    assert_step(hit_steps.before_at + 1, OP_WRITE, DHCSR, RUN);

    assert_step(at_end, OP_UNTIL, DHCSR, 0x20000);
    assert_int_equal(hit_steps.after_at, at_end + 1);
    assert_int_equal(items[hit_steps.after_at].op, OP_TIME);
    assert_int_equal(items[hit_steps.after_at].value, TIME_AFTER);
    assert_proof(at_end, first[SEGMENT_FRAME], 15, 0x1100);
    assert_int_equal(first[SEGMENT_FRAME], first[SEGMENT_FINISH]);

    assert_step(hit_steps.reading_at[1][0], OP_READ, COUNTER, 0);
    move = find(first[SEGMENT_FINISH], list.n, OP_WRITE, COMPARATOR, 0x40001001);
    assert_true(hit_steps.reading_at[1][0] < move);
    assert_step(list.n - 1, OP_WRITE, DHCSR, RUN);

    assert_int_equal(count(0, list.n, OP_WRITE, DHCSR), 2); /* it is resumed twice, and never otherwise */
    assert_int_equal(count(0, list.n, OP_WRITE, COMPARATOR), 2);
    assert_int_equal(count(0, list.n, OP_READ, COUNTER), 2);
}

/* A reset while the core is halted at the end must not go unseen: checked after the counters are read. */
FRESH_TEST(resets_are_looked_for_after_the_reading)
{
    struct hit_plan plan = plan_to(0x1100);
    plan.rehits = 3;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_step(hit_steps.reset_at, OP_READ, DFSR, 0);
    assert_true(hit_steps.reset_at > hit_steps.reading_at[1][0]);
}

FRESH_TEST(a_function_proves_its_call_and_its_frame)
{
    struct hit_plan plan = plan_to(0x2004);
    plan.n_start_proofs = 2, plan.n_end_proofs = 1;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_segments(SEGMENT_AT_START);
    const size_t *first = hit_steps.first;
    assert_proof(first[SEGMENT_ENTRY], first[SEGMENT_LEAVE], 14, 0x2005);
    assert_proof(first[SEGMENT_ENTRY], first[SEGMENT_LEAVE], 13, 0x20007F00);
    assert_proof(first[SEGMENT_FRAME], first[SEGMENT_FINISH], 13, 0x20007F40);
}

FRESH_TEST(a_hit_can_begin_at_any_segment)
{
    for (int from = SEGMENT_AT_START; from < SEGMENTS; from++) {
        set_up(NULL);
        struct hit_plan plan = plan_to(0x2004);
        plan.n_start_proofs = 2, plan.n_end_proofs = 1;
        plan.rehits = 2;
        hit_plan_add(&plan, (enum segment)from, &list, &hit_steps);
        assert_segments((enum segment)from);
        assert_int_equal(hit_steps.from, from);
        assert_int_equal(hit_steps.pending_at == SIZE_MAX, from > SEGMENT_LEAVE);
        assert_step(hit_steps.reading_at[1][2], OP_READ, COUNTER, 0);
        assert_step(list.n - 1, OP_WRITE, DHCSR, RUN);
    }
}

FRESH_TEST(indices_hold_after_other_hits)
{
    struct hit_plan plan = plan_to(0x1100);
    struct hit_steps second;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    size_t n = list.n;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &second);
    assert_int_equal(list.n, 2 * n);
    for (int segment = 0; segment <= SEGMENTS; segment++)
        assert_int_equal(second.first[segment], hit_steps.first[segment] + n);
    assert_int_equal(second.pending_at, hit_steps.pending_at + n);
    assert_int_equal(second.before_at, hit_steps.before_at + n);
    assert_int_equal(second.after_at, hit_steps.after_at + n);
    assert_int_equal(second.reset_at, hit_steps.reset_at + n);
    assert_int_equal(second.reading_at[1][0], hit_steps.reading_at[1][0] + n);
}

/* Each re-hit: pending interrupts, cause cleared, run, wait, a new breakpoint here, the counters. Interrupts
 * are held off from before the first to after the last, by writes that keep C_HALT. */
FRESH_TEST(rehits_prove_themselves)
{
    struct hit_plan plan = plan_to(0x1100);
    plan.rehits = ENGINE_REHITS;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_segments(SEGMENT_AT_START);
    for (unsigned which = 0; which < 2; which++)
        for (unsigned i = 0; i < ENGINE_REHITS; i++) {
            size_t from = hit_steps.reading_at[which][i], to = hit_steps.reading_at[which][i + 1];
            assert_step(to, OP_READ, COUNTER, 0);
            assert_step(hit_steps.disturbed_at[which][i], OP_READ, ICSR, 0);
            assert_true(from < hit_steps.disturbed_at[which][i]);
            size_t clear = find(hit_steps.disturbed_at[which][i], to, OP_WRITE, DFSR, 0x2);
            size_t run = find(clear, to, OP_WRITE, DHCSR, RUN_HELD);
            size_t again = find(run, to, OP_UNTIL, DFSR, 0x2);
            size_t wait = find(again, to, OP_UNTIL, DHCSR, 0x20000);
            assert_proof(wait, to, 15, which == 0 ? 0x1000 : 0x1100);
            assert_int_equal(count(from, to, OP_WRITE, COMPARATOR), 0);
            assert_int_equal(count(from, to, OP_WRITE, DHCSR), i == 0 ? 2 : 1);
        }
    for (unsigned which = 0; which < 2; which++) {
        assert_step(hit_steps.reading_at[which][0] + 1, OP_WRITE, DHCSR, 0xA05F000B);
        assert_step(hit_steps.reading_at[which][ENGINE_REHITS] + 1, OP_WRITE, DHCSR, 0xA05F0003);
    }
}

FRESH_TEST(a_round_steps_past_its_point_with_interrupts_off)
{
    struct hit_plan plan = plan_to(0x1000);
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_segments(SEGMENT_AT_START);
    size_t to = hit_steps.first[SEGMENT_AT_END];
    assert_true(hit_steps.reading_at[0][0] < hit_steps.before_at);
    size_t at = find(hit_steps.before_at, to, OP_WRITE, COMPARATOR, 0);
    at = find(at, to, OP_WRITE, DHCSR, 0xA05F000B); /* C_MASKINTS while C_HALT stays */
    at = find(at, to, OP_WRITE, DFSR, 0x1);
    assert_step(at + 1, OP_WRITE, DHCSR, 0xA05F000D);
    at = find(at, to, OP_UNTIL, DFSR, 0x1);
    at = find(at, to, OP_UNTIL, DHCSR, 0x20000);
    at = find(at, to, OP_WRITE, DHCSR, 0xA05F0003); /* and off again while it stays */
    at = find(at, to, OP_WRITE, COMPARATOR, 0x40001001);
    assert_true(hit_steps.pending_at > at);
    assert_step(to - 1, OP_WRITE, DHCSR, RUN);
    /* The end is the next start: it is left halted there. */
    assert_int_equal(count(hit_steps.first[SEGMENT_FINISH], list.n, OP_WRITE, DHCSR), 0);
    assert_int_equal(count(hit_steps.first[SEGMENT_FINISH], list.n, OP_WRITE, COMPARATOR), 0);
}

FRESH_TEST(past_a_wrong_frame_and_on)
{
    struct hit_plan plan = plan_to(0x2004);
    size_t pending = hit_plan_add_past(&plan, 0x2004, 0x1000, &list);
    assert_step(0, OP_WRITE, COMPARATOR, 0);
    size_t back = find(0, list.n, OP_WRITE, COMPARATOR, 0x40001001);
    assert_step(pending, OP_READ, ICSR, 0);
    assert_true(back < pending);
    assert_step(list.n - 1, OP_WRITE, DHCSR, RUN);
}

FRESH_TEST(an_instruction_in_ram_is_written_and_proved)
{
    breakpoints.patches[0] = (struct bkpt_patch){.address = 0x20000440, .original = 0xBD70};
    breakpoints.n_patches = 1;
    struct hit_plan plan = plan_to(0x20000440);
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_segments(SEGMENT_AT_START);
    size_t leave = hit_steps.first[SEGMENT_LEAVE], at_end = hit_steps.first[SEGMENT_AT_END];
    size_t off = find(leave, at_end, OP_WRITE, COMPARATOR, 0);
    size_t set = find(off, at_end, OP_WRITE, 0x20000440, 0xBE50);
    size_t proof = find(set, at_end, OP_EXPECT, 0x20000440, 0xBE50);
    assert_int_equal(items[set].at.size, 2);
    assert_int_equal(items[proof].at.size, 2);
    assert_int_equal(items[proof].mask, 0xFFFF);
    assert_true(proof < at_end - 1);
    size_t gone = find(hit_steps.first[SEGMENT_FINISH], list.n, OP_WRITE, 0x20000440, 0xBD70);
    assert_true(gone > hit_steps.reading_at[1][0]);
    assert_true(gone < find(gone, list.n, OP_WRITE, COMPARATOR, 0x40001001));
}

FRESH_TEST(counters_of_two_words_keep_their_places)
{
    struct hit_plan plan = plan_to(0x1100);
    reading.n = 2;
    plan.rehits = 1;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    for (unsigned which = 0; which < 2; which++)
        for (unsigned i = 0; i < 2; i++) {
            assert_step(hit_steps.reading_at[which][i], OP_READ, COUNTER, 0);
            assert_step(hit_steps.reading_at[which][i] + 1, OP_READ, 0x1000, 0);
            assert_step(hit_steps.reading_at[which][i] + 1 + 1, OP_READ, 0x1004, 0);
        }
}

FRESH_TEST(a_list_that_is_too_short_says_so)
{
    struct hit_plan plan = plan_to(0x1100);
    list.room = 7;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_true(list.overflow);
    assert_int_equal(list.n, 7);
}

static size_t writes_of(uint64_t offset, uint64_t value, size_t *at)
{
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++)
        if (items[i].op == OP_WRITE && items[i].at.offset == offset && items[i].value == value) {
            *at = i;
            n++;
        }
    return n;
}

/* Armed before the core is let go at the start, and taken back at the end before its counter is read. */
FRESH_TEST(a_budget_is_armed_in_between)
{
    enum { COMP0 = 0xE0001020, FUNCTION0 = 0xE0001028, AT_CYCLES = 0x84 };
    struct counter_stop stop = {.core = &core,
                                .way = COUNTER_STOP_MATCH,
                                .counter = {.low = {.size = 4, .offset = COUNTER}, .bits = 32}};
    struct hit_plan plan = plan_to(0x2004);
    size_t armed = 0, ignored = 0, off = 0;
    plan.budget = (struct hit_budget){.stop = &stop, .events = 1200};
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_int_equal(writes_of(COMP0, 1200, &ignored), 1);
    assert_int_equal(writes_of(FUNCTION0, AT_CYCLES, &armed), 1);
    assert_int_equal(writes_of(FUNCTION0, 0, &off), 1);
    assert_true(armed >= hit_steps.first[SEGMENT_LEAVE] && armed < hit_steps.first[SEGMENT_AT_END]);
    assert_int_equal(off, hit_steps.first[SEGMENT_FINISH]);
    assert_true(off < hit_steps.reading_at[1][0]);
    list.n = 0;
    plan.budget.stop = NULL;
    hit_plan_add(&plan, SEGMENT_AT_START, &list, &hit_steps);
    assert_int_equal(writes_of(FUNCTION0, AT_CYCLES, &armed), 0);
}
