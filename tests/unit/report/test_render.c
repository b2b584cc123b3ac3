/* The renderer of tables by itself: each way to write a value, in each format and width. And what stat and
 * watch print of their lines, of one core and with -a, byte by byte. */
#include "golden.h"
#include "report/counts.h"
#include "report/results.h"
#include "report/views.h"

#include <math.h>

static const struct view_column columns[] = {
    {.key = "name", .heading = "name", .as = AS_NAME},
    {.key = "count", .heading = "count", .as = AS_COUNT, .least = 1},
    {.key = "mean", .heading = "mean", .as = AS_MEAN, .spare = 1},
    {.key = "least", .heading = "least", .as = AS_COUNT, .spare = 2},
    {.key = "share", .heading = "share", .as = AS_SHARE, .needs = "count", .mark = "vague", .none = "?"},
    {.key = "change", .heading = "change", .as = AS_CHANGE},
    {.key = "never", .heading = "never", .as = AS_COUNT},
    {.key = "verdict", .heading = "verdict", .as = AS_VERDICT, .wide = true},
    {.key = "remark", .heading = "remark", .below = true},
    {.key = "odd", .heading = "odd", .optional = true, .only = "odd"},
};
static const struct view view = {.columns = columns,
                                 .n = sizeof columns / sizeof *columns,
                                 .class = "some",
                                 .caption = "A table",
                                 .folds = true,
                                 .reason = "reason",
                                 .faint = "faint"};

static json_t *rows_of(const char *text)
{
    json_error_t error;
    json_t *rows = json_loads(text, 0, &error);
    if (rows == NULL)
        fail_msg("%s", error.text);
    return rows;
}

static json_t *some_rows(void)
{
    return rows_of(
        "[{\"name\":\"fir\",\"count\":18204,\"mean\":94.25,\"least\":7,\"share\":0.4177,\"change\":0.0015,"
        "\"verdict\":[{\"of\":\"pass\",\"before\":\"a: \",\"verdict\":\"pass\"},"
        "{\"of\":\"regressed\",\"verdict\":\"regressed\",\"why\":\": so\",\"bad\":true}]},"
        "{\"name\":\"a name|that is *longer* than its <column>\",\"count\":18446744073709551615.0,"
        "\"mean\":1e9,\"least\":0,\"share\":0.5,\"vague\":true,\"faint\":true,\"remark\":\"not resolved\"},"
        "{\"name\":\"idle\",\"state\":\"not_permitted\",\"count\":0},"
        "{\"name\":\"none\",\"reason\":\"<not counted>: it has no such counter at all\"}]");
}

static void print(FILE *out, enum format format, size_t width, char separator)
{
    const struct rendering to = {.out = out, .format = format, .columns = width, .separator = separator};
    assert_true(render_table(&to, &view, some_rows()));
}

/* Lines of one width after another: what has no room goes below, columns that can be spared are left out,
 * names get lines of their own, and then each row is a block. No number is cut. */
TEST(text_of_each_width)
{
    static const size_t widths[] = {200, 100, 80, 60, 30, 1};
    FILE *out = output();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        fprintf(out, "%s%zu\n", i > 0 ? "\n" : "", widths[i]);
        print(out, FORMAT_TEXT, widths[i], ',');
    }
    output_is_golden("render/table.txt");
}

TEST(other_formats)
{
    print(output(), FORMAT_CSV, 80, ';');
    output_is_golden("render/table.csv");
    print(output(), FORMAT_MARKDOWN, 80, ',');
    output_is_golden("render/table.md");
    print(output(), FORMAT_HTML, 80, ',');
    output_is_golden("render/table.html");
}

/* A heading without rows, rows without a heading, and a separator that numbers are made of. */
TEST(csv_in_parts)
{
    static const struct view_column two[] = {{.key = "a", .heading = "a"}, {.key = "b|c", .heading = "b"}};
    const struct view small = {.columns = two, .n = 2};
    struct rendering to = {.out = output(), .format = FORMAT_CSV, .separator = '.'};
    assert_true(render_table(&to, &small, json_array()));
    to.goes_on = true;
    assert_true(
        render_table(&to, &small, rows_of("[{\"a\":7.5,\"c\":1},{\"a\":\"x.y\",\"b\":0.125,\"c\":2}]")));
    output_is("a.b\n\"7.5\".1\n\"x.y\".\"0.125\"\n");
    assert_false(render_table(&to, &small, NULL));
}

/* A heading where the group changes; code is cut to the line, a reason is in the place of numbers, and notes
 * fold below it all. */
