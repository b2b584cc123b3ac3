/* A run against its baseline: whether the two can be compared, a verdict a column, and how it is shown. */
#include "report/fresh.h"

#include <math.h>

static void expect(const struct comparison *comparison, const char *name)
{
    assert_true(comparison_print(output(), comparison));
    output_is_golden(name);
}

SLOWER_TEST(a_column_each)
{
    assert_int_equal(compared->verdict, VERDICT_REGRESSED);
    expect(compared, "comparison/a_column_each.txt");
    fresh_compare(0.06);
    assert_int_equal(compared->verdict, VERDICT_PASS);
    assert_int_equal(compared->lines[2].verdict, VERDICT_PASS);
}

FRESH_TEST(one_column_speaks_for_itself)
{
    struct summary *before = calloc(1, sizeof *before);
    struct comparison comparison;
    assert_non_null(before);
    SUMMARY_COLUMN(before, "CPU_CYCLES", {475, 100});
    SUMMARY_COLUMN(summary, "CPU_CYCLES", {475, 100});
    struct baseline *baseline = baseline_of(before);
    baseline->started[0] = '\0';
    baseline_compare(baseline, summary, 0, &comparison);
    expect(&comparison, "comparison/one_column.txt");
    statistics_add(summary->columns[0].statistics, 474);
    baseline_compare(baseline, summary, 0, &comparison);
    assert_int_equal(comparison.verdict, VERDICT_INCONCLUSIVE); /* now it varies */
    summary->n = baseline->n = 0;
    baseline_compare(baseline, summary, 0, &comparison);
    expect(&comparison, "comparison/no_column.txt");
    free(baseline);
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
        assert_int_equal(compared->n_reasons, 0);
        assert_int_equal(compared->verdict, VERDICT_REGRESSED);
    } else {
        assert_int_equal(compared->n_reasons, 1);
        assert_string_equal(compared->reasons[0], reason);
        assert_int_equal(compared->verdict, VERDICT_INCONCLUSIVE);
        for (size_t i = 0; i < compared->n; i++) {
            assert_int_equal(compared->lines[i].verdict, VERDICT_INCONCLUSIVE);
            assert_true(strncmp(compared->lines[i].why, "not comparable: another ", 24) == 0);
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
    CONDITION(start, "iir_filter", "another start: fir_filter in the baseline, iir_filter now");
    CONDITION(end, "*0x10000200", "another end: its return in the baseline, *0x10000200 now");
    CONDITION(start_source, "fir.c:57", NULL);
    CONDITION(elf, "/other/place/app.elf", NULL);
    CONDITION(elf, "", NULL);
    CONDITION(elf, "build/test.elf", "another ELF: app.elf in the baseline, test.elf now");
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
        assert_int_equal(compared->n_reasons, !cases[i].comparable);
        assert_int_equal(compared->verdict, cases[i].comparable ? VERDICT_PASS : VERDICT_INCONCLUSIVE);
        if (cases[i].part == 4)
            assert_string_equal(compared->reasons[0],
                                "another clock: 666.7 MHz in the baseline, 2.667 GHz now");
    }
}

FIR_TEST(all_that_differs_is_named)
{
    summary->conditions =
        (struct conditions){.link = "cmsis-dap", .core = "Cortex-M4", .clock_hz = 1, .elf = "b"};
    summary->n = 1;
    fresh_compare(0);
    assert_int_equal(compared->n_reasons, 7);
    assert_int_equal(compared->n_notes, 0);
    assert_string_equal(compared->lines[2].why,
                        "not comparable: another kind of link, another core, another counter, another clock, "
                        "another ELF, another start, another end");
    summary->n = 3;
    fresh_compare(0);
    compared->n = 1;
    expect(compared, "comparison/all_that_differs.txt");
}

FIR_TEST(columns_on_one_side)
{
    struct summary *before = summary_fir();
    struct comparison comparison;
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
    baseline_compare(baseline, summary, 0.5, &comparison);
    for (size_t i = 0; i < comparison.n; i++)
        assert_int_equal(comparison.lines[i].verdict, VERDICT_INCONCLUSIVE);
    expect(&comparison, "comparison/one_side.txt");
    assert_ptr_equal(comparison_find(&comparison, "NE\x07W"), &comparison.lines[3]);
    assert_null(comparison_find(&comparison, "NEITHER"));
    assert_ptr_equal(comparison_column(summary, &comparison.lines[3]), &summary->columns[5]);
    assert_null(comparison_column(summary, &comparison.lines[4]));
    free(baseline);
    summary_free(before);
}

SLOWER_TEST(as_json)
{
    summary->n = 1;
    fresh_compare(0.02);
    compared->n = 1;
    struct verdict_line *line = &compared->lines[0];
    line->now.max = UINT64_MAX;
    line->now.at_least = true;
    line->base.mean = 18000.25;
    line->base.sd = 0.5;
    line->now.mean = 19000;
    line->now.sd = 0;
    line->change = 0.125;
    assert_true(comparison_json(output(), compared));
    output_is_golden("comparison/regressed.jsonl");
    line->change = (double)NAN;
    line->base = (struct verdict_side){0};
    compared->n_reasons = 1;
    snprintf(compared->reasons[0], sizeof compared->reasons[0], "a \"b\"");
    assert_true(comparison_json(output(), compared));
    output_is_golden("comparison/not_comparable.jsonl");
}

SLOWER_TEST(a_full_disk_is_told)
{
    assert_false(comparison_json(output_full(), compared));
    assert_false(comparison_print(output_full(), compared));
}
