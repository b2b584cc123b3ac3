/* A run against its baseline: whether the two can be compared, a verdict a column, and how it is shown. */
#include "report/fresh.h"

#include "report/results.h"

#include <math.h>

#define COMPARE(baseline, threshold)                                                                         \
    (json_decref(compared), compared = live_compare(baseline, summary, threshold, 1))

static size_t list_length(const char *key)
{
    return json_array_size(field_of(compared, key));
}

static const char *first_text(const char *key)
{
    return text_or_empty(json_array_get(field_of(compared, key), 0));
}

static void columns_are(enum verdict first, enum verdict others, const char *why)
{
    json_t *columns = json_object_get(compared, "columns"), *column;
    const char *name;
    bool is_first = true;
    json_object_foreach(columns, name, column) {
        assert_int_equal(line_verdict(column), is_first ? first : others);
        if (why != NULL)
            assert_string_equal(field_text(column, "why"), why);
        is_first = false;
    }
}

SLOWER_TEST(a_column_each)
{
    assert_int_equal(line_verdict(compared), VERDICT_REGRESSED);
    comparison_print(compared);
    output_is_golden("comparison/a_column_each.txt");
    fresh_compare(0.1);
    assert_int_equal(line_verdict(compared), VERDICT_PASS);
    assert_int_equal(line_verdict(field_of(compared, "columns.L1D_CACHE_REFILL")), VERDICT_PASS);
}

FRESH_TEST(there_may_be_nothing_to_compare)
{
    struct summary *before = calloc(1, sizeof *before);
    assert_non_null(before);
    struct baseline *baseline = baseline_of(before);
    json_object_del(baseline->header, "started");
    COMPARE(baseline, 0);
    comparison_print(compared);
    output_is("baseline main.jsonl\nverdict: not comparable, there is nothing to compare\n");
    baseline_drop(baseline);
    summary_free(before);
}

/* What is put in the place of a condition, and what is then said; NULL: the two are still comparable. */
static void assert_condition(size_t at, size_t size, const char *text, const char *reason)
{
    fresh_end();
    fresh_slower();
    snprintf((char *)&summary->conditions + at, size, "%s", text);
    fresh_compare(0.02);
    assert_int_equal(list_length("not_comparable"), reason != NULL);
    assert_int_equal(line_verdict(compared), reason != NULL ? VERDICT_NOT_COMPARABLE : VERDICT_REGRESSED);
    if (reason != NULL)
        columns_are(VERDICT_NOT_COMPARABLE, VERDICT_NOT_COMPARABLE, reason);
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
    CONDITION(elf, "build/test.elf", NULL);
    CONDITION(build_id, "", NULL);
    CONDITION(clock_source, "--freq", NULL);
}

/* By an address or an offset it is the same code in the same build alone: by what is loaded, or an
 * ID. */
FIR_TEST(a_place_by_its_address_is_of_one_build)
{
    static const struct {
        const char *start, *end, *before, *now, *hash, *its;
        bool same;
    } of[] = {{"*0x10000200", "its return", "1a", "1a", "", "", true},
              {"*0x10000200", "its return", "1a", "1b", "", "", false},
              {"*0x10000200", "its return", "", "", "", "", false},
              {"0x10000200", "its return", "1a", "1b", "", "", false},
              {"fir", "*0x10000200", "1a", "1b", "", "", false},
              {"fir", "0x10000200", "", "", "", "", false},
              {"fir+0x10", "its return", "1a", "1b", "", "", false},
              {"fir+0x10", "its return", "1a", "1a", "", "", true},
              {"fir+0x10", "its return", "", "", "1a", "1a", true},
              {"fir+0x10", "its return", "", "", "1a", "1b", false},
              {"fir+0x10", "its return", "1a", "1a", "1a", "1b", false},
              {"fir+0x10", "its return", "1a", "", "", "1b", false},
              {"fir.c:12", "its return", "1a", "1b", "", "", true},
              {"fir.c:12", "fir.c:15", "", "", "", "", true},
              {"fir.c:12", "*0x10000200", "1a", "1b", "", "", false}};
    for (size_t i = 0; i < COUNT(of); i++) {
        struct summary *before = summary_fir();
        snprintf(before->conditions.start, sizeof before->conditions.start, "%s", of[i].start);
        snprintf(before->conditions.end, sizeof before->conditions.end, "%s", of[i].end);
        summary->conditions = before->conditions;
        snprintf(before->conditions.build_id, sizeof before->conditions.build_id, "%s", of[i].before);
        snprintf(before->conditions.elf_hash, sizeof before->conditions.elf_hash, "%s", of[i].hash);
        snprintf(summary->conditions.elf_hash, sizeof summary->conditions.elf_hash, "%s", of[i].its);
        snprintf(summary->conditions.build_id, sizeof summary->conditions.build_id, "%s", of[i].now);
        struct baseline *baseline = baseline_of(before);
        COMPARE(baseline, 0.02);
        assert_int_equal(list_length("not_comparable"), of[i].same ? 0 : 1);
        baseline_drop(baseline);
        summary_free(before);
    }
}

