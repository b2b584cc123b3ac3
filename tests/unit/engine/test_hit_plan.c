/*
 * Hit plans: the steps of a hit, and where in the list its results will be.
 */
#include "../test.h"

#include "cores/architectures.h"
#include "engine/hit_plan.h"

enum { ROOM = 2048, COUNTER = 0xE0001004, COMPARATOR = 0xE000201C };
enum { DHCSR = 0xE000EDF0, DCRSR = 0xE000EDF4, DCRDR = 0xE000EDF8, DFSR = 0xE000ED30, ICSR = 0xE000ED04 };

static const uint64_t RUN = 0xA05F0001, RUN_HELD = 0xA05F0009;

static struct core core;
static struct breakpoints breakpoints;
static struct reading reading;
static struct step items[ROOM];
static struct steps list;
static struct hit_steps hit_steps;

static void set_up(void)
{
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
    assert_true(cortex_m_identify(0, m4, &core));
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

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
        .end_proofs = {{.which = CORE_SP, .value = 0x20007F40}}};
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

FRESH_TEST(a_hit_can_begin_at_any_segment)
{
    for (int from = SEGMENT_AT_START; from < SEGMENTS; from++) {
        set_up();
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