TEST(groups_and_notes)
{
    static const struct view_column parts[] = {
        {.key = "at", .heading = "at", .as = AS_PLACE},
        {.key = "share", .heading = "share", .as = AS_HEAT, .none = "?"},
        {.key = "step", .heading = "step", .as = AS_STEP},
        {.key = "code", .heading = "code", .as = AS_CODE}};
    static const struct view grouped = {.columns = parts,
                                        .n = 4,
                                        .group = "file",
                                        .reason = "reason",
                                        .class = "lines",
                                        .caption = "by file"};
    static const char rows[] =
        "[{\"file\":\"a.c\",\"at\":7,\"share\":0.5,\"step\":0.015,\"code\":\"\\tx = y; /* more than there is "
        "room for */\"},{\"file\":\"a.c\",\"at\":10,\"share\":1e-9,\"code\":\"}\"},"
        "{\"file\":\"b\\u001b.h\",\"at\":1234,\"reason\":\"<not reached>\"}]";
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_HTML};
    FILE *out = output();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct rendering *to = rendering_to(out, formats[i], 40);
        json_t *notes = rows_of("[\"a note of more words than there is room for in a line\",\"<b>\"]");
        assert_true(render_table(to, &grouped, rows_of(rows)));
        render_notes(to, notes);
        json_decref(notes);
    }
    output_is_golden("render/groups.txt");
}

/* Groups of facts: a heading is a line, the last column folds, and takes the places of names that are not
 * there. */
TEST(facts)
{
    static const char rows[] =
        "[{\"group\":\"core 0   M4   running at a place that is long\",\"of\":\"core 0\",\"about\":\"M4\"},"
        "{\"of\":\"core 0\",\"what\":\"dwt\",\"name\":\"CYCCNT\",\"text\":\"idle\"},"
        "{\"of\":\"core 0\",\"what\":\"pmu\",\"name\":\"<a name of more than forty characters, all of "
        "them>\",\"text\":\"more words than there is room for in a line\"},"
        "{\"of\":\"core 0\",\"what\":\"breakpoints\",\"text\":\"6, all free\"},"
        "{\"of\":\"core 0\",\"text\":\"a sentence of more words than there is room for\"},"
        "{\"group\":\"=core\\u001b\",\"of\":\"=core\\u001b\"}]";
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_HTML};
    FILE *out = output();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct view facts = facts_view("info", formats[i]);
        assert_true(render_table(rendering_to(out, formats[i], 40), &facts, rows_of(rows)));
    }
    output_is_golden("render/facts.txt");
}

#define HEADER                                                                                               \
    "{'type':'header','link':'openocd localhost:6666','core':'Cortex-A9 r3p0 core 0','counter':'PMUv1, 6 "   \
    "counters','columns':["
#define CYCLES "'CPU_CYCLES':{'count':250000000,'seconds':2.5,'at_least':false}"
#define TWO    HEADER "'CPU_CYCLES','LD_RETIRED']}\n"

static void show(enum format format, const char *lines, bool has_totals)
{
    struct document document = document_from(lines);
    struct counts_report report = {.to = *TO(format),
                                   .header = document_line(&document, "header"),
                                   .of_cores = document_line(&document, "all") != NULL,
                                   .has_totals = has_totals};
    assert_true(counts_begin(&report));
    assert_true(counts_put(&report, &document));
    document_free(&document);
}

TEST(lines_with_totals)
{
    show(FORMAT_TEXT,
         HEADER
         "'CPU_CYCLES','LSUCNT','L2_READ_MISS:cmask=2:inv']}\n"
         "{'type':'sample','since_begin':1.001,'columns':{"
         "'CPU_CYCLES':{'count':10338019,'seconds':1.0007,'at_least':false},"
         "'LSUCNT':{'count':510,'seconds':1.001,'at_least':true},"
         "'L2_READ_MISS:cmask=2:inv':{'count':18446744073709551615.0,'seconds':1e-9,'at_least':false}},"
         "'metrics':{'CPI':1.25,'none':null}}\n"
         "{'type':'reset','seconds':1.5}\n"
         "{'type':'sample','since_begin':2.001,'columns':{"
         "'CPU_CYCLES':{'count':1,'seconds':1.0,'at_least':false},"
         "'LSUCNT':{'count':0,'seconds':1.0,'at_least':false}}}",
         true);
    output_is_golden("counts/with_totals.txt");
}

