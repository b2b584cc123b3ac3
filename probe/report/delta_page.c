#include "report/delta_page.h"

#include "base/deadline.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 512, BINS = 40 };

/* ---- while it runs */

bool delta_page_begin(struct delta_page *page, const struct conditions *conditions,
                      const struct column *columns, size_t n)
{
    delta_page_free(page);
    page->times = calloc(1, sizeof *page->times);
    return page->times != NULL && page_lines_open(&page->lines) &&
           json_header(page->lines.out, conditions, columns, n, deadline_wall_s());
}

static enum hit_kind kind_of(const struct hit_result *hit)
{
    return hit->warmup               ? HIT_WARMUP
           : hit->tainted            ? HIT_TAINTED
           : hit->values[0].at_least ? HIT_AT_LEAST
                                     : HIT_CLEAN;
}

bool delta_page_hit(struct delta_page *page, const struct hit_result *hit, const struct summary *summary)
{
    if (hit->n > 0 && !hit->values[0].absent)
        hit_times_add(page->times, hit->number, hit->seconds, kind_of(hit), hit->values[0].count);
    if (hit->number <= PAGE_HITS)
        return json_hit(page->lines.out, hit, summary);
    page->left_out++;
    return true;
}

void delta_page_free(struct delta_page *page)
{
    page_lines_free(&page->lines);
    free(page->times);
    *page = (struct delta_page){0};
}

/* ---- the head */

static const struct column *first_of(const struct summary *summary)
{
    const struct column *first = summary->n > 0 ? &summary->columns[0] : NULL;
    return first != NULL && statistics_count(first->statistics) > 0 ? first : NULL;
}

static void put_headline(FILE *out, const char *name, const char *text, bool small)
{
    fprintf(out, "<div%s>", small ? " class=\"small\"" : "");
    html_element(out, "dt", NULL, name);
    html_element(out, "dd", NULL, text);
    fputs("</div>\n", out);
}

static void put_headlines(FILE *out, const struct summary *summary)
{
    const struct column *first = first_of(summary);
    char text[CELL], one[NUMBER_ROOM], other[NUMBER_ROOM];
    double hz = summary->conditions.clock_hz;
    fputs("<dl class=\"headline\">\n", out);
    if (first != NULL) {
        struct figures figures = statistics_figures(first->statistics);
        snprintf(text, sizeof text, "median %s", first->name);
        put_headline(out, text, number_unsigned(one, sizeof one, figures.median), false);
        if (hz > 0)
            put_headline(out, "median time", number_duration(one, sizeof one, (double)figures.median / hz),
                         false);
        put_headline(out, "mean", number_mean(one, figures.mean), true);
        snprintf(text, sizeof text, "%s to %s", number_unsigned(one, sizeof one, figures.min),
                 number_unsigned(other, sizeof other, figures.max));
        put_headline(out, "least to most", text, true);
        put_headline(out, "p99", number_unsigned(one, sizeof one, figures.p99), true);
        if (first->calibrated) {
            snprintf(text, sizeof text, "±%s", number_mean(one, first->plus_minus));
            put_headline(out, "each hit", text, true);
        }
    }
    put_headline(out, "hits", number_unsigned(one, sizeof one, summary->hits), true);
    if (summary->tainted > 0)
        put_headline(out, "tainted", number_unsigned(one, sizeof one, summary->tainted), true);
    fputs("</dl>\n", out);
}

/* In a sentence, what the ± of a hit stands for. */
static void put_plus_minus(FILE *out, const struct summary *summary)
{
    const struct column *first = first_of(summary);
    char text[CELL], each[NUMBER_ROOM], added[NUMBER_ROOM];
    if (first == NULL)
        return;
    if (!first->calibrated)
        snprintf(text, sizeof text,
                 "There is no ±: what it costs to stop the core was not measured, so it is still in "
                 "each count, and nobody knows how much it is.");
    else if (first->plus_minus > 0)
        snprintf(
            text, sizeof text,
            "±%s means that the count of one hit may be that much too high or too low: to stop the core adds "
            "%s on average, which is taken off, but not the same to each hit.",
            number_mean(each, first->plus_minus), number_mean(added, first->overhead));
    else
        snprintf(text, sizeof text, "±0 means that each count is exact: to stop the core adds %s to a hit%s.",
                 first->overhead != 0 ? number_mean(added, first->overhead) : "nothing",
                 first->overhead != 0 ? ", which is taken off" : "");
    html_element(out, "p", "plus-minus", text);
}

/* ---- the histogram */

