/* From events to columns and passes. */
#include "../test.h"

#include "measure/plan.h"

#include <stdio.h>
#include <string.h>

static struct counter_block block;
static struct plan plan;
static struct error error;
static struct event_set *set;

/* Counter 0 counts cycles, three more whatever is chosen, but for 0x99. */
static uint32_t counters_for(const struct counter_block *of, uint32_t code)
{
    (void)of;
    return code == 0x99 ? 0 : 0xE;
}

static uint32_t none_for(const struct counter_block *of, uint32_t code)
{
    (void)of;
    (void)code;
    return 0;
}

static uint32_t second_only(const struct counter_block *of, uint32_t code)
{
    (void)of;
    (void)code;
    return 2;
}

static struct block_kind kind;

static const char events[] =
    "0x01 A first\n0x02 B second\n0x03 C third\n0x04 D fourth\n0x05 E fifth\n0x11 CPU_CYCLES cycles\n"
    "0x99 LACKING not here\n";

static int set_up(void **state)
{
    (void)state;
    kind = (struct block_kind){.name = "pmu", .counters_for = counters_for};
    block = (struct counter_block){.kind = &kind, .events = "x", .n = 4, .counts_cycles = true};
    snprintf(block.counters[0].name, EVENT_NAME, "CPU_CYCLES");
    error_clear(&error);
    set = event_set_parse(events, sizeof events - 1, NULL, NULL, &error);
    assert_non_null(set);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    event_set_free(set);
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static bool make(const char *text)
{
    static struct event_request requests[PLAN_COLUMNS];
    size_t n = 0;
    error_clear(&error);
    if (text[0] != '\0' && !event_requests_parse(text, requests, PLAN_COLUMNS, &n, &error))
        return false;
    return plan_make(&plan, &block, set, requests, n, &error);
}

FRESH_TEST(without_events_cycles_are_counted)
{
    assert_true(make(""));
    assert_int_equal(plan.n_columns, 1);
    assert_int_equal(plan.n_passes, 1);
    assert_string_equal(plan.passes[0].picks[0].name, "CPU_CYCLES");
    assert_int_equal(plan.passes[0].picks[0].counter, 0);
}

FRESH_TEST(events_get_a_counter_each_beside_the_cycles)
{
    assert_true(make("b,r3,a"));
    assert_int_equal(plan.n_passes, 1);
    const struct plan_pass *pass = &plan.passes[0];
    static const char *const names[] = {"CPU_CYCLES", "B", "C", "A"};
    static const uint32_t codes[] = {0, 2, 3, 1};
    assert_int_equal(pass->n, 4);
    uint32_t used = 0;
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(pass->picks[i].name, names[i]);
        assert_string_equal(plan.columns[pass->column[i]].name, names[i]);
        assert_int_equal(pass->picks[i].code, codes[i]);
        used |= 1U << pass->picks[i].counter;
    }
    assert_int_equal(used, 0xF);
}

FRESH_TEST(more_events_than_counters_take_passes_with_cycles_in_each)
{
    assert_true(make("A,B,C,D,E"));
    assert_int_equal(plan.n_columns, 6);
    assert_int_equal(plan.n_passes, 2);
    size_t seen = 0;
    for (size_t p = 0; p < 2; p++) {
        assert_int_equal(plan.passes[p].column[0], 0);
        seen += plan.passes[p].n - 1;
    }
    assert_int_equal(seen, 5);
}

FRESH_TEST(a_group_stays_together)
{
    assert_true(make("A,B,{C,D,E}"));
    assert_int_equal(plan.n_passes, 2);
    for (size_t p = 0; p < 2; p++) {
        size_t of_group = 0;
        for (size_t i = 0; i < plan.passes[p].n; i++)
            of_group += plan.passes[p].column[i] >= 3;
        assert_true(of_group == 0 || of_group == 3);
    }
    assert_false(make("{A,B,C,D}"));
    assert_int_equal(error.kind, ERROR_USAGE);
}

FRESH_TEST(cycles_that_are_asked_for_are_there_already)
{
    assert_true(make("cpu_cycles,A"));
    assert_int_equal(plan.n_columns, 2);
}

FRESH_TEST(what_the_core_lacks_is_a_column_with_a_reason)
{
    assert_true(make("A,LACKING"));
    assert_int_equal(plan.n_columns, 3);
    assert_string_equal(plan.columns[1].unsupported, "");
    assert_true(plan.columns[2].unsupported[0] != '\0');
    assert_int_equal(plan.passes[0].n, 2);
    assert_true(make("LACKING")); /* cycles are left */
    assert_int_equal(plan.n_passes, 1);
    block.counts_cycles = false;
    assert_false(make("LACKING"));
    assert_int_equal(error.kind, ERROR_NO_COUNTER);
}

FRESH_TEST(names_that_do_not_exist_and_those_said_twice_are_refused)
{
    assert_false(make("A,NOBODY"));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_non_null(strstr(error.text, "unknown event NOBODY"));
    assert_false(make("A,r1"));
    assert_int_equal(error.kind, ERROR_USAGE);
}

