/* What stat prints, compared byte by byte, in each of its formats. */
#include "golden.h"

#include "report/counts.h"
#include "report/summaries.h"

#include <math.h>

static struct counts two_rows(void)
{
    struct counts counts = {.n = 2, .passes = 1, .seconds = 2.5, .skew_us = 120};
    counts.rows[0] =
        (struct counts_row){.name = "CPU_CYCLES", .count = 250000000, .seconds = 2.5, .counted = true};
    counts.rows[1] =
        (struct counts_row){.name = "LD_RETIRED", .count = 1234567, .seconds = 2.5, .counted = true};
    return counts;
}

enum part { BEGIN, INTERVAL, END };

static void print(const struct counts *counts, enum part part, enum format format, char separator)
{
    const struct conditions conditions = conditions_fir();
    FILE *out = output();
    assert_true(part == BEGIN      ? counts_begin(out, &conditions, counts, format, separator)
                : part == INTERVAL ? counts_interval(out, counts, format, separator)
                                   : counts_end(out, counts, format, separator));
}

static void expect(const struct counts *counts, enum part part, enum format format, char separator,
                   const char *expected)
{
    print(counts, part, format, separator);
    output_is(expected);
}

static void expect_end(const struct counts *counts, const char *name)
{
    print(counts, END, FORMAT_TEXT, ',');
    output_is_golden(name);
}

TEST(totals_with_their_rates)
{
    struct counts counts = two_rows();
    expect(&counts, BEGIN, FORMAT_TEXT, ',',
           "openocd localhost:6666     Cortex-A9 r3p0 core 0     PMUv1, 6 counters\n"
           "fir_filter  fir.c:42 to its return\n");
    expect_end(&counts, "counts/totals.txt");
}

TEST(one_counter_needs_no_word_on_the_others)
{
    struct counts counts = two_rows();
    counts.n = 1;
    expect_end(&counts, "counts/one_counter.txt");
}

TEST(bounds_and_what_was_not_counted)
{
    struct counts counts = two_rows();
    counts.n = 4;
    counts.rows[0].at_least = true;
    counts.rows[1].counted = false;
    counts.rows[2] = (struct counts_row){.name = "LDREX_SPEC", .unsupported = "this core has no such event"};
    counts.rows[3] = (struct counts_row){
        .name = "BIG", .count = UINT64_MAX, .counted = true, .at_least = true, .unsupported = ""};
    counts.lost = 1234;
    counts.passes = 2;
    expect_end(&counts, "counts/bounds.txt");
}

TEST(halts_that_a_look_takes_are_told)
{
    struct counts counts = two_rows();
    counts.skew_us = 0;
    counts.halts = 5;
    counts.halted_us = 12750;
    expect_end(&counts, "counts/halts.txt");
}

TEST(an_interval_has_its_time_and_what_it_counted)
{
    struct counts counts = two_rows();
    counts.rows[1].counted = false; /* of another pass */
    counts.since_begin = 12.25;
    expect(&counts, INTERVAL, FORMAT_TEXT, ',',
           "   12.250000              250,000,000  CPU_CYCLES                       100,000,000 /s\n");
    expect(&counts, INTERVAL, FORMAT_CSV, ';', "12.250000;250000000;CPU_CYCLES;2.500000;100000000.000;\n");
}

TEST(csv_has_as_many_fields_in_each_line)
{
    struct counts counts = two_rows();
    counts.n = 3;
    counts.rows[1].at_least = true;
    counts.rows[2] = (struct counts_row){.name = "LDREX_SPEC", .unsupported = "no"};
    counts.n_metrics = 2;
    counts.metrics[0] = (struct metric_result){.name = "ipc", .unit = "per cycle", .value = 0.4938268};
    counts.metrics[1] = (struct metric_result){.name = "miss", .value = NAN};
    expect(&counts, BEGIN, FORMAT_CSV, ',', "");
    print(&counts, END, FORMAT_CSV, ',');
    output_is_golden("counts/fields.csv");
}

TEST(metrics_stand_below_the_counts)
{
    struct counts counts = two_rows();
    counts.n = 1;
    counts.n_metrics = 3;
    counts.metrics[0] = (struct metric_result){.name = "ipc", .value = 1234567.5};
    counts.metrics[1] = (struct metric_result){.name = "miss", .unit = "%", .value = 12.5};
    counts.metrics[2] = (struct metric_result){.name = "none", .value = INFINITY};
    expect_end(&counts, "counts/metrics.txt");
}

/* A window of no length has no rate, and divides by nothing. */
TEST(a_window_of_no_length)
{
    struct counts counts = two_rows();
    counts.n = 1;
    counts.rows[0].seconds = 0;
    expect(&counts, INTERVAL, FORMAT_CSV, ',', "250000000,CPU_CYCLES,0.000000,0.000,\n");
}

TEST(json_lines_are_of_their_kinds)
{
    const struct counts counts = two_rows();
    const struct conditions conditions = conditions_fir();
    FILE *out = output();
    assert_true(counts_begin(out, &conditions, &counts, FORMAT_JSON, ','));
    assert_true(counts_interval(out, &counts, FORMAT_JSON, ','));
    assert_true(counts_end(out, &counts, FORMAT_JSON, ','));
    char *text = output_text(NULL), *rest = text;
    static const char *const types[] = {"\"header\"", "\"sample\"", "\"summary\""};
    for (size_t i = 0; i < 3; i++) {
        char *line = strtok_r(rest, "\n", &rest);
        assert_non_null(line);
        assert_non_null(strstr(line, types[i]));
        assert_non_null(strstr(line, "CPU_CYCLES"));
        assert_true(i == 0 || strstr(line, "250000000") != NULL);
    }
    assert_null(strtok_r(rest, "\n", &rest));
    free(text);
}

TEST(a_full_disk_is_told)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    const struct conditions conditions = conditions_fir();
    const struct counts counts = two_rows();
    for (size_t i = 0; i < 3; i++) {
        if (formats[i] != FORMAT_CSV) /* which has no header */
            assert_false(counts_begin(output_full(), &conditions, &counts, formats[i], ','));
        assert_false(counts_interval(output_full(), &counts, formats[i], ','));
        assert_false(counts_end(output_full(), &counts, formats[i], ','));
    }
}