static void put_outliers(FILE *out, uint64_t n, uint64_t least, uint64_t most, const char *side)
{
    char text[CELL], count[NUMBER_ROOM], from[NUMBER_ROOM], to[NUMBER_ROOM];
    if (n == 0)
        return;
    number_unsigned(count, sizeof count, n);
    number_unsigned(from, sizeof from, least);
    number_unsigned(to, sizeof to, most);
    snprintf(text, sizeof text, "Not drawn, far %s: %s hit%s, %s%s%s.", side, count, n == 1 ? "" : "s", from,
             least != most ? " to " : "", least != most ? to : "");
    html_element(out, "p", "outliers", text);
}

/* The baseline's median is drawn if the two can be compared. */
static bool find_rule(const struct delta_page_end *end, const struct column *first, double *median)
{
    if (end->baseline == NULL || end->comparison == NULL || end->comparison->n_reasons > 0)
        return false;
    const struct summary *before = &end->baseline->run;
    char clean[sizeof first->name];
    utf8_clean(clean, sizeof clean, first->name);
    for (size_t i = 0; i < before->n; i++)
        if (strcmp(before->columns[i].name, clean) == 0 && before->columns[i].figures.has_median) {
            *median = (double)before->columns[i].figures.median;
            return true;
        }
    return false;
}

static void put_histogram(FILE *out, const struct delta_page_end *end)
{
    const struct column *first = first_of(end->summary);
    struct histogram_bin bins[BINS];
    char title[CELL], says[CELL], rule_text[NUMBER_ROOM + 32], number[NUMBER_ROOM], low[NUMBER_ROOM],
        high[NUMBER_ROOM];
    struct plot_rule rule = {.text = rule_text};
    if (first == NULL)
        return;
    struct outliers outliers = statistics_outliers(first->statistics);
    size_t n = statistics_histogram(first->statistics, outliers.low, outliers.high, bins, BINS);
    bool has_rule = find_rule(end, first, &rule.at);
    snprintf(rule_text, sizeof rule_text, "baseline's median %s", number_mean(number, rule.at));
    snprintf(title, sizeof title, "Hits by %s", first->name);
    snprintf(says, sizeof says, "A histogram of %s hits from %s to %s%s%s",
             number_unsigned(number, sizeof number,
                             statistics_count(first->statistics) - outliers.below - outliers.above),
             number_unsigned(low, sizeof low, outliers.low),
             number_unsigned(high, sizeof high, outliers.high), has_rule ? "; a dashed line is the " : "",
             has_rule ? rule_text : "");
    const struct plot plot = {.out = out, .id = "histogram", .title = title, .says = says};
    page_heading(out, "distribution", "How the hits are distributed");
    fputs("<figure>\n", out);
    plot_histogram(&plot, bins, n, &rule, has_rule ? 1 : 0);
    fputs("<figcaption>Hits up, ", out);
    html_text(out, first->name);
    fprintf(out, " to the right%s.</figcaption>\n</figure>\n",
            has_rule ? "; the dashed line is the baseline's median" : "");
    put_outliers(out, outliers.below, outliers.below_least, outliers.below_most, "below");
    put_outliers(out, outliers.above, outliers.above_least, outliers.above_most, "above");
    page_end_section(out);
}

/* ---- the timeline */

static const struct {
    enum plot_look look;
    const char *words, *key;
} kinds[HIT_KINDS] = {
    [HIT_CLEAN] = {PLOT_PLAIN, "", "a hit"},
    [HIT_TAINTED] = {PLOT_ODD, ", tainted",
                     "tainted: an interrupt that the halt had delayed ran in it; it is in no number above"},
    [HIT_AT_LEAST] = {PLOT_BOUND, " at least",
                      "at least so much: its counter may have overflowed; it is in no number above"},
    [HIT_WARMUP] = {PLOT_FAINT, ", for warm-up", "before the others, to warm up; it is in no number above"},
};

static void put_single(const struct plot *plot, const struct hit_span *span, enum hit_kind kind)
{
    char label[CELL], number[NUMBER_ROOM], count[NUMBER_ROOM];
    snprintf(label, sizeof label, "hit %s, %.3f s: %s%s", number_unsigned(number, sizeof number, span->first),
             span->from, number_unsigned(count, sizeof count, span->of[kind].least), kinds[kind].words);
    plot_mark(plot, span->from, (double)span->of[kind].least, kinds[kind].look, label);
}

