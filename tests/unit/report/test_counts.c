/* What stat prints, compared byte by byte, in each of its formats. */
#include "golden.h"

#include "report/counts.h"
#include "report/summaries.h"

#include <math.h>

static struct counts counts;

static int two_rows(void **state)
{
    (void)state;
    counts = (struct counts){.n = 2, .passes = 1, .seconds = 2.5, .skew_us = 120};
    counts.rows[0] =
        (struct counts_row){.name = "CPU_CYCLES", .count = 250000000, .seconds = 2.5, .counted = true};
    counts.rows[1] =
        (struct counts_row){.name = "LD_RETIRED", .count = 1234567, .seconds = 2.5, .counted = true};
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, two_rows, NULL)

enum part { BEGIN, INTERVAL, END };

static bool print(FILE *out, enum part part, enum format format, char separator)
{
    const struct conditions conditions = conditions_fir();
    return part == BEGIN      ? counts_begin(out, &conditions, &counts, format, separator)
           : part == INTERVAL ? counts_interval(out, &counts, format, separator)
                              : counts_end(out, &counts, format, separator);
}

static void expect(enum part part, enum format format, char separator, const char *expected)
{
    assert_true(print(output(), part, format, separator));
    output_is(expected);
}

static void expect_end(enum format format, const char *name)
{
    assert_true(print(output(), END, format, ','));
    output_is_golden(name);
}

FRESH_TEST(totals_with_their_rates)
{
    expect(BEGIN, FORMAT_TEXT, ',',
           "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
           "fir_filter  fir.c:42 to its return\n");
    expect_end(FORMAT_TEXT, "counts/totals.txt");
}

FRESH_TEST(one_counter_needs_no_word_on_the_others)
{
    counts.n = 1;
    assert_true(print(output(), END, FORMAT_TEXT, ','));
    char *text = output_text(NULL);
    assert_null(strstr(text, "apart"));
    free(text);
}

FRESH_TEST(bounds_and_what_was_not_counted)
{
    counts.n = 4;
    counts.rows[0].at_least = true;
    counts.rows[1].counted = false;
    counts.rows[2] = (struct counts_row){.name = "LDREX_SPEC", .unsupported = "this core has no such event"};
    counts.rows[3] = (struct counts_row){
        .name = "BIG", .count = UINT64_MAX, .counted = true, .at_least = true, .unsupported = ""};
    counts.lost = 1234;
    counts.passes = 2;
    expect_end(FORMAT_TEXT, "counts/bounds.txt");
}

FRESH_TEST(halts_that_a_look_takes_are_told)
{
    counts.skew_us = 0;
    counts.halts = 5;
    counts.halted_us = 12750;
    expect_end(FORMAT_TEXT, "counts/halts.txt");
}

FRESH_TEST(an_interval_has_its_time_and_what_it_counted)
{
    counts.rows[1].counted = false; /* of another pass */
    counts.since_begin = 12.25;
    expect(INTERVAL, FORMAT_TEXT, ',',
           "   12.250000          250,000,000  CPU_CYCLES                   100,000,000 /s\n");
    expect(INTERVAL, FORMAT_CSV, ';', ";CPU_CYCLES;cycles;250000000;12.250000;2.500000;100000000.000;\n");
}

FRESH_TEST(csv_has_as_many_fields_in_each_line)
{
    counts.n = 3;
    counts.rows[1].at_least = true;
    counts.rows[2] = (struct counts_row){.name = "LDREX_SPEC", .unsupported = "no"};
    counts.n_metrics = 2;
    counts.metrics[0] = (struct metric_result){.name = "ipc", .unit = "per cycle", .value = 0.4938268};
    counts.metrics[1] = (struct metric_result){.name = "miss", .value = NAN};
    expect(BEGIN, FORMAT_CSV, ',', "region,name,unit,count,since_begin,seconds,per_second,at_least\n");
    expect_end(FORMAT_CSV, "counts/fields.csv");
}

FRESH_TEST(metrics_stand_below_the_counts)
{
    counts.n = 1;
    counts.n_metrics = 3;
    counts.metrics[0] = (struct metric_result){.name = "ipc", .value = 1234567.5};
    counts.metrics[1] = (struct metric_result){.name = "miss", .unit = "%", .value = 12.5};
    counts.metrics[2] = (struct metric_result){.name = "none", .value = INFINITY};
    expect_end(FORMAT_TEXT, "counts/metrics.txt");
}

/* A window of no length has no rate, and divides by nothing. */
FRESH_TEST(a_window_of_no_length)
{
    counts.n = 1;
    counts.rows[0].seconds = 0;
    expect(INTERVAL, FORMAT_CSV, ',', ",CPU_CYCLES,cycles,250000000,,0.000000,0.000,\n");
}

FRESH_TEST(json_lines_are_of_their_kinds)
{
    assert_true(print(output(), BEGIN, FORMAT_JSON, ','));
    char *text = output_text(NULL);
    assert_non_null(strstr(text, "\"header\""));
    assert_non_null(strstr(text, "CPU_CYCLES"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(text);
    assert_true(print(output(), INTERVAL, FORMAT_JSON, ','));
    output_is_golden("counts/interval.jsonl");
    expect_end(FORMAT_JSON, "counts/end.jsonl");
}

FRESH_TEST(a_full_disk_is_told)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    for (size_t i = 0; i < 3; i++)
        for (enum part part = BEGIN; part <= END; part++)
            assert_false(print(output_full(), part, formats[i], ','));
}
