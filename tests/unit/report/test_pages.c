/* Pages of delta, survey and compare: names that want to be markup, runs of many hits. Plots: each thing is
 * where its number says. */
#include "golden.h"
#include "report/delta_report.h"
#include "report/html.h"
#include "report/plots.h"
#include "report/results.h"
#include "report/stays_report.h"
#include "report/summaries.h"
#include "report/survey.h"
#include "report/survey_report.h"

#include <math.h>
#include <stdlib.h>

#define EVIL "</title></td></svg><b onclick=x>\"'&amp;"

/* As a shell must have it. */
static char *const words[] = {"/usr/bin/pmu-probe", "delta", "fir filter", "it's", "",
                              "--threshold=2%",     "$(rm)", EVIL};
static const struct page_command command = {.n = 8, .words = words, .probe = "openocd:a b", .has_conf = true};

static void has(const char *text, const char *part, size_t n)
{
    if (text_times(text, part) != n)
        fail_msg("%s: %zu times, not %zu", part, text_times(text, part), n);
}

/* Nothing of a text has become markup, and nothing in the page loads, or runs but what sorts its tables. */
static void is_still(const char *text)
{
    static const char *const none[] = {"onclick=x>", " style=", "src=", "href"}, *const pairs[][2] = {
                                                                                     {"<section",
                                                                                      "</section>"},
                                                                                     {"<svg", "</svg>"},
                                                                                     {"<table", "</table>"},
                                                                                     {"<tr", "</tr>"}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        has(text, none[i], 0);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        has(text, pairs[i][0], text_times(text, pairs[i][1]));
    has(text, "<!DOCTYPE html>", 1);
    has(text, "script", 3); /* the policy, and one element */
    has(text, "</html>", 1);
}

static struct json_part words_of(const char *name)
{
    struct json_part part = json_part_new(NULL);
    json_part_unsigned(&part, name, 7);
    return part;
}

enum of { OF_DELTA, OF_SURVEY, OF_COMPARE };

/* Frees the document. */
static char *page_by(enum of of, struct document document, uint64_t left_out)
{
    const struct rendering to = {.out = output(), .format = FORMAT_HTML, .command = &command};
    report_writer *const writers[] = {
        [OF_DELTA] = delta_write, [OF_SURVEY] = survey_write, [OF_COMPARE] = compare_write};
    document = document_again(document);
    document.left_out = left_out;
    assert_true(writers[of](&to, &document));
    document_free(&document);
    char *text = output_text(NULL);
    is_still(text);
    return text;
}

/* `n` hits of 100 to 109, every tenth tainted and every tenth a bound; `left_out` more are in no line. */
static char *page_of(const struct summary *summary, const json_t *comparison, uint64_t n, uint64_t left_out)
{
    struct document document = document_new();
    struct json_part line = json_part_new("summary"), outlier = json_part_new("outlier");
    document_add(&document, json_header_part(JSON_SCHEMA, &summary->conditions, summary->columns, summary->n,
                                             DOCUMENT_STARTED));
    for (uint64_t i = 0; i < n; i++) {
        struct hit_result hit = {.number = i + 1,
                                 .seconds = (double)i / 100,
                                 .tainted = i % 10 == 3,
                                 .warmup = i == 0,
                                 .n = 1,
                                 .values = {{.count = 18200 + i % 10, .at_least = i % 10 == 7}}};
        document_add(&document, json_hit_part(&hit, summary));
    }
    json_part_text(&outlier, "function", EVIL);
    json_part_hex(&outlier, "address", 0x1000);
    json_part_object(&outlier, "registers", words_of(EVIL));
    json_part_object(&outlier, "words", words_of(EVIL));
    document_add(&document, outlier);
    json_summary_fill(&line, summary);
    document_add(&document, line);
    if (comparison != NULL)
        document_add(&document, json_part_copy(comparison));
    return page_by(OF_DELTA, document, left_out);
}

TEST(texts_are_escaped)
{
    enum { LONG = 16 * HTML_TEXT };
    static char longest[LONG];
    FILE *out = output();
    html_text(out, "<script>alert('1 & \"2\"')</script>");
    html_text(out, "\xFF\x1b[31m\xE2\x80\x8Bx");
    output_is("&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;"
              "\xEF\xBF\xBD\xEF\xBF\xBD[31m\xEF\xBF\xBDx");
    memset(longest, '<', LONG - 1);
    html_text(output(), longest);
    char *got = output_text(NULL);
    size_t length = strlen(got) / strlen("&lt;");
    assert_true(length >= HTML_TEXT && length < LONG - 1 && strlen(got) % strlen("&lt;") == 0);
    free(got);
}

TEST(many_hits_share_marks_and_those_without_a_line_are_counted)
{
    struct summary *now = summary_fir();
    char *text = page_of(now, NULL, PAGE_HITS, 5);
    has(text, "&quot;type&quot;:&quot;hit&quot;", PAGE_HITS);
    has(text, "5 later hits are left out here.", 1);
    assert_non_null(strstr(text, "<pre class=\"outliers\" tabindex=\"0\">the slowest hit"));
    has(text, "ended at &lt;/title&gt;&lt;/td&gt;&lt;/svg&gt;&lt;b onclick=x&gt;", 1);
    has(text, "16 successive hits together", 1);
    has(text, "class=\"rule\"", 0);
    assert_true(text_times(text, "class=\"line plain\"") > HIT_SPANS / 2);
    free(text);
    summary_free(now);
}

static void make_evil(struct summary *summary)
{
    struct conditions *c = &summary->conditions;
    char *const texts[] = {c->start,
                           c->end,
                           c->core,
                           c->link,
                           c->note,
                           c->elf,
                           summary->ended,
                           summary->disagreement,
                           summary->columns[0].name,
                           summary->columns[1].unsupported};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        memcpy(texts[i], EVIL, sizeof EVIL);
    snprintf(c->clock_source, sizeof c->clock_source, "%.31s", EVIL);
}

TEST(names_that_want_to_be_markup)
{
    struct summary *now = summary_fir(), *old = summary_fir();
    make_evil(now);
    make_evil(old);
    struct baseline *baseline = baseline_of(old);
    json_t *comparison = live_compare(baseline, now, 0, 1);
    json_object_set_new(json_object_get(comparison, "baseline"), "file", json_string(EVIL));
    char *text = page_of(now, comparison, 10, 0);
    has(text,
        "PMU_PROBE=&#39;openocd:a b&#39; pmu-probe delta &#39;fir filter&#39; "
        "&#39;it&#39;\\&#39;&#39;s&#39; &#39;&#39; --threshold=2% &#39;$(rm)&#39; &#39;&lt;/title&gt;",
        1);
    has(text, "pmu-probe.conf", 1);
    free(text);

    struct survey_row row = {.name = EVIL, .summary = now, .why = EVIL, .comparison = comparison};
    struct survey survey = {
        .conditions = now->conditions, .judged = true, .rows = &row, .n = 1, .ended = EVIL};
    struct document document = document_new();
    document_add(&document, json_plan_header(JSON_SCHEMA_2, "survey", &survey.conditions, NULL));
    survey_lines(&document, &survey);
    free(page_by(OF_SURVEY, document, 0));

    struct json_part line = json_part_new("summary");
    document = document_new();
    document_add(&document, json_command_part("compare", ""));
    document_add(&document, json_part_copy(comparison));
    json_part_text(&line, "verdict", "regressed");
    document_add(&document, line);
    text = page_by(OF_COMPARE, document, 0);
    has(text, " over all", 0); /* there is one */
    free(text);
    summary_free(now);
    summary_free(old);
    baseline_drop(baseline);
    json_decref(comparison);
}

static const struct histogram_bin bins[] = {
    {.low = 100, .high = 109, .count = 40}, {.low = 110, .high = 119}, {.low = 120, .high = 124, .count = 1}};

static struct plot a_plot(void)
{
    return (struct plot){.out = output(),
                         .id = "p",
                         .title = "<b>",
                         .says = "\"&\x1b",
                         .height = 138, /* 100 pixels between the texts */
                         .x = {.from = 10, .to = 20},
                         .y = {.from = -1, .to = 1}};
}

/* Bars are as high as their counts, and an empty bin has none. */
TEST(a_histogram)
{
    struct plot plot = a_plot();
    const struct plot_rule rule = {.at = 90, .text = "baseline <90>"};
    plot_histogram(&plot, &(struct plot_hits){.bins = bins, .n = 3, .rules = &rule, .n_rules = 1});
    output_is_golden("page/histogram.svg");
}

TEST(marks_differ_by_shape)
{
    struct plot plot = a_plot();
    plot_begin(&plot);
    for (size_t i = 0; i < PLOT_LOOKS; i++)
        plot_mark(&plot, 10 + 2 * (double)i, 1 - (double)i / 2, (enum plot_look)i, "<i>");
    plot_mark(&plot, 1e300, -1e300, PLOT_PLAIN, ""); /* at the border */
    plot_mark(&plot, NAN, NAN, PLOT_PLAIN, NULL);
    plot_line(&plot, (double[]){10, -1}, (double[]){20, 1}, PLOT_ODD, "low to high");
    plot_end(&plot);
    plot_key(plot.out, PLOT_BOUND, "at least <so much>");
    output_is_golden("page/marks.svg");
}

/* What a scale has, from left to right. */
static void scale_is(double from, double to, const char *unit, const char *expected)
{
    char got[256] = "";
    struct plot plot = a_plot();
    plot.x = (struct plot_axis){.from = from, .to = to, .unit = unit};
    plot_begin(&plot);
    char *text = output_text(NULL);
    for (const char *at = text; (at = strstr(at, "fill=\"currentColor\">")) != NULL;) {
        at += strlen("fill=\"currentColor\">");
        size_t used = strlen(got);
        snprintf(got + used, sizeof got - used, "%s%.*s", used > 0 ? "|" : "", (int)strcspn(at, "<"), at);
    }
    free(text);
    assert_string_equal(got, expected);
}

TEST(scales_have_round_numbers)
{
    scale_is(0, 1.4, "s", "0.0 s|0.5 s|1.0 s");
    scale_is(18190, 18330, NULL, "18,200|18,250|18,300");
    scale_is(99.5, 124.5, NULL, "100|105|110|115|120");
    scale_is(7, 7, NULL, "7");
    scale_is(0, 0.003, "s", "0.000 s|0.001 s|0.002 s|0.003 s");
    scale_is(-5, 5, NULL, "-4|-2|0|2|4");
    scale_is(0, 18446744073709551615.0, NULL,
             "0|5,000,000,000,000,000,000|10,000,000,000,000,000,000|"
             "15,000,000,000,000,000,000");
}

TEST(frames_that_are_too_narrow_are_left_out)
{
    static struct call_node narrow[] = {{.width = 1e-9}, {.width = 1e-7}};
    const struct call_tree flame = {.nodes = narrow, .n = 2};
    assert_int_equal(flame_svg(output(), &(struct flame_svg){.flame = &flame}), 2);
    OUTPUT_LACKS("<title>");
}

/* Its axis is of counted cycles, of which sleep has none. */
TEST(a_timeline_says_that_sleep_is_not_on_its_axis)
{
    struct conditions conditions = {.core = "Cortex-M33 r0p4 core 0"};
    struct timeline timeline = {.out = output(), .hz = 1e6};
    timeline_begin(&timeline, &conditions);
    OUTPUT_HAS("\"args\":{\"name\":\"Cortex-M33 r0p4 core 0\"}");
    conditions.clock_awake = 0.25;
    timeline = (struct timeline){.out = output(), .hz = 1e6};
    timeline_begin(&timeline, &conditions);
    OUTPUT_HAS("core 0; no sleep is on the axis: the clock went on for 25 % of the time\"}");
}