static void put_several(const struct plot *plot, const struct hit_span *span, enum hit_kind kind)
{
    char label[CELL], first[NUMBER_ROOM], last[NUMBER_ROOM], n[NUMBER_ROOM], least[NUMBER_ROOM],
        most[NUMBER_ROOM];
    double middle = (span->from + span->to) / 2;
    snprintf(label, sizeof label, "hits %s to %s, %.3f to %.3f s: %s of them from %s to %s%s",
             number_unsigned(first, sizeof first, span->first),
             number_unsigned(last, sizeof last, span->last), span->from, span->to,
             number_unsigned(n, sizeof n, span->of[kind].n),
             number_unsigned(least, sizeof least, span->of[kind].least),
             number_unsigned(most, sizeof most, span->of[kind].greatest), kinds[kind].words);
    if (span->of[kind].least == span->of[kind].greatest)
        plot_mark(plot, middle, (double)span->of[kind].least, kinds[kind].look, label);
    else
        plot_line(plot, (double[]){middle, (double)span->of[kind].least},
                  (double[]){middle, (double)span->of[kind].greatest}, kinds[kind].look, label);
}

/* Those of one kind lie above those of the kinds before. */
static void put_spans(const struct plot *plot, const struct hit_times *times, bool seen[HIT_KINDS])
{
    for (int kind = 0; kind < HIT_KINDS; kind++)
        for (size_t i = 0; i < times->n; i++) {
            const struct hit_span *span = &times->spans[i];
            if (span->of[kind].n == 0)
                continue;
            seen[kind] = true;
            if (times->each == 1)
                put_single(plot, span, (enum hit_kind)kind);
            else
                put_several(plot, span, (enum hit_kind)kind);
        }
}

static void put_timeline(FILE *out, const struct delta_page *page, const struct summary *summary)
{
    const struct hit_times *times = page->times;
    char title[CELL], says[CELL], hits[NUMBER_ROOM], low[NUMBER_ROOM], high[NUMBER_ROOM];
    uint64_t least = 0, greatest = 0;
    bool seen[HIT_KINDS] = {false};
    if (times == NULL || !hit_times_range(times, &least, &greatest))
        return;
    double room = (double)(greatest - least) / 20;
    snprintf(title, sizeof title, "%s of each hit over time", summary->columns[0].name);
    snprintf(says, sizeof says, "%s hits from %s to %s in %.3f s",
             number_unsigned(hits, sizeof hits, times->hits), number_unsigned(low, sizeof low, least),
             number_unsigned(high, sizeof high, greatest), times->spans[times->n - 1].to);
    const struct plot plot = {.out = out,
                              .id = "timeline",
                              .title = title,
                              .says = says,
                              .x = {.to = times->spans[times->n - 1].to, .unit = "s"},
                              .y = {.from = (double)least - room, .to = (double)greatest + room}};
    page_heading(out, "time", "When they were");
    fputs("<figure>\n", out);
    plot_begin(&plot);
    put_spans(&plot, times, seen);
    plot_end(&plot);
    fputs("<figcaption>", out);
    html_text(out, summary->columns[0].name);
    fputs(" up, seconds since the begin to the right", out);
    if (times->each > 1)
        fprintf(out, "; %" PRIu64 " successive hits together, from the lowest to the highest", times->each);
    fputs(".<br>\n", out);
    for (int kind = 0; kind < HIT_KINDS; kind++)
        if (seen[kind])
            plot_key(out, kinds[kind].look, kinds[kind].key);
    fputs("</figcaption>\n</figure>\n", out);
    page_end_section(out);
}

/* ---- the table */

enum { NUMBERS = 9 };

/* A text in place of numbers goes into the first cell of them. */
static void put_empty(struct html_table *table, const char *text)
{
    html_cell(table, NULL, text);
    for (size_t i = 1; i < NUMBERS; i++)
        html_cell(table, NULL, "");
}

/* "": all hits have a number. */
static void put_bound(const struct column *column, char *out, size_t size)
{
    char hits[NUMBER_ROOM], most[NUMBER_ROOM];
    out[0] = '\0';
    if (column->at_least > 0)
        snprintf(out, size, "%s more hits may have overflowed the counter, the highest: at least %s",
                 number_unsigned(hits, sizeof hits, column->at_least),
                 number_unsigned(most, sizeof most, column->at_least_max));
}

static void put_column(struct html_table *table, const struct column *column)
{
    char number[NUMBER_ROOM], text[CELL], remark[CELL];
    html_row(table, NULL);
    html_cell(table, NULL, column->name);
    put_bound(column, remark, sizeof remark);
    if (column->unsupported[0] != '\0' || statistics_count(column->statistics) == 0) {
        put_empty(table, column->unsupported[0] != '\0' ? "<not supported>" : "<not counted>");
        html_cell(table, NULL, column->unsupported[0] != '\0' ? column->unsupported : remark);
        return;
    }
    struct figures figures = statistics_figures(column->statistics);
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.count));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.median));
    html_cell(table, NULL, number_mean(number, figures.mean));
    html_cell(table, NULL, number_mean(number, figures.sd));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.min));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.max));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.p90));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.p99));
    snprintf(text, sizeof text, "%s%s", column->calibrated ? "±" : "?",
             column->calibrated ? number_mean(number, column->plus_minus) : "");
    html_cell(table, NULL, text);
    html_cell(table, NULL, remark);
}

