/* What stat -a and watch -a print, compared byte by byte, in each of their formats. */
#include "golden.h"

#include "report/counts.h"
#include "report/summaries.h"

#include <math.h>

/* Two CPUs of one core, the core, and all. */
static struct cores_row rows[4];
static struct cores_table table;

static int set_up(void **state)
{
    (void)state;
    table = (struct cores_table){
        .n_columns = 3, .n_metrics = 1, .rows = rows, .n_rows = 4, .passes = 1, .skew_us = 90};
    table.columns[0].name = "TSC";
    table.columns[1].name = "L2_READ_MISS:cmask=2:inv";
    table.columns[2].name = "DATA_READ";
    table.columns[2].unsupported = "the counters are taken";
    for (int i = 0; i < 4; i++) {
        rows[i] = (struct cores_row){
            .cpu = i < 2 ? i : -1, .core = i < 3 ? 60 : -1, .cpus = i < 2 ? 1 : 2, .seconds = 0.5};
        rows[i].values[0] = (struct cores_value){.count = 550000000, .counted = true};
        rows[i].values[1] = (struct cores_value){
            .count = UINT64_C(1000) * (unsigned)(i + 1), .counted = true, .at_least = i == 2};
        rows[i].metrics[0] = (struct metric_result){.name = "CPI", .value = i == 3 ? (double)NAN : 1.25};
    }
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, NULL)

static void expect(enum format format, char separator, const char *name)
{
    assert_true(cores_print(output(), &table, format, separator));
    output_is_golden(name);
}

FRESH_TEST(a_table_has_a_line_a_core_and_the_sum)
{
    expect(FORMAT_TEXT, ',', "cores/table.txt");
    table.passes = 2;
    table.lost = 3;
    table.n_columns = 1;
    table.n_metrics = 0;
    expect(FORMAT_TEXT, ',', "cores/passes.txt");
}

FRESH_TEST(an_interval_tells_when_it_ended)
{
    table.n_columns = 1;
    table.n_metrics = 0;
    table.since_begin = 2.5;
    expect(FORMAT_TEXT, ',', "cores/interval.txt");
    expect(FORMAT_CSV, ';', "cores/interval.csv");
}

FRESH_TEST(csv_has_a_line_a_core_and_event)
{
    expect(FORMAT_CSV, ',', "cores/table.csv");
}

FRESH_TEST(json_has_every_cpu_too)
{
    table.n_columns = 2;
    expect(FORMAT_JSON, ',', "cores/table.jsonl");
    table.since_begin = 1;
    table.n_rows = 1;
    table.n_columns = 0;
    table.n_metrics = 0;
    expect(FORMAT_JSON, ',', "cores/interval.jsonl");
}

FRESH_TEST(an_output_that_is_full_is_told)
{
    const struct conditions conditions = conditions_fir();
    assert_false(cores_print(output_full(), &table, FORMAT_TEXT, ','));
    assert_false(cores_begin(output_full(), &conditions, &table, FORMAT_TEXT, ','));
}
