/* A run against its baseline: whether the two can be compared, a verdict a column, and how it is shown. */
#include "golden.h"
#include "report/baselines.h"

#include <jansson.h>
#include <math.h>

static void expect(const struct comparison *comparison, const char *name)
{
    assert_true(comparison_print(output(), comparison));
    output_is_golden(name);
}

TEST(a_column_each)
{
    struct summary *now = summary_slower(900);
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    assert_int_equal(comparison->verdict, VERDICT_REGRESSED);
    expect(comparison, "comparison/a_column_each.txt");
    free(comparison);
    comparison = comparison_with_fir(now, 0.06);
    assert_int_equal(comparison->verdict, VERDICT_PASS);
    assert_int_equal(comparison->lines[2].verdict, VERDICT_PASS);
    free(comparison);
    summary_free(now);
}

TEST(one_column_speaks_for_itself)
{
    struct summary *before = calloc(1, sizeof *before), *now = calloc(1, sizeof *now);
    struct comparison comparison;
    SUMMARY_COLUMN(before, "CPU_CYCLES", {475, 100});
    SUMMARY_COLUMN(now, "CPU_CYCLES", {475, 100});
    struct baseline *baseline = baseline_of(before);
    baseline->started[0] = '\0';
    baseline_compare(baseline, now, 0, &comparison);
    expect(&comparison, "comparison/one_column.txt");
    statistics_add(now->columns[0].statistics, 474);
    baseline_compare(baseline, now, 0, &comparison);
    assert_int_equal(comparison.verdict, VERDICT_INCONCLUSIVE); /* now it varies */
    now->n = baseline->n = 0;
    baseline_compare(baseline, now, 0, &comparison);
    expect(&comparison, "comparison/no_column.txt");
    now->n = 1;
    free(baseline);
    summary_free(before);
    summary_free(now);
}

/* What is put in the place of a condition, and what is then said; NULL: the two are still comparable. */
static void assert_condition(size_t at, size_t size, const char *text, const char *reason)
{
    struct summary *now = summary_slower(900);
    snprintf((char *)&now->conditions + at, size, "%s", text);
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    if (reason == NULL) {
        assert_int_equal(comparison->n_reasons, 0);
        assert_int_equal(comparison->verdict, VERDICT_REGRESSED);
    } else {
        assert_int_equal(comparison->n_reasons, 1);
        assert_string_equal(comparison->reasons[0], reason);
        assert_int_equal(comparison->verdict, VERDICT_INCONCLUSIVE);
        for (size_t i = 0; i < comparison->n; i++) {
            assert_int_equal(comparison->lines[i].verdict, VERDICT_INCONCLUSIVE);
            assert_true(strncmp(comparison->lines[i].why, "not comparable: another ", 24) == 0);
        }
    }
    free(comparison);
    summary_free(now);
}

#define CONDITION(field, text, reason)                                                                       \
    assert_condition(offsetof(struct conditions, field), sizeof((struct conditions *)NULL)->field, text,     \
                     reason)

TEST(conditions)
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

