/* A run against its baseline: whether the two can be compared, a verdict a column, and how it is shown. */
#include "report/fresh.h"

#include "report/results.h"

#include <math.h>

#define COMPARE(baseline, threshold)                                                                         \
    (json_decref(compared), compared = live_compare(baseline, summary, threshold, false, 1))

static enum verdict column_verdict(const json_t *comparison, size_t i)
{
    json_t *columns = json_object_get(comparison, "columns"), *column;
    const char *name;
    json_object_foreach(columns, name, column)
        if (i-- == 0)
            return line_verdict(column);
    fail();
    return VERDICT_NOT_COMPARABLE;
}

static size_t count_of_list(const json_t *comparison, const char *key)
{
    return json_array_size(field_of(comparison, key));
}

static const char *first_of_list(const json_t *comparison, const char *key)
{
    return text_or_empty(json_array_get(field_of(comparison, key), 0));
}

static void expect(const json_t *comparison, const char *name)
{
    comparison_print(comparison);
    output_is_golden(name);
}

SLOWER_TEST(a_column_each)
{
    assert_int_equal(line_verdict(compared), VERDICT_REGRESSED);
    expect(compared, "comparison/a_column_each.txt");
    fresh_compare(0.1);
    assert_int_equal(line_verdict(compared), VERDICT_PASS);
    assert_int_equal(column_verdict(compared, 2), VERDICT_PASS);
}

FRESH_TEST(one_column_speaks_for_itself)
{
    struct summary *before = calloc(1, sizeof *before);
    assert_non_null(before);
    SUMMARY_COLUMN(before, "CPU_CYCLES", {475, 100});
    SUMMARY_COLUMN(summary, "CPU_CYCLES", {475, 100});
    struct baseline *baseline = baseline_of(before);
    json_object_del(baseline->header, "started");
    COMPARE(baseline, 0);
    assert_int_equal(line_verdict(compared), VERDICT_PASS);
    statistics_add(summary->columns[0].statistics, 474);
    COMPARE(baseline, 0);
    assert_int_equal(line_verdict(compared), VERDICT_INCONCLUSIVE); /* now it varies */
    summary->n = 0;
    json_object_del(baseline->summary, "columns");
    COMPARE(baseline, 0);
    comparison_print(compared);
    output_is("baseline main.jsonl\nverdict: not comparable, there is nothing to compare\n");
    baseline_drop(baseline);
    summary_free(before);
}

/* What is put in the place of a condition, and what is then said; NULL: the two are still comparable. */
static void assert_condition(size_t at, size_t size, const char *text, const char *reason)
{
    fresh_end(NULL);
    fresh_slower(NULL);
    snprintf((char *)&summary->conditions + at, size, "%s", text);
    fresh_compare(0.02);
    if (reason == NULL) {
        assert_int_equal(count_of_list(compared, "not_comparable"), 0);
        assert_int_equal(line_verdict(compared), VERDICT_REGRESSED);
    } else {
        assert_int_equal(count_of_list(compared, "not_comparable"), 1);
        assert_string_equal(first_of_list(compared, "not_comparable"), reason);
        assert_int_equal(line_verdict(compared), VERDICT_NOT_COMPARABLE);
        json_t *columns = json_object_get(compared, "columns"), *column;
        const char *name;
        json_object_foreach(columns, name, column) {
            assert_int_equal(line_verdict(column), VERDICT_NOT_COMPARABLE);
            assert_string_equal(field_text(column, "why"), reason);
        }
    }
}

#define CONDITION(field, text, reason)                                                                       \
    assert_condition(offsetof(struct conditions, field), sizeof((struct conditions *)NULL)->field, text,     \
                     reason)

SLOWER_TEST(conditions)
{
    CONDITION(link, "openocd 10.0.0.1:4444", NULL);
    CONDITION(link, "openocd:4444", NULL);
    CONDITION(link, "cmsis-dap 1234", "another kind of link: openocd in the baseline, cmsis-dap now");
    CONDITION(link, "", "another kind of link: openocd in the baseline, unknown now");
    CONDITION(core, "Cortex-A9 r3p0 core 1",
              "another core: Cortex-A9 r3p0 core 0 in the baseline, Cortex-A9 r3p0 core 1 now");
    CONDITION(counter, "PMUv2\n",
              "another counter: PMUv1, 6 counters in the baseline, PMUv2\xEF\xBF\xBD now");
    CONDITION(start, "iir_filter", "baseline is for fir_filter, this run for iir_filter");
    CONDITION(end, "*0x10000200",
              "baseline is for fir_filter to its return, this run for fir_filter to *0x10000200");
    CONDITION(start_source, "fir.c:57", NULL);
    CONDITION(elf, "/other/place/app.elf", NULL);
    CONDITION(elf, "", NULL);
    CONDITION(elf, "build/test.elf",
              "baseline is of app.elf, this run of test.elf (--any-elf compares them)");
    CONDITION(build_id, "", NULL);
    CONDITION(clock_source, "--freq", NULL);
}