static void put_metric(struct html_table *table, const struct metric_result *metric)
{
    char text[CELL];
    bool has = isfinite(metric->value);
    html_row(table, NULL);
    html_cell(table, NULL, metric->name);
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(text, sizeof text, "%.4g", metric->value);
        html_cell(table, NULL, i == 2 ? has ? text : "<not counted>" : "");
    }
    html_cell(table, NULL, has ? metric->unit : metric->why);
}

static void put_fact(void *context, const char *fact)
{
    html_element(context, "li", NULL, fact);
}

static void put_table(FILE *out, const struct summary *summary)
{
    static const char *const columns[] = {"counter", "hits", "median", "mean", "sd",    "min",
                                          "max",     "p90",  "p99",    "±",    "remark"};
    struct html_table table = {
        .out = out, .columns = columns, .n = NUMBERS + 2, .texts = 1, .numbers = NUMBERS, .named = true};
    page_heading(out, "numbers", "All that was counted");
    html_table_begin(&table, "columns", "Counts of the hits that count; metrics are of their means");
    for (size_t i = 0; i < summary->n; i++)
        put_column(&table, &summary->columns[i]);
    for (size_t i = 0; i < summary->n_metrics; i++)
        put_metric(&table, &summary->metrics[i]);
    html_table_end(&table);
    fputs("<ul class=\"notes\">\n", out);
    footer_facts(summary, put_fact, out);
    if (summary->disagreement[0] != '\0')
        put_fact(out, summary->disagreement);
    fputs("</ul>\n", out);
    page_end_section(out);
}

/* ---- the page */

static void put_slowest(FILE *out, const char *outliers)
{
    if (outliers == NULL || outliers[0] == '\0')
        return;
    page_heading(out, "slowest", "The slowest hits");
    fputs("<pre class=\"outliers\" tabindex=\"0\">", out);
    html_clean(out, outliers + (outliers[0] == '\n'));
    fputs("</pre>\n", out);
    page_end_section(out);
}

static void put_baseline(FILE *out, const struct comparison *comparison)
{
    struct page_verdicts verdicts = {0};
    char caption[CELL], part[NUMBER_ROOM];
    snprintf(caption, sizeof caption, "Against %s%s%s, threshold %s", comparison->file,
             comparison->started[0] != '\0' ? " of " : "", comparison->started,
             number_part(part, comparison->threshold));
    page_heading(out, "baseline", "Against the baseline");
    page_verdicts_look(&verdicts, comparison);
    page_verdicts_begin(&verdicts, out, caption);
    page_verdicts_put(&verdicts, comparison);
    page_verdicts_end(&verdicts);
    if (comparison->n_reasons + comparison->n_notes > 0) {
        fputs("<ul class=\"notes\">\n", out);
        page_comparison_notes(out, comparison);
        fputs("</ul>\n", out);
    }
    page_end_section(out);
}

bool delta_page_write(FILE *out, struct delta_page *page, const struct delta_page_end *end)
{
    const struct summary *summary = end->summary;
    const struct comparison *comparison = end->comparison;
    char title[CELL], text[CELL];
    bool ok = page->lines.out != NULL && json_summary(page->lines.out, summary) &&
              (comparison == NULL || comparison_json(page->lines.out, comparison));
    html_begin_still(out,
                     page_region(summary->conditions.start, summary->conditions.end, title, sizeof title));
    page_about(out, &summary->conditions);
    if (comparison != NULL) {
        snprintf(text, sizeof text, ", against %s", comparison->file);
        page_verdict(out, comparison->verdict, text);
    }
    put_headlines(out, summary);
    put_plus_minus(out, summary);
    put_histogram(out, end);
    put_timeline(out, page, summary);
    put_table(out, summary);
    put_slowest(out, end->outliers);
    if (comparison != NULL)
        put_baseline(out, comparison);
    page_conditions(out, &summary->conditions, summary->columns, summary->n);
    page_repeat(out, end->command);
    ok = page_put_lines(out, &page->lines, page->left_out) && ok;
    html_end_still(out);
    return fflush(out) == 0 && !ferror(out) && ok;
}
