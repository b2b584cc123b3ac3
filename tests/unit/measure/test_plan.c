/* From events to columns and passes. */
#include "../cmocka_all.h"

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

static const struct block_kind kind = {.name = "pmu", .counters_for = counters_for};

static const char events[] =
    "0x01 A first\n0x02 B second\n0x03 C third\n0x04 D fourth\n0x05 E fifth\n0x11 CPU_CYCLES cycles\n"
    "0x99 LACKING not here\n";

static int set_up(void **state)
{
    (void)state;
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

static bool make(const char *text)
{
    static struct event_wish wishes[PLAN_COLUMNS];
    size_t n = 0;
    error_clear(&error);
    if (text[0] != '\0' && !event_wishes_parse(text, wishes, PLAN_COLUMNS, &n, &error))
        return false;
    return plan_make(&plan, &block, set, wishes, n, &error);
}

static void without_events_cycles_are_counted(void **state)
{
    (void)state;
    assert_true(make(""));
    assert_int_equal(plan.n_columns, 1);
    assert_int_equal(plan.n_passes, 1);
    assert_string_equal(plan.passes[0].picks[0].name, "CPU_CYCLES");
    assert_int_equal(plan.passes[0].picks[0].counter, 0);
}

static void events_get_a_counter_each_beside_the_cycles(void **state)
{
    (void)state;
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

static void more_events_than_counters_take_passes_with_cycles_in_each(void **state)
{
    (void)state;
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

static void a_group_stays_together(void **state)
{
    (void)state;
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

static void cycles_that_are_asked_for_are_there_already(void **state)
{
    (void)state;
    assert_true(make("cpu_cycles,A"));
    assert_int_equal(plan.n_columns, 2);
}

static void what_the_core_lacks_is_a_column_with_a_reason(void **state)
{
    (void)state;
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

static void names_that_do_not_exist_and_those_said_twice_are_refused(void **state)
{
    (void)state;
    assert_false(make("A,NOBODY"));
    assert_int_equal(error.kind, ERROR_USAGE);
    assert_non_null(strstr(error.text, "NOBODY"));
    assert_false(make("A,r1"));
    assert_int_equal(error.kind, ERROR_USAGE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_events_cycles_are_counted),
        TEST(events_get_a_counter_each_beside_the_cycles),
        TEST(more_events_than_counters_take_passes_with_cycles_in_each),
        TEST(a_group_stays_together),
        TEST(cycles_that_are_asked_for_are_there_already),
        TEST(what_the_core_lacks_is_a_column_with_a_reason),
        TEST(names_that_do_not_exist_and_those_said_twice_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
