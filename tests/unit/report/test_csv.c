/* The whole file, compared byte by byte with tests/golden/csv. */
#include "report/fresh.h"

#include "report/csv.h"

static void expect(const struct summary *written, const struct comparison *comparison, char separator,
                   const char *name)
{
    assert_true(csv_summary(output(), written, comparison, separator));
    output_is_golden(name);
}

FIR_TEST(the_documented_example)
{
    expect(summary, NULL, ',', "csv/the_documented_example.csv");
}

FRESH_TEST(what_has_no_number)
{
    expect(summary, NULL, ',', "csv/no_column.csv");
    summary_column(summary, "EMPTY", NULL, 0)->calibrated = false;
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    struct column *bounded = summary_column(summary, "LONG", NULL, 0);
    bounded->at_least = 2;
    bounded->at_least_max = UINT64_MAX;
    bounded->overhead = 0.125;
    expect(summary, NULL, ',', "csv/what_has_no_number.csv");
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
                 {"", ',', ""}};
    struct column *column = SUMMARY_COLUMN(summary, "", {7, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(column->name, sizeof column->name, "%s", cases[i].name);
        assert_true(csv_summary(output(), summary, NULL, cases[i].separator));
        char *text = output_text(NULL);
        const char *second = strchr(text, '\n') + 1;
        size_t length = strlen(cases[i].field);
        if (strncmp(second, cases[i].field, length) != 0 || second[length] != cases[i].separator)
            fail_msg("%s is written as %s", cases[i].name, second);
        free(text);
    }
}

FRESH_TEST(a_separator_that_numbers_are_made_of)
{
    SUMMARY_COLUMN(summary, "N", {7, 1}, {8, 1})->calibrated = false;
    expect(summary, NULL, '.', "csv/separator_of_numbers.csv");
}

TEST(compared)
{
    struct summary *now = summary_slower(900);
    now->n = 1;
    struct comparison *comparison = comparison_with_fir(now, 0.02);
    comparison->lines[0].change = 0.0625;
    comparison->lines[0].base.mean = 18222.5;
    expect(now, comparison, ',', "csv/compared.csv");
    /* A column without a line: neither side supports it */
    comparison->n = 1;
    now->n = 2;
    snprintf(now->columns[1].unsupported, 96, "no");
    snprintf(comparison->lines[0].why, 160, "a, b");
    comparison->lines[0].base.n = 0;
    expect(now, comparison, ',', "csv/compared_unsupported.csv");
    now->n = 3;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_false(csv_summary(full, now, comparison, ','));
    fclose(full);
    free(comparison);
    summary_free(now);
}