/* A measured one does not speak against it: of a few milliseconds it says where the clock may be, or was as
 * long as the core slept. */
FIR_TEST(clocks)
{
    struct summary *before = summary_fir();
    static const struct {
        const char *base_source, *now_source;
        double base_hz, base_error, now_hz, now_error;
        const char *reason, *note; /* NULL: none */
    } cases[] = {
        {"--freq", "--freq", 100e6, 0, 0, 0, NULL, NULL},
        {"--freq", "--freq", 100e6, 0, 99.01e6, 0, NULL, NULL},
        {"--freq", "--freq", 100e6, 0, 100.99e6, 0, NULL, NULL},
        {"--freq", "--freq", 100e6, 0, 98e6, 0, "another clock: 100 MHz in the baseline, 98 MHz now", NULL},
        {"--freq", "SystemCoreClock", 100e6, 0, 102e6, 0,
         "another clock: 100 MHz in the baseline, 102 MHz now", NULL},
        {"measured", "measured", 10.2e6, 0.2e6, 10.54e6, 0.1e6, NULL, NULL},
        {"measured", "measured", 9.344e6, 561.7e3, 12e6, 1e5, NULL,
         "clocks differ, as measured (9.344 MHz -> 12 MHz): cycles are compared"},
        {"measured", "--freq", 9.344e6, 0, 12e6, 0, NULL,
         "clocks differ, as measured (9.344 MHz -> 12 MHz): cycles are compared"},
        {"SystemCoreClock", "measured", 48e6, 0, 24e6, 1e5, NULL,
         "clocks differ, as measured (48 MHz -> 24 MHz): cycles are compared"},
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
        assert_int_equal(list_length("not_comparable"), cases[i].reason != NULL);
        assert_int_equal(list_length("notes"),
                         1 + (cases[i].note != NULL)); /* and the baseline's tainted hits */
        assert_int_equal(line_verdict(field_of(compared, "columns.CPU_CYCLES")),
                         cases[i].reason != NULL ? VERDICT_NOT_COMPARABLE : VERDICT_PASS);
        if (cases[i].reason != NULL)
            assert_string_equal(first_text("not_comparable"), cases[i].reason);
        if (cases[i].note != NULL)
            assert_string_equal(first_text("notes"), cases[i].note);
        baseline_drop(baseline);
    }
    summary_free(before);
}

FIR_TEST(all_that_differs_is_named)
{
    summary->conditions =
        (struct conditions){.link = "cmsis-dap", .core = "Cortex-M4", .clock_hz = 1, .elf = "b"};
    memset(summary->conditions.start, 's', 100);
    summary->n = 1;
    fresh_compare(0);
    assert_int_equal(list_length("not_comparable"), 5);
    assert_int_equal(list_length("notes"), 2); /* the ELF's name, the baseline's tainted hits */
    /* As many as there is room for */
    const char *why = field_text(compared, "columns.L1D_CACHE_REFILL.why");
    assert_int_equal(strlen(why), sizeof((struct verdict_line *)NULL)->why - 1);
    assert_non_null(strstr(why, "; another kind of link: openocd in the baseline, cmsis-dap now; "));
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
    /* The first has a bound, which another run may not have */
    columns_are(VERDICT_INCONCLUSIVE, VERDICT_NOT_COMPARABLE, NULL);
    assert_int_equal(line_verdict(compared), VERDICT_NOT_COMPARABLE);
    comparison_print(compared);
    output_is_golden("comparison/one_side.txt");
    baseline_drop(baseline);
    summary_free(before);
}

SLOWER_TEST(its_line)
{
    summary->columns[0].at_least = 1;
    snprintf(summary->conditions.core, sizeof summary->conditions.core, "a \"b\"");
    fresh_compare(0.02);
    assert_true(json_line_write(output(), compared));
    output_is_golden("comparison/not_comparable.jsonl");
}
