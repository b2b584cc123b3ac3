/* The whole file, compared byte by byte with tests/golden/junit. */
#include "report/fresh.h"

#include "report/documents.h"

#include <math.h>

static void expect(const char *name)
{
    assert_true(junit_summary(output(), summary, compared));
    output_is_golden(name);
}

FIR_TEST(the_documented_example)
{
    expect("junit/the_documented_example.xml");
}

SLOWER_TEST(compared_with_a_baseline)
{
    summary->conditions = (struct conditions){0};
    summary->n = 2;
    summary->seconds = (double)NAN;
    compared->n_reasons = 1;
    snprintf(compared->reasons[0], sizeof compared->reasons[0], "another core");
    expect("junit/compared.xml");
}

SLOWER_TEST(a_column_that_cannot_be_compared_is_an_error)
{
    summary->n = 2;
    summary->warmup = 20;
    summary->precision = 0.01;
    summary->precise = 0.0083;
    fresh_compare(0.02);
    expect("junit/not_comparable.xml");
}

FRESH_TEST(what_has_no_number)
{
    summary_column(summary, "EMPTY", NULL, 0);
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    SUMMARY_COLUMN(summary, "SOME", {5, 1})->at_least = 2;
    summary->columns[2].at_least_max = 77;
    summary->conditions.clock_hz = 1;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    expect("junit/what_has_no_number.xml");
}

FRESH_TEST(any_bytes)
{
    static const struct {
        const char *name, *value;
    } cases[] = {
        {"<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&apos;"},
        {"]]>", "]]&gt;"},
        {"a\n\t\r\x01\x7F"
         "b",
         "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
         "b"},
        {"\xFF\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"a\xEF\xBF\xBE\xEF\xBF\xBF"
         "b",
         "ab"},                                                   /* valid UTF-8, and no character of XML */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
        {"\xF0\x9F\x8E\xBE µ", "\xF0\x9F\x8E\xBE µ"},
    };
    struct column *column = SUMMARY_COLUMN(summary, "", {7, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[256];
        snprintf(column->name, sizeof column->name, "%s", cases[i].name);
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", cases[i].name);
        snprintf(expected, sizeof expected, "<testcase classname=\"%s\" name=\"%s\" time=", cases[i].value,
                 cases[i].value);
        assert_true(junit_summary(output(), summary, NULL));
        char *text = output_text(NULL);
        if (strstr(text, expected) == NULL)
            fail_msg("%s is not in %s", expected, text);
        snprintf(expected, sizeof expected, "<testsuite name=\"pmu-probe %s\" tests=", cases[i].value);
        assert_non_null(strstr(text, expected));
        snprintf(expected, sizeof expected, "<property name=\"start\" value=\"%s\"/>", cases[i].value);
        assert_non_null(strstr(text, expected));
        free(text);
    }
}

FIR_TEST(a_full_disk_is_told)
{
    assert_false(junit_summary(output_full(), summary, NULL));
}