/* The counter that is not there is of another pass. A window of no length has no rate. */
TEST(an_interval_has_what_it_counted)
{
    show(FORMAT_CSV,
         TWO "{'type':'sample','since_begin':12.25,'columns':{" CYCLES "}}\n"
             "{'type':'sample','since_begin':0.0,'columns':{'CPU_CYCLES':{'count':7,'seconds':0.0}}}",
         false);
    OUTPUT_HAS("\n,CPU_CYCLES,cycles,250000000,12.250000,2.5", "\n,CPU_CYCLES,cycles,7,,0.000000,0.000,,,\n");
    OUTPUT_LACKS("LD_RETIRED");
}

/* The count is a lower bound, or the time an upper one. */
TEST(rates_that_are_lower_bounds)
{
    static const char lines[] =
        TWO "{'type':'summary','seconds':0.5,'columns':{" CYCLES
            ",'LD_RETIRED':{'count':7,'seconds':0.5,'at_least':true}},'halts':3,'halted_us':2000,"
            "'seconds_at_most':true}";
    static const char bound[] = TWO "{'type':'summary','seconds':0.5,'columns':{" CYCLES
                                    ",'LD_RETIRED':{'count':7,'seconds':0.5,'at_least':true}}}";
    show(FORMAT_TEXT, lines, false);
    OUTPUT_HAS(">=100,000,000 /s", ">=14 /s", "the core was halted 3 times (2.000 ms in all)",
               "rates (>=)\n  are lower bounds: the time between two halts is known at most");
    show(FORMAT_CSV, lines, false);
    OUTPUT_HAS(",rate at least,", ",at least,");
    show(FORMAT_TEXT, bound, false);
    OUTPUT_HAS(" at least 7", ">=14 /s");
    OUTPUT_LACKS(">=100,000,000");
}

TEST(watch_tells_of_sleep_once_and_of_another_clock_at_its_end)
{
    show(FORMAT_TEXT,
         TWO "{'type':'sample','since_begin':1.0,'slept':true,'columns':{" CYCLES "}}\n"
             "{'type':'summary','seconds':1.0,'columns':{" CYCLES
             "},'slept':true,'clock_change':'SystemCoreClock went elsewhere'}",
         true);
    OUTPUT_HAS("the core was seen asleep", "SystemCoreClock went elsewhere");
    show(FORMAT_TEXT,
         TWO "{'type':'sample','since_begin':1.0,'slept':true,'columns':{" CYCLES "}}\n"
             "{'type':'sample','since_begin':2.0,'slept':true,'columns':{" CYCLES "}}",
         true);
    OUTPUT_HAS("the core was seen asleep", "2.000 s");
    char *text = output_text(NULL);
    assert_null(strstr(strstr(text, "seen asleep") + 1, "seen asleep"));
    free(text);
}

/* ---- cores */

#define CORES                                                                                                \
    "{'type':'header','link':'msr','core':'Knights "                                                         \
    "Corner','counter':'PMU','columns':['TSC','L2_READ_MISS:cmask=2:inv','DATA_READ']}\n"
#define CORE(of, l2)                                                                                         \
    "{" of ",'cpus':2,'seconds':0.5,'columns':{'TSC':{'count':550000000,'at_least':false},"                  \
    "'L2_READ_MISS:cmask=2:inv':{'count':" l2 "},'DATA_READ':{'not_supported':'the counters are taken'}},"   \
    "'metrics':{'CPI':1.25,'none':null},'metric_reasons':{'none':'it divides by zero'}}\n"
#define CORE_60 CORE("'type':'core','core':60", "3000,'at_least':true")

TEST(a_table_has_a_line_a_core_and_the_sum)
{
    static const char lines[] = CORES "{'type':'cpu','cpu':0,'core':60,'columns':{}}\n" CORE_60 CORE(
        "'type':'all'", "4000") "{'type':'summary','passes':2,'skew_us':90,'lost':3}";
    show(FORMAT_TEXT, lines, false);
    output_is_golden("counts/cores.txt");
}

TEST(a_full_disk_is_told)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV};
    static const char *const lines[] = {TWO "{'type':'summary','seconds':2.5,'columns':{" CYCLES "}}",
                                        CORES CORE_60 CORE("'type':'all'", "4000")};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++) {
            struct document document = document_from(lines[k]);
            struct counts_report report = {
                .to = *TO_FULL(formats[i]), .header = document_line(&document, "header"), .of_cores = k == 1};
            assert_false(counts_begin(&report));
            assert_false(counts_put(&report, &document));
            document_free(&document);
        }
}
