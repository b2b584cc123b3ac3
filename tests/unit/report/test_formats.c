/* A run of delta as CSV and Markdown: what has no number, what was compared, names from anywhere. */
#include "report/fresh.h"

#include "report/results.h"

#include <math.h>

static const struct {
    enum format format;
    const char *suffix;
} formats[] = {{FORMAT_CSV, "csv"}, {FORMAT_MARKDOWN, "md"}};
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

/* A name, and how it is written, of a column and of a region. `parts` have a @ in its place. */
static void names_are(enum format format, char separator, const char *const *parts,
                      const char *const (*rows)[2], size_t n)
{
    struct rendering to = *TO(format);
    struct column *column = summary->n > 0 ? &summary->columns[0] : SUMMARY_COLUMN(summary, "", {7, 1});
    to.separator = separator;
    for (size_t i = 0; i < n; i++) {
        snprintf(column->name, sizeof column->name, "%s", rows[i][0]);
        snprintf(summary->conditions.start, sizeof summary->conditions.start, "%s", rows[i][0]);
        to.out = output();
        assert_true(summary_write(&to, summary, NULL));
        for (const char *const *part = parts; *part != NULL; part++) {
            char expected[256] = "";
            for (const char *at = *part; *at != '\0'; at++) {
                size_t used = strlen(expected);
                const char letter[] = {*at, '\0'};
                snprintf(expected + used, sizeof expected - used, "%s", *at == '@' ? rows[i][1] : letter);
            }
            OUTPUT_HAS(expected);
        }
    }
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NAMES_ARE(format, separator, parts, ...)                                                             \
    names_are(format, separator, parts, (const char *const[][2]){__VA_ARGS__},                               \
              sizeof((const char *const[][2]){__VA_ARGS__}) / sizeof(const char *const[2]))
#define GONE "\xEF\xBF\xBD"

/* Nothing that a spreadsheet takes for a formula. */
FRESH_TEST(names_in_csv)
{
    NAMES_ARE(FORMAT_CSV, ',', PARTS("\n@,@,events,1,"), {"plain", "plain"}, {"a,b", "\"a,b\""},
              {"say \"so\"", "\"say \"\"so\"\"\""}, {"\"", "\"\"\"\""}, {" edge", "\" edge\""},
              {"edge ", "\"edge \""}, {"two\nlines", "two" GONE "lines"}, {"\xFF\x1b", GONE GONE}, {"µ", "µ"},
              {"=cmd|' /C calc'!A1", "'=cmd|' /C calc'!A1"}, {"+1", "'+1"}, {"-1", "'-1"},
              {"@SUM(A1)", "'@SUM(A1)"}, {"\t=1", GONE "=1"}, {"a=b", "a=b"}, {"", ""});
    NAMES_ARE(FORMAT_CSV, ';', PARTS("\n@;@;events;1;"), {"a,b", "a,b"}, {"a;b", "\"a;b\""});
}

FRESH_TEST(names_in_markdown)
{
    NAMES_ARE(FORMAT_MARKDOWN, ',', PARTS("**@**  \n", "\n| @ | 1 | 7 | 7 | 0 | 7 | 7 | 7 | 7 |\n"),
              {"a|b", "a\\|b"}, {"a\\|b", "a\\\\\\|b"}, {"`rm -rf`", "\\`rm -rf\\`"},
              {"<img src=x>", "\\<img src=x\\>"}, {"**b** _i_ ~s~", "\\*\\*b\\*\\* \\_i\\_ \\~s\\~"},
              {"_start", "\\_start"}, {"in_a_word", "in_a_word"}, {"a__b", "a\\_\\_b"},
              {"[x](y)!", "\\[x\\]\\(y\\)\\!"}, {"&amp; $x$ #1 {}", "\\&amp; \\$x\\$ \\#1 \\{\\}"},
              {"two\nrows|", "two" GONE "rows\\|"}, {"\xFF µ", GONE " µ"});
}
