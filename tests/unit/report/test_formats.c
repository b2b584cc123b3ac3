/* A run of delta as CSV, Markdown and JUnit: what has no number, what was compared, names from anywhere. */
#include "report/fresh.h"

#include "report/results.h"

#include <math.h>

static const struct {
    enum format format;
    const char *suffix;
} formats[] = {{FORMAT_CSV, "csv"}, {FORMAT_MARKDOWN, "md"}, {FORMAT_JUNIT, "xml"}};
enum { TABLES = sizeof formats / sizeof *formats };

static void expect(const char *name)
{
    for (size_t i = 0; i < TABLES; i++) {
        char golden[64];
        snprintf(golden, sizeof golden, "formats/%s.%s", name, formats[i].suffix);
        assert_true(summary_write(TO(formats[i].format), summary, compared));
        output_is_golden(golden);
    }
}

FRESH_TEST(what_has_no_number)
{
    compared = json_pack("{s:s, s:s, s:i, s:{s:s}}", "type", "verdict", "verdict", "not comparable",
                         "threshold", 0, "baseline", "file", "a_b|c");
    assert_non_null(compared);
    summary_column(summary, "EMPTY", NULL, 0)->calibrated = false;
    snprintf(SUMMARY_COLUMN(summary, "STALL", {0, 0})->unsupported, 96, "no such event");
    struct column *bounded = SUMMARY_COLUMN(summary, "SOME", {5, 1});
    bounded->at_least = 2;
    bounded->at_least_max = UINT64_MAX;
    bounded->overhead = 0.125;
    summary->n_metrics = 2;
    summary->metrics[0] = (struct metric_result){.name = "CPI", .unit = "cycles", .value = 1.25};
    summary->metrics[1] = (struct metric_result){.name = "MPKI", .value = (double)NAN, .why = "no | such"};
    summary->seconds = (double)NAN;
    summary->conditions.clock_hz = 1;
    snprintf(summary->ended, sizeof summary->ended, "Ctrl-C");
    expect("no_number");
}

/* One column regressed, one passed, and one cannot be compared. */
SLOWER_TEST(compared_with_a_baseline)
{
    summary->n = 2;
    summary->warmup = 20;
    summary->precision = 0.01;
    summary->precise = 0.0083;
    fresh_compare(0.02);
    expect("compared");
    for (size_t i = 0; i < TABLES; i++)
        assert_false(summary_write(TO_FULL(formats[i].format), summary, compared));
}

struct shown {
    const char *name, *text;
    char separator; /* 0: a comma */
};

/* Of a column and of a region with that name. `parts` have a @ in its place. */
static void names_are(enum format format, const struct shown *cases, size_t n, const char *const *parts)
{
    struct column *column = SUMMARY_COLUMN(summary, "", {7, 1});
    for (; n > 0; n--, cases++) {
        struct rendering to = *TO(format);
        to.separator = (char)(cases->separator != 0 ? cases->separator : ',');
        snprintf(column->name, sizeof column->name, "%s", cases->name);
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", cases->name);
        assert_true(summary_write(&to, summary, NULL));
        for (const char *const *part = parts; *part != NULL; part++) {
            char expected[256] = "";
            for (const char *at = *part; *at != '\0'; at++) {
                size_t used = strlen(expected);
                const char letter[] = {(char)(*at == ',' ? to.separator : *at), '\0'};
                snprintf(expected + used, sizeof expected - used, "%s", *at == '@' ? cases->text : letter);
            }
            OUTPUT_HAS(expected);
        }
    }
}

#define NAMES_ARE(format, cases, ...)                                                                        \
    names_are(format, cases, sizeof(cases) / sizeof *(cases), (const char *const[]){__VA_ARGS__, NULL})

/* Nothing that a spreadsheet takes for a formula. */
FRESH_TEST(names_in_csv)
{
    static const struct shown cases[] = {{"plain", "plain", 0},
                                         {"a,b", "\"a,b\"", 0},
                                         {"a,b", "a,b", ';'},
                                         {"a;b", "\"a;b\"", ';'},
                                         {"say \"so\"", "\"say \"\"so\"\"\"", 0},
                                         {"\"", "\"\"\"\"", 0},
                                         {" edge", "\" edge\"", 0},
                                         {"edge ", "\"edge \"", 0},
                                         {"two\nlines", "two\xEF\xBF\xBDlines", 0},
                                         {"\xFF\x1b", "\xEF\xBF\xBD\xEF\xBF\xBD", 0},
                                         {"µ", "µ", 0},
                                         {"=cmd|' /C calc'!A1", "'=cmd|' /C calc'!A1", 0},
                                         {"+1", "'+1", 0},
                                         {"-1", "'-1", 0},
                                         {"@SUM(A1)", "'@SUM(A1)", 0},
                                         {"\t=1", "\xEF\xBF\xBD=1", 0},
                                         {"a=b", "a=b", 0},
                                         {"", "", 0}};
    NAMES_ARE(FORMAT_CSV, cases, "\n@,@,events,1,");
}

FRESH_TEST(names_in_markdown)
{
    static const struct shown cases[] = {
        {"a|b", "a\\|b", 0},
        {"a\\|b", "a\\\\\\|b", 0},
        {"`rm -rf`", "\\`rm -rf\\`", 0},
        {"<img src=x>", "\\<img src=x\\>", 0},
        {"**b** _i_ ~s~", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~", 0},
        {"_start", "\\_start", 0},
        {"in_a_word", "in_a_word", 0},
        {"a__b", "a\\_\\_b", 0},
        {"[x](y)!", "\\[x\\]\\(y\\)\\!", 0},
        {"&amp; $x$ #1 {}", "\\&amp; \\$x\\$ \\#1 \\{\\}", 0},
        {"two\nrows|", "two\xEF\xBF\xBDrows\\|", 0},
        {"\xFF µ", "\xEF\xBF\xBD µ", 0},
    };
    NAMES_ARE(FORMAT_MARKDOWN, cases, "**@**  \n", "\n| @ | 1 | 7 | 7 | 0 | 7 | 7 | 7 | 7 |\n");
}

FRESH_TEST(names_in_junit)
{
    static const struct shown cases[] = {
        {"<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&apos;", 0},
        {"]]>", "]]&gt;", 0},
        {"a\n\t\r\x01\x7F"
         "b",
         "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
         "b",
         0},
        {"\xFF\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0},
        {"a\xEF\xBF\xBE\xEF\xBF\xBF"
         "b",
         "ab", 0}, /* valid UTF-8, but XML has no such character */
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0}, /* a surrogate */
        {"\xF0\x9F\x8E\xBE µ", "\xF0\x9F\x8E\xBE µ", 0},
    };
    NAMES_ARE(FORMAT_JUNIT, cases, "<testcase classname=\"@\" name=\"@\" time=",
              "<testsuite name=\"pmu-probe @\" tests=", "<property name=\"start\" value=\"@\"/>");
}