FIR_TEST(clocks)
{
    static const struct {
        double part;
        bool comparable;
    } cases[] = {{0, true}, {0.9901, true}, {1.0099, true}, {0.98, false}, {1.02, false}, {4, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        summary->conditions.clock_hz = conditions_fir().clock_hz * cases[i].part;
        fresh_compare(0.1);
        assert_int_equal(count_of_list(compared, "not_comparable"), !cases[i].comparable);
        assert_int_equal(line_verdict(compared), cases[i].comparable ? VERDICT_PASS : VERDICT_NOT_COMPARABLE);
        if (cases[i].part == 4)
            assert_string_equal(first_of_list(compared, "not_comparable"),
                                "another clock: 666.7 MHz in the baseline, 2.667 GHz now");
    }
}

/* Of a few milliseconds: it says where the clock may be, or was as long as the core slept. */
FIR_TEST(a_measured_clock_is_no_reason_against)
{
    struct summary *before = summary_fir();
    static const struct {
        const char *base_source, *now_source;
        double base_hz, base_error, now_hz, now_error;
        size_t reasons, notes;
    } cases[] = {
        {"measured", "measured", 10.2e6, 0.2e6, 10.54e6, 0.1e6, 0, 0},
        {"measured", "measured", 9.344e6, 561.7e3, 12e6, 1e5, 0, 1},
        {"measured", "--freq", 9.344e6, 0, 12e6, 0, 0, 1},
        {"SystemCoreClock", "measured", 48e6, 0, 24e6, 1e5, 0, 1},
        {"--freq", "SystemCoreClock", 48e6, 0, 24e6, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conditions *base = &before->conditions, *now = &summary->conditions;
        snprintf(base->clock_source, sizeof base->clock_source, "%s", cases[i].base_source);
        snprintf(now->clock_source, sizeof now->clock_source, "%s", cases[i].now_source);
        base->clock_hz = cases[i].base_hz;
        base->clock_error_hz = cases[i].base_error;
        now->clock_hz = cases[i].now_hz;
        now->clock_error_hz = cases[i].now_error;
        struct baseline *baseline = baseline_of(before);
        COMPARE(baseline, 0.1);
        assert_int_equal(count_of_list(compared, "not_comparable"), cases[i].reasons);
        assert_int_equal(count_of_list(compared, "notes"), cases[i].notes);
        assert_int_equal(column_verdict(compared, 0),
                         cases[i].reasons > 0 ? VERDICT_NOT_COMPARABLE : VERDICT_PASS);
        if (i == 1)
            assert_string_equal(first_of_list(compared, "notes"),
                                "clocks differ, as measured (9.344 MHz -> 12 MHz): cycles are compared");
        baseline_drop(baseline);
    }
    summary_free(before);
}

FIR_TEST(all_that_differs_is_named)
{
    summary->conditions =
        (struct conditions){.link = "cmsis-dap", .core = "Cortex-M4", .clock_hz = 1, .elf = "b"};
    summary->n = 1;
    fresh_compare(0);
    assert_int_equal(count_of_list(compared, "not_comparable"), 6);
    assert_int_equal(count_of_list(compared, "notes"), 0);
    assert_string_equal(field_text(compared, "columns.L1D_CACHE_REFILL.why"),
                        "baseline is for fir_filter to its return, this run for unknown to unknown; "
                        "baseline is of app.elf, this run of b (--any-elf compares them); "
                        "another kind of link: openocd in the baseline, cmsis-dap now; "
                        "another core: Cortex-A9 r3p0 core 0 in the baseline, Cortex-M4 now; "
                        "another counter: PMUv1, 6 counters in the baseline, unknown now; "
                        "another clock: 666.7 MHz in the baseline, 1 Hz n");
}

FIR_TEST(another_warmup_is_a_note)
{
    summary->warmup = 20;
    fresh_compare(0.1);
    assert_int_equal(line_verdict(compared), VERDICT_PASS);
    assert_int_equal(count_of_list(compared, "notes"), 1);
    assert_string_equal(first_of_list(compared, "notes"), "warm-up differs: 0 -> 20 hits");
}

FIR_TEST(columns_on_one_side)
{
    struct summary *before = summary_fir();
    SUMMARY_COLUMN(before, "OLD", {1, 5});
    snprintf(SUMMARY_COLUMN(before, "NEITHER", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(before, "OLD_UNSUPPORTED", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(summary, "NEITHER", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(summary, "NEW_UNSUPPORTED", {0, 0})->unsupported, 96, "not here");
    snprintf(summary->columns[1].unsupported, 96, "not today");
    SUMMARY_COLUMN(summary, "NE\x07W", {1, 5});
    summary->columns[2].calibrated = false;
    summary->columns[0].at_least = 1;
    snprintf(before->ended, sizeof before->ended, "Ctrl-C");
    struct baseline *baseline = baseline_of(before);
    COMPARE(baseline, 0.5);
    assert_int_equal(json_object_size(json_object_get(compared, "columns")), 5);
    for (size_t i = 0; i < json_object_size(json_object_get(compared, "columns"));
         i++) /* the first has a bound, which another run may not have */
        assert_int_equal(column_verdict(compared, i), i == 0 ? VERDICT_INCONCLUSIVE : VERDICT_NOT_COMPARABLE);
    assert_int_equal(line_verdict(compared), VERDICT_NOT_COMPARABLE);
    expect(compared, "comparison/one_side.txt");
    baseline_drop(baseline);
    summary_free(before);
}

SLOWER_TEST(as_json)
{
    assert_true(json_line_write(output(), compared));
    output_is_golden("comparison/regressed.jsonl");
    summary->n = 1;
    summary->columns[0].at_least = 1;
    snprintf(summary->conditions.core, sizeof summary->conditions.core, "a \"b\"");
    fresh_compare(0.02);
    assert_true(json_line_write(output(), compared));
    output_is_golden("comparison/not_comparable.jsonl");
}
