/* What stat -a and watch -a print, compared byte by byte, in each of their formats. */
#include "../test.h"

#include "report/cores.h"
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

static void expect(enum format format, char separator, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(cores_print(out, &table, format, separator));
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

FRESH_TEST(a_table_has_a_line_a_core_and_the_sum)
{
    expect(FORMAT_TEXT, ',',
           "\n"
           "                         TSC  L2_READ_MISS:cmask=2:inv         DATA_READ               CPI\n"
           "core 60          550,000,000                   >=3,000   <not supported>              1.25\n"
           "all              550,000,000                     4,000   <not supported>     <not counted>\n"
           "\n"
           "                0.500000 s  the counters of a CPU are read within 90.00 µs of each other\n");
    table.passes = 2;
    table.lost = 3;
    table.n_columns = 1;
    table.n_metrics = 0;
    expect(FORMAT_TEXT, ',',
           "\n"
           "                         TSC\n"
           "core 60          550,000,000\n"
           "all              550,000,000\n"
           "\n"
           "                0.500000 s  each of the windows;  the counters of a CPU are read within 90.00 µs "
           "of each "
           "other\n"
           "                       3    samples came too late to tell whether a counter had wrapped\n");
}

FRESH_TEST(an_interval_tells_when_it_ended)
{
    table.n_columns = 1;
    table.n_metrics = 0;
    table.since_begin = 2.5;
    expect(FORMAT_TEXT, ',',
           "\n2.500000 s\n"
           "                         TSC\n"
           "core 60          550,000,000\n"
           "all              550,000,000\n");
    expect(FORMAT_CSV, ';',
           "2.500000;core 60;2;550000000;TSC;0.500000;\n2.500000;all;2;550000000;TSC;0.500000;\n");
}

FRESH_TEST(csv_has_a_line_a_core_and_event)
{
    expect(FORMAT_CSV, ',',
           "core 60,2,550000000,TSC,0.500000,\n"
           "core 60,2,3000,L2_READ_MISS:cmask=2:inv,0.500000,at least\n"
           "core 60,2,<not supported>,DATA_READ,0.500000,\n"
           "all,2,550000000,TSC,0.500000,\n"
           "all,2,4000,L2_READ_MISS:cmask=2:inv,0.500000,\n"
           "all,2,<not supported>,DATA_READ,0.500000,\n");
}

FRESH_TEST(json_has_every_cpu_too)
{
    table.n_columns = 2;
    expect(FORMAT_JSON, ',',
           "{\"type\":\"cpu\",\"cpu\":0,\"core\":60,\"cpus\":1,\"seconds\":0.500000,\"columns\":{\"TSC\":{"
           "\"count\":"
           "550000000,\"at_least\":false},\"L2_READ_MISS:cmask=2:inv\":{\"count\":1000,\"at_least\":false}},"
           "\"metrics\":{\"CPI\":1.25}}\n"
           "{\"type\":\"cpu\",\"cpu\":1,\"core\":60,\"cpus\":1,\"seconds\":0.500000,\"columns\":{\"TSC\":{"
           "\"count\":"
           "550000000,\"at_least\":false},\"L2_READ_MISS:cmask=2:inv\":{\"count\":2000,\"at_least\":false}},"
           "\"metrics\":{\"CPI\":1.25}}\n"
           "{\"type\":\"core\",\"core\":60,\"cpus\":2,\"seconds\":0.500000,\"columns\":{\"TSC\":{\"count\":"
           "550000000,"
           "\"at_least\":false},\"L2_READ_MISS:cmask=2:inv\":{\"count\":3000,\"at_least\":true}},\"metrics\":"
           "{\"CPI\":"
           "1.25}}\n"
           "{\"type\":\"all\",\"cpus\":2,\"seconds\":0.500000,\"columns\":{\"TSC\":{\"count\":550000000,\"at_"
           "least\":"
           "false},\"L2_READ_MISS:cmask=2:inv\":{\"count\":4000,\"at_least\":false}},\"metrics\":{\"CPI\":"
           "null}}\n"
           "{\"type\":\"summary\",\"passes\":1,\"skew_us\":90,\"lost\":0}\n");
    table.since_begin = 1;
    table.n_rows = 1;
    table.n_columns = 0;
    table.n_metrics = 0;
    expect(FORMAT_JSON, ',',
           "{\"type\":\"cpu\",\"cpu\":0,\"core\":60,\"since_begin\":1.000000,\"cpus\":1,\"seconds\":0.500000,"
           "\"columns\":"
           "{},\"metrics\":{}}\n");
}

FRESH_TEST(an_output_that_is_full_is_told)
{
    FILE *full = fopen("/dev/full", "we");
    const struct conditions conditions = conditions_fir();
    assert_non_null(full);
    assert_false(cores_print(full, &table, FORMAT_TEXT, ','));
    assert_false(cores_begin(full, &conditions, &table, FORMAT_TEXT));
    fclose(full);
}