TEST(clocks)
{
    static const struct {
        double part;
        bool comparable;
    } cases[] = {{0, true}, {0.9901, true}, {1.0099, true}, {0.98, false}, {1.02, false}, {4, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary *now = summary_fir();
        now->conditions.clock_hz *= cases[i].part;
        struct comparison *comparison = comparison_with_fir(now, 0.1);
        assert_int_equal(comparison->n_reasons, !cases[i].comparable);
        assert_int_equal(comparison->verdict, cases[i].comparable ? VERDICT_PASS : VERDICT_INCONCLUSIVE);
        if (cases[i].part == 4)
            assert_string_equal(comparison->reasons[0],
                                "another clock: 666.7 MHz in the baseline, 2.667 GHz now");
        free(comparison);
        summary_free(now);
    }
}

TEST(all_that_differs_is_named)
{
    struct summary *now = summary_fir();
    now->conditions =
        (struct conditions){.link = "cmsis-dap", .core = "Cortex-M4", .clock_hz = 1, .elf = "b"};
    now->n = 1;
    struct comparison *comparison = comparison_with_fir(now, 0);
    now->n = 3;
    assert_int_equal(comparison->n_reasons, 7);
    assert_int_equal(comparison->n_notes, 0);
    assert_string_equal(comparison->lines[2].why,
                        "not comparable: another kind of link, another core, another counter, another clock, "
                        "another ELF, another start, another end");
    free(comparison);
    comparison = comparison_with_fir(now, 0);
    comparison->n = 1;
    expect(comparison, "comparison/all_that_differs.txt");
    free(comparison);
    summary_free(now);
}

TEST(columns_on_one_side)
{
    struct summary *before = summary_fir(), *now = summary_fir();
    struct comparison comparison;
    SUMMARY_COLUMN(before, "OLD", {1, 5});
    snprintf(SUMMARY_COLUMN(before, "NEITHER", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(before, "OLD_UNSUPPORTED", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(now, "NEITHER", {0, 0})->unsupported, 96, "not here");
    snprintf(SUMMARY_COLUMN(now, "NEW_UNSUPPORTED", {0, 0})->unsupported, 96, "not here");
    snprintf(now->columns[1].unsupported, 96, "not today");
    SUMMARY_COLUMN(now, "NE\x07W", {1, 5});
    now->columns[2].calibrated = false;
    now->columns[0].at_least = 1;
    snprintf(before->ended, sizeof before->ended, "Ctrl-C");
    struct baseline *baseline = baseline_of(before);
    baseline_compare(baseline, now, 0.5, &comparison);
    static const struct {
        const char *name, *why;
    } lines[] = {{"CPU_CYCLES", "of some hits now only a lower bound is known"},
                 {"LD_RETIRED", "not supported now"},
                 {"L1D_CACHE_REFILL", "what a halt adds is removed in the baseline, but not now"},
                 {"NE\xEF\xBF\xBDW", "not counted in the baseline"},
                 {"OLD", "not counted now"}};
    assert_int_equal(comparison.n, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < comparison.n; i++) {
        assert_string_equal(comparison.lines[i].name, lines[i].name);
        assert_string_equal(comparison.lines[i].why, lines[i].why);
        assert_int_equal(comparison.lines[i].verdict, VERDICT_INCONCLUSIVE);
    }
    assert_int_equal(comparison.n_notes, 1);
    assert_string_equal(comparison.notes[0], "the baseline ended early: Ctrl-C");
    assert_ptr_equal(comparison_find(&comparison, "NE\x07W"), &comparison.lines[3]);
    assert_null(comparison_find(&comparison, "NEITHER"));
    assert_ptr_equal(comparison_column(now, &comparison.lines[3]), &now->columns[5]);
    assert_null(comparison_column(now, &comparison.lines[4]));
    assert_true(comparison_print(output(), &comparison));
    char *text = output_text(NULL);
    assert_non_null(
        strstr(text, "OLD                   1 -> -                    inconclusive (threshold 50 %): not "
                     "counted now\n"));
    free(text);
    free(baseline);
    summary_free(before);
    summary_free(now);
}

TEST(as_json)
{
    struct summary *now = summary_slower(900);
    now->n = 1;
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    now->n = 3;
    comparison->n = 1;
    comparison->lines[0].now.max = UINT64_MAX;
    comparison->lines[0].now.at_least = true;
    comparison->lines[0].base.mean = 18000.25;
    comparison->lines[0].base.sd = 0.5;
    comparison->lines[0].now.mean = 19000;
    comparison->lines[0].now.sd = 0;
    comparison->lines[0].change = 0.125;
    assert_true(comparison_json(output(), comparison));
    output_is_golden("comparison/regressed.jsonl");
    comparison->lines[0].change = (double)NAN;
    comparison->lines[0].base = (struct verdict_side){0};
    comparison->n_reasons = 1;
    snprintf(comparison->reasons[0], sizeof comparison->reasons[0], "a \"b\"");
    assert_true(comparison_json(output(), comparison));
    char *text = output_text(NULL);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    const json_t *column = json_object_get(json_object_get(json, "columns"), "CPU_CYCLES");
    assert_null(json_object_get(column, "change"));
    assert_int_equal(json_object_size(json_object_get(column, "base")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json, "not_comparable"), 0)),
                        "a \"b\"");
    json_decref(json);
    free(text);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(comparison_json(full, comparison));
    assert_false(comparison_print(full, comparison));
    fclose(full);
    free(comparison);
    summary_free(now);
}