/* SysTick from another clock, a PMU whose cycles are divided: counter 0 is a counter like another. */
FRESH_TEST(without_cycles_nothing_is_in_every_pass)
{
    block.counts_cycles = false;
    snprintf(block.counters[0].name, EVENT_NAME, "PMCCNTR");
    assert_true(make("A,pmccntr,B,C,D"));
    assert_int_equal(plan.n_columns, 5);
    assert_int_equal(plan.n_passes, 2);
    assert_int_equal(plan.passes[0].n, 4);
    assert_string_equal(plan.passes[0].picks[1].name, "PMCCNTR");
    assert_int_equal(plan.passes[0].picks[1].counter, 0);
    assert_int_equal(plan.passes[1].n, 1);
    assert_int_equal(plan.passes[1].column[0], 4);
    assert_string_equal(plan.passes[1].picks[0].name, "D");
    assert_true(make(""));
    assert_string_equal(plan.columns[0].name, "PMCCNTR");
    assert_int_equal(plan.passes[0].n, 1);
}

FRESH_TEST(a_block_whose_counters_have_an_event_each)
{
    static const struct block_kind fixed = {.name = "dwt"};
    block.kind = &fixed;
    static const char *const names[] = {"CPU_CYCLES", "CPICNT", "EXCCNT", "SLEEPCNT"};
    for (size_t i = 0; i < 4; i++)
        snprintf(block.counters[i].name, EVENT_NAME, "%s", names[i]);
    assert_true(make("sleepcnt,CPICNT"));
    assert_int_equal(plan.n_passes, 1);
    assert_string_equal(plan.columns[1].name, "SLEEPCNT");
    assert_int_equal(plan.passes[0].picks[1].counter, 3);
    assert_int_equal(plan.passes[0].picks[2].counter, 1);
    assert_false(make("CPICNT,cpicnt"));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_true(make("A")); /* its name is known, and none of the counters is for it */
    assert_true(plan.columns[1].unsupported[0] != '\0');
    struct event_request request = {.name = "A"};
    assert_false(plan_make(&plan, &block, NULL, &request, 1, &error)); /* no names but the counters' own */
    assert_int_equal(error.kind, ERROR_USAGE);
}

FRESH_TEST(codes_without_a_name_are_counted_by_their_code)
{
    assert_true(make("r77,0x3"));
    assert_string_equal(plan.columns[1].name, "r77");
    assert_string_equal(plan.columns[2].name, "C");
    assert_int_equal(plan.passes[0].picks[1].code, 0x77);
    assert_int_equal(plan.passes[0].picks[2].code, 3);
    kind.counters_for = none_for;
    assert_true(make("r77"));
    assert_string_equal(plan.columns[1].unsupported, "this core lacks this event");
    assert_true(make("C"));
    assert_string_not_equal(plan.columns[1].unsupported, "this core lacks this event");
}

/* What was in a plan before, and what lay in its memory, is not in the next. */
FRESH_TEST(a_plan_begins_anew)
{
    memset(&plan, 0xA5, sizeof plan);
    assert_true(make("LACKING,A"));
    assert_true(make("B,C"));
    for (size_t i = 0; i < plan.n_columns; i++)
        assert_string_equal(plan.columns[i].unsupported, "");
    memset(&plan, 0xA5, sizeof plan);
    assert_true(make(""));
    assert_string_equal(plan.columns[0].unsupported, "");
}

FRESH_TEST(no_more_columns_than_there_is_room_for)
{
    static struct event_request requests[PLAN_COLUMNS + 1];
    for (size_t i = 0; i < PLAN_COLUMNS + 1; i++) {
        requests[i] = (struct event_request){.by_code = true, .code = 0x200 + (uint32_t)i};
        snprintf(requests[i].name, EVENT_NAME, "r%zX", 0x200 + i);
    }
    assert_true(plan_make(&plan, &block, set, requests, PLAN_COLUMNS - 1, &error));
    assert_int_equal(plan.n_columns, PLAN_COLUMNS);
    assert_int_equal(plan.n_passes, (PLAN_COLUMNS - 1) / 3);
    assert_false(plan_make(&plan, &block, set, requests, PLAN_COLUMNS, &error));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_non_null(strstr(error.text, "64"));
    error_clear(&error);
    block.counts_cycles = false;
    assert_true(plan_make(&plan, &block, set, requests, PLAN_COLUMNS, &error));
    assert_false(plan_make(&plan, &block, set, requests, PLAN_COLUMNS + 1, &error));
    error_clear(&error);
    block.counts_cycles = true;
    block.n = 2; /* one pass an event: the most there can be */
    kind.counters_for = second_only;
    assert_true(plan_make(&plan, &block, set, requests, PLAN_COLUMNS - 1, &error));
    assert_int_equal(plan.n_passes, PLAN_COLUMNS - 1);
    for (size_t i = 0; i < plan.n_passes; i++) {
        assert_int_equal(plan.passes[i].n, 2);
        assert_int_equal(plan.passes[i].column[0], 0);
        assert_int_equal(plan.passes[i].column[1], i + 1);
    }
}
