/* The whole text, compared byte by byte with tests/golden/markdown. */
#include "report/fresh.h"

#include "report/documents.h"

#include <math.h>

static void expect(const char *name)
{
    assert_true(markdown_summary(output(), summary, compared));
    output_is_golden(name);
}

FIR_TEST(the_documented_example)
{
    expect("markdown/the_documented_example.md");
}

SLOWER_TEST(compared_with_a_baseline)
{
    summary->n = 2;
    summary->warmup = 20;
    summary->precision = 0.01;
    summary->precise = 0.0083;
    fresh_compare(0.02);
    expect("markdown/compared.md");
    snprintf(summary->conditions.core, sizeof summary->conditions.core, "<b>");
    fresh_compare(0.02);
    expect("markdown/not_comparable.md");
}

FRESH_TEST(what_has_no_number)
{
    compared = calloc(1, sizeof *compared);
    assert_non_null(compared);
    *compared = (struct comparison){.verdict = VERDICT_NOT_COMPARABLE, .file = "a_b|c"};
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    SUMMARY_COLUMN(summary, "SOME", {5, 1})->at_least = 2;
    summary->columns[1].at_least_max = 77000;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    expect("markdown/what_has_no_number.md");
}

/* A number says how exact it is, and what was asked for is there. */
FIR_TEST(metrics_and_an_unknown_overhead)
{
    summary->columns[1].calibrated = false;
    summary->n_metrics = 2;
    summary->metrics[0] = (struct metric_result){.name = "CPI", .unit = "cycles", .value = 1.25};
    summary->metrics[1] = (struct metric_result){.name = "MPKI", .value = (double)NAN, .why = "no | such"};
    expect("markdown/metrics.md");
}

FRESH_TEST(nothing_is_taken_as_markdown)
{
    static const struct {
        const char *name, *text;
    } cases[] = {
        {"a|b", "a\\|b"},
        {"a\\|b", "a\\\\\\|b"},
        {"`rm -rf`", "\\`rm -rf\\`"},
        {"<img src=x>", "\\<img src=x\\>"},
        {"**b** _i_ ~s~", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~"},
        {"_start", "\\_start"},
        {"in_a_word", "in_a_word"},
        {"a__b", "a\\_\\_b"},
        {"[x](y)!", "\\[x\\]\\(y\\)\\!"},
        {"&amp; $x$ #1 {}", "\\&amp; \\$x\\$ \\#1 \\{\\}"},
        {"two\nrows|", "two\xEF\xBF\xBDrows\\|"},
        {"\xFF µ", "\xEF\xBF\xBD µ"},
    };
    struct column *column = SUMMARY_COLUMN(summary, "", {7, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[256];
        snprintf(column->name, sizeof column->name, "%s", cases[i].name);
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", cases[i].name);
        snprintf(expected, sizeof expected, "**%s**  \n", cases[i].text);
        assert_true(markdown_summary(output(), summary, NULL));
        char *text = output_text(NULL);
        if (strstr(text, expected) != text)
            fail_msg("%s does not begin %s", expected, text);
        snprintf(expected, sizeof expected, "\n| %s | 1 | 7 | 7 | 0 | 7 | 7 | 7 | 7 |\n", cases[i].text);
        if (strstr(text, expected) == NULL)
            fail_msg("%s is not in %s", expected, text);
        free(text);
    }
}

FIR_TEST(a_full_disk_is_told)
{
    assert_false(markdown_summary(output_full(), summary, NULL));
}
