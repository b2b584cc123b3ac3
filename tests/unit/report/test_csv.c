/* The whole file, compared byte by byte with tests/golden/csv. */
#include "report/fresh.h"

#include "report/documents.h"

#include <math.h>

static void expect(char separator, const char *name)
{
    assert_true(csv_summary(output(), summary, compared, separator));
    output_is_golden(name);
}

static void has_line(const char *line)
{
    assert_true(csv_summary(output(), summary, compared, ','));
    char *text = output_text(NULL);
    if (strstr(text, line) == NULL)
        fail_msg("%s is not in %s", line, text);
    free(text);
}

FIR_TEST(the_documented_example)
{
    expect(',', "csv/the_documented_example.csv");
}

FRESH_TEST(what_has_no_number)
{
    summary_column(summary, "EMPTY", NULL, 0)->calibrated = false;
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    struct column *bounded = summary_column(summary, "LONG", NULL, 0);
    bounded->at_least = 2;
    bounded->at_least_max = UINT64_MAX;
    bounded->overhead = 0.125;
    expect(',', "csv/what_has_no_number.csv");
}

FIR_TEST(metrics_are_lines_of_their_own)
{
    summary->n_metrics = 2;
    summary->metrics[0] = (struct metric_result){.name = "CPI", .unit = "cycles", .value = 1.25};
    summary->metrics[1] = (struct metric_result){.name = "MPKI", .value = (double)NAN};
    has_line("fir_filter,CPI,cycles,,,1.25,,,,,,,,,,\n");
    has_line("fir_filter,MPKI,,,<not counted>,,,,,,,,,,,\n");
}

FRESH_TEST(quoting)
{
    static const struct {
        const char *name;
        char separator;
        const char *field;
    } cases[] = {{"plain", ',', "plain"},
                 {"a,b", ',', "\"a,b\""},
                 {"a,b", ';', "a,b"},
                 {"a;b", ';', "\"a;b\""},
                 {"say \"so\"", ',', "\"say \"\"so\"\"\""},
                 {"\"", ',', "\"\"\"\""},
                 {" edge", ',', "\" edge\""},
                 {"edge ", ',', "\"edge \""},
                 {"two\nlines", ',', "two\xEF\xBF\xBDlines"},
                 {"\xFF\x1b", ',', "\xEF\xBF\xBD\xEF\xBF\xBD"},
                 {"µ", ',', "µ"},
                 {"=cmd|' /C calc'!A1", ',', "'=cmd|' /C calc'!A1"},
                 {"+1", ',', "'+1"},
                 {"-1", ',', "'-1"},
                 {"@SUM(A1)", ',', "'@SUM(A1)"},
                 {"\t=1", ',', "\xEF\xBF\xBD=1"},
                 {"a=b", ',', "a=b"},
                 {"", ',', ""}};
    struct column *column = SUMMARY_COLUMN(summary, "", {7, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(column->name, sizeof column->name, "%s", cases[i].name);
        assert_true(csv_summary(output(), summary, NULL, cases[i].separator));
        char *text = output_text(NULL);
        const char *second = strchr(text, '\n') + 2; /* after an empty region */
        size_t length = strlen(cases[i].field);
        if (strncmp(second, cases[i].field, length) != 0 || second[length] != cases[i].separator)
            fail_msg("%s is written as %s", cases[i].name, second);
        free(text);
    }
}

SLOWER_TEST(compared_with_a_baseline)
{
    summary->n = 1;
    fresh_compare(0.02);
    compared->lines[0].change = 0.0625;
    compared->lines[0].base.mean = 18222.5;
    expect(',', "csv/compared.csv");
    /* A column without a line: neither side supports it */
    compared->n = 1;
    summary->n = 2;
    snprintf(summary->columns[1].unsupported, 96, "no");
    snprintf(compared->lines[0].why, 160, "a, b");
    compared->lines[0].base.n = 0;
    has_line(",1,0,,,0.0625,regressed,\"a, b\"\n");
    has_line("fir_filter,LD_RETIRED,events,0,<not supported>,,,,,,,,,,0,,,,,\n");
    assert_false(csv_summary(output_full(), summary, compared, ','));
}
