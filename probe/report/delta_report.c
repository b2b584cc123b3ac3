/* SPDX-License-Identifier: MIT */
#include "report/delta_report.h"

#include "base/values.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/histogram.h"
#include "report/number.h"
#include "report/page.h"
#include "report/place_report.h"
#include "report/plots.h"
#include "report/run_report.h"
#include "report/sentence.h"
#include "report/stays_report.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 512, BINS = 40 };

struct delta_page {
    const struct document *document;
    struct run_lines run;
    const char *name;     /* of its first column */
    const json_t *column; /* NULL: it has no numbers */
};

/* ---- the head */

static void put_headline(FILE *out, const char *name, const char *text, bool small)
{
    fprintf(out, "<div%s>", small ? " class=\"small\"" : "");
    html_element(out, "dt", NULL, name);
    html_element(out, "dd", NULL, text);
    fputs("</div>\n", out);
}

static void put_headlines(FILE *out, const struct delta_page *page)
{
    const json_t *first = page->column, *summary = page->run.summary;
    char text[CELL];
    double hz = page->run.conditions.clock_hz;
    fputs("<dl class=\"headline\">\n", out);
    if (first != NULL) {
        uint64_t median;
        bool known = run_median(first, &median);
        snprintf(text, sizeof text, "median %s%s", page->name, known ? "" : ", at most");
        put_headline(out, text, NUMBER(median), false);
        if (hz > 0 && known)
            put_headline(out, "median time", DURATION((double)median / hz), false);
        run_mean_text(text, sizeof text, first);
        put_headline(out, run_mean_error(first) > 0 ? "mean (95 %)" : "mean", text, true);
        snprintf(text, sizeof text, "%s to %s", NUMBER(field_count(first, "min")),
                 NUMBER(field_count(first, "max")));
        put_headline(out, "least to most", text, true);
        put_headline(out, "p99", NUMBER(field_count(first, "p99")), true);
        if (json_is_true(field_of(first, "calibrated"))) {
            snprintf(text, sizeof text, "±%s", PLUS_MINUS(field_real(first, "plus_minus")));
            put_headline(out, "each hit", text, true);
        }
    }
    put_headline(out, "hits", NUMBER(field_count(summary, "hits")), true);
    if (field_count(summary, "tainted") > 0)
        put_headline(out, "tainted", NUMBER(field_count(summary, "tainted")), true);
    fputs("</dl>\n", out);
}

/* In a sentence, what the ± of a hit means. */
static void put_plus_minus(FILE *out, const json_t *first)
{
    double each = field_real(first, "plus_minus"), overhead = field_real(first, "overhead");
    char text[CELL];
    if (first == NULL)
        return;
    if (!json_is_true(field_of(first, "calibrated")))
        snprintf(text, sizeof text, "No ±: " SENTENCE_UNMEASURED ".");
    else if (each > 0)
        snprintf(
            text, sizeof text,
            "±%s: one hit may be off by that: a halt adds %s on average, which is subtracted, but varies.",
            PLUS_MINUS(each), MEAN(overhead));
    else
        snprintf(text, sizeof text, "±0: each count is exact: a halt adds %s to a hit%s.",
                 overhead != 0 ? MEAN(overhead) : "nothing", overhead != 0 ? ", which is subtracted" : "");
    html_element(out, "p", "plus-minus", text);
}

/* ---- the histogram */

/* `whose`: "" of the run itself. */
static void put_far_side(FILE *out, const char *whose, uint64_t n, uint64_t least, uint64_t most,
                         const char *side)
{
    char text[CELL];
    if (n == 0)
        return;
    snprintf(text, sizeof text, "Not drawn%s, far %s: %s hit%s, %s%s%s.", whose, side, NUMBER(n), PLURAL(n),
             NUMBER(least), least != most ? " to " : "", least != most ? NUMBER(most) : "");
    html_element(out, "p", "outliers", text);
}

static void delta_page_put_outliers(FILE *out, const char *whose, const json_t *column)
{
    const struct outliers outliers = histogram_outliers(column);
    put_far_side(out, whose, outliers.below, outliers.below_least, outliers.below_most, "below");
    put_far_side(out, whose, outliers.above, outliers.above_least, outliers.above_most, "above");
}

/* The baseline's side of its column; NULL: the two cannot be compared. */
static const json_t *delta_page_base(const struct delta_page *page)
{
    const json_t *verdict = page->run.verdict,
                 *line = json_object_get(field_of(verdict, "columns"), page->name);
    return field_of(verdict, "not_comparable") == NULL && isfinite(field_real(line, "base.median"))
               ? field_of(line, "base")
               : NULL;
}

/* An older file has a range, and not how its hits lie in it. */
static bool has_shape(const json_t *side)
{
    return field_of(side, "distribution") != NULL || field_count(side, "min") == field_count(side, "max");
}

static void put_histogram_keys(FILE *out, const struct delta_page *page, const struct plot_hits *hits)
{
    char text[CELL], mean[CELL];
    snprintf(text, sizeof text, "%s up, %.96s to the right. ",
             hits->before != NULL ? "Percent of hits" : "Hits", page->name);
    fputs("<figcaption>", out);
    html_text(out, text);
    if (hits->before != NULL)
        plot_key(out, PLOT_BAR, "this run");
    if (hits->before != NULL)
        plot_key(out, PLOT_OUTLINE, "baseline");
    run_mean_text(mean, sizeof mean, page->column);
    snprintf(text, sizeof text, "mean %.96s (95 %%)", mean);
    if (hits->low < hits->high)
        plot_key(out, PLOT_BAND, text);
    fputs("</figcaption>\n</figure>\n", out);
}

/* `id`: its own in the page. */
static void put_histogram(FILE *out, const struct delta_page *page, const char *id)
{
    struct histogram_bin bins[BINS], before[BINS];
    char title[CELL], says[CELL] = "A histogram of ", rule_text[NUMBER_ROOM + 32] = "";
    const json_t *base = delta_page_base(page), *drawn = base != NULL && has_shape(base) ? base : NULL;
    struct plot_rule rule = {.text = rule_text, .at = field_real(base, "median")};
    double mean = field_real(page->column, "mean"), error = run_mean_error(page->column);
    struct plot_hits hits = {
        .bins = bins, .rules = &rule, .n_rules = base != NULL, .low = mean - error, .high = mean + error};
    hits.n = histogram_bins(page->column, drawn, bins, BINS);
    if (page->column == NULL || hits.n == 0)
        return;
    hits.before =
        drawn != NULL && histogram_bins(drawn, page->column, before, BINS) == hits.n ? before : NULL;
    if (base != NULL)
        snprintf(rule_text, sizeof rule_text, "baseline's median %s", MEAN(rule.at));
    hits.all = field_count(page->column, "count");
    hits.all_before = field_count(drawn, "count");
    snprintf(title, sizeof title, "Hits by %s", page->name);
    histogram_says(page->column, says, sizeof says);
    text_join(says, sizeof says, "; a dashed line is the ", rule_text);
    const struct plot plot = {.out = out, .id = id, .title = title, .says = says};
    fputs("<figure>\n", out);
    plot_histogram(&plot, &hits);
    put_histogram_keys(out, page, &hits);
    delta_page_put_outliers(out, "", page->column);
    if (hits.before != NULL)
        delta_page_put_outliers(out, " of the baseline", drawn);
}

static void put_distribution(FILE *out, const struct delta_page *page)
{
    if (page->column == NULL)
        return;
    page_heading(out, "distribution", "How the hits are distributed");
    put_histogram(out, page, "histogram");
    page_end_section(out);
}

static struct delta_page delta_page_of(const struct document *document, struct run_lines run)
{
    struct delta_page page = {.document = document, .run = run, .name = ""};
    page.column = run_first(run.summary, &page.name);
    page.column = run_is_counted(page.column) ? page.column : NULL;
    return page;
}

/* ---- the timeline */

static const struct {
    enum plot_look look;
    const char *words, *key;
} kinds[HIT_KINDS] = {
    [HIT_CLEAN] = {PLOT_PLAIN, "", "a hit"},
    [HIT_TAINTED] = {PLOT_ODD, ", tainted", "tainted: a delayed interrupt ran in it"},
    [HIT_AT_LEAST] = {PLOT_BOUND, " at least", "at least: its counter may have overflowed"},
    [HIT_WARMUP] = {PLOT_FAINT, ", for warm-up", "to warm up"},
};

static void put_single(const struct plot *plot, const struct hit_span *span, enum hit_kind kind)
{
    char label[CELL];
    snprintf(label, sizeof label, "hit %s, %.3f s: %s%s", NUMBER(span->first), span->from,
             NUMBER(span->of[kind].least), kinds[kind].words);
    plot_mark(plot, span->from, (double)span->of[kind].least, kinds[kind].look, label);
}

static void put_several(const struct plot *plot, const struct hit_span *span, enum hit_kind kind)
{
    char label[CELL];
    double middle = (span->from + span->to) / 2;
    snprintf(label, sizeof label, "hits %s to %s, %.3f to %.3f s: %s of them from %s to %s%s",
             NUMBER(span->first), NUMBER(span->last), span->from, span->to, NUMBER(span->of[kind].n),
             NUMBER(span->of[kind].least), NUMBER(span->of[kind].greatest), kinds[kind].words);
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

static void put_timeline(FILE *out, const struct delta_page *page)
{
    const struct hit_times *times = page->document->times;
    char title[CELL], says[CELL];
    uint64_t least = 0, greatest = 0;
    bool seen[HIT_KINDS] = {false};
    if (times == NULL || !hit_times_range(times, &least, &greatest))
        return;
    double room = (double)(greatest - least) / 20;
    snprintf(title, sizeof title, "%s of each hit over time", page->name);
    snprintf(says, sizeof says, "%s hit%s from %s to %s in %.3f s", NUMBER(times->hits), PLURAL(times->hits),
             NUMBER(least), NUMBER(greatest), times->spans[times->n - 1].to);
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
    html_text(out, page->name);
    fputs(" up, seconds to the right", out);
    if (times->each > 1)
        fprintf(out, "; %" PRIu64 " successive hits together, from the lowest to the highest", times->each);
    fputs(".<br>\n", out);
    for (int kind = 0; kind < HIT_KINDS; kind++)
        if (seen[kind]) {
            snprintf(says, sizeof says, "%s%s", kinds[kind].key,
                     kind != HIT_CLEAN ? "; not in the numbers" : "");
            plot_key(out, kinds[kind].look, says);
        }
    fputs("</figcaption>\n</figure>\n", out);
    page_end_section(out);
}

static bool delta_page_put_numbers(const struct rendering *to, const struct delta_page *page)
{
    page_heading(to->out, "numbers", "All that was counted");
    bool ok = run_write_table(to, &page->run);
    page_end_section(to->out);
    return ok;
}

static bool put_slowest(FILE *out, const struct document *document)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = document_line(document, "outlier") != NULL ? open_memstream(&text, &size) : NULL;
    const struct rendering to = {.out = lines, .format = FORMAT_TEXT, .columns = 80};
    if (lines == NULL)
        return document_line(document, "outlier") == NULL;
    outlier_write(&to, document);
    bool ok = fclose(lines) == 0;
    page_heading(out, "slowest", "The slowest hits");
    fputs("<pre class=\"outliers\" tabindex=\"0\">", out);
    if (ok)
        html_clean(out, text + (text[0] == '\n'));
    fputs("</pre>\n", out);
    page_end_section(out);
    free(text);
    return ok;
}

static bool put_baseline(FILE *out, const json_t *verdict)
{
    char caption[CELL];
    double scale = 0;
    json_t *rows = json_array();
    comparison_against_text(verdict, caption, sizeof caption);
    caption[0] = 'A';
    comparison_widen(&scale, verdict);
    page_heading(out, "baseline", "Against the baseline");
    bool ok = comparison_add_rows(rows, verdict, "", scale);
    ok = comparison_put_table(out, rows, caption, scale) && ok;
    fputs("<ul class=\"notes\">\n", out);
    comparison_put_items(out, verdict);
    fputs("</ul>\n", out);
    page_end_section(out);
    return ok;
}

/* A page, by what delta_write gives to it. */
static bool delta_page(const struct rendering *to, const struct document *document)
{
    FILE *out = to->out;
    struct delta_page self = delta_page_of(document, run_lines(document_line(document, "header"),
                                                               (json_t *)document_line(document, "summary"),
                                                               document_line(document, "verdict")));
    const json_t *verdict = self.run.verdict;
    const struct conditions *conditions = &self.run.conditions;
    char title[CELL], text[CELL], one[2 * CELL], why[2 * CELL] = "";
    struct check check;
    snprintf(text, sizeof text, " against %.256s", field_text(verdict, "baseline.file"));
    for (size_t i = 0; check_take(self.run.summary, verdict, i, &check); i++) {
        if (strcmp(check.verdict, "pass") == 0 && i > 0)
            continue;
        check_text(&check, one, sizeof one);
        text_join(why, sizeof why, "; ", one);
    }
    const struct page page = {.to = to,
                              .title = page_region(conditions->start, conditions->end, title, sizeof title),
                              .conditions = conditions,
                              .verdict = field_text(verdict, "verdict"),
                              .about_verdict = text,
                              .why = why,
                              .columns = field_of(self.run.summary, "columns"),
                              .document = document,
                              .left_out = document->left_out};
    page_begin(&page);
    put_headlines(out, &self);
    put_plus_minus(out, self.column);
    put_distribution(out, &self);
    put_timeline(out, &self);
    bool ok = delta_page_put_numbers(to, &self);
    ok = put_slowest(out, document) && ok;
    if (verdict != NULL)
        ok = put_baseline(out, verdict) && ok;
    return page_end(&page) && ok;
}

/* ---- delta report */

static enum hit_kind delta_report_kind_of(const json_t *hit, const char *column)
{
    size_t i;
    const json_t *bound;
    if (field_is(hit, "warmup"))
        return HIT_WARMUP;
    if (field_is(hit, "tainted"))
        return HIT_TAINTED;
    json_array_foreach(field_of(hit, "at_least"), i, bound)
        if (json_is_string(bound) && strcmp(json_string_value(bound), column) == 0)
            return HIT_AT_LEAST;
    return HIT_CLEAN;
}

void delta_add_time(struct hit_times *times, const json_t *hit, const char *column)
{
    const json_t *value = json_object_get(field_of(hit, "values"), column);
    double seconds = field_real(hit, "seconds");
    if (value != NULL && isfinite(seconds))
        hit_times_add(times, field_count(hit, "hit"), seconds, delta_report_kind_of(hit, column),
                      count_of(value));
}

void delta_keep_hit(struct document *document, struct hit_times *times, struct json_part hit,
                    const char *column)
{
    delta_add_time(times, hit.json, column);
    if (field_count(hit.json, "hit") <= PAGE_HITS) {
        document_add(document, hit);
        return;
    }
    document->left_out++;
    json_decref(hit.json);
}

static void add_times(struct hit_times *times, const struct document *document)
{
    const char *column =
        text_or_empty(json_array_get(field_of(document_line(document, "header"), "columns"), 0));
    size_t i;
    const json_t *line;
    json_array_foreach(document->lines, i, line)
        delta_add_time(times, line, column);
}

static bool delta_report_put_page(const struct rendering *to, const struct document *lines)
{
    struct document document = *lines;
    struct hit_times *times = NULL;
    bool ok = true;
    if (document.times == NULL) {
        times = calloc(1, sizeof *times);
        ok = times != NULL;
        if (ok)
            add_times(times, &document);
        document.times = times;
    }
    ok = ok && delta_page(to, &document);
    free(times);
    return ok;
}

static bool delta_report_put_text(const struct rendering *to, const struct document *document,
                                  const struct run_lines *run)
{
    if (!to->begun)
        conditions_write(to, &run->conditions);
    bool ok = run_write_table(to, run);
    outlier_write(to, document);
    if (run->verdict != NULL) {
        fputc('\n', to->out);
        comparison_write(to, run->verdict);
    }
    return ok;
}

bool delta_write(const struct rendering *to, const struct document *document)
{
    bool ok = document->ok;
    if (!ok || to->format == FORMAT_JSON)
        return ok && document_write(to->out, document);
    if (to->format == FORMAT_PERFETTO)
        return timeline_end(to, document);
    const struct run_lines run =
        run_lines(document_line(document, "header"), (json_t *)document_line(document, "summary"),
                  document_line(document, "verdict"));
    switch (to->format) {
    case FORMAT_HTML:
        return delta_report_put_page(to, document);
    case FORMAT_CSV: {
        json_t *rows = json_array();
        ok = run_add_rows(&run, true, rows);
        ok = run_write_csv(to, rows, "unit|mean|missing") && ok;
        break;
    }
    case FORMAT_MARKDOWN:
        ok = run_write_markdown(to, &run);
        break;
    default:
        ok = delta_report_put_text(to, document, &run);
        break;
    }
    return output_flush(to->out) && ok;
}

/* ---- compare report */

enum { COMPARE_REPORT_CELL = 1024 };

static struct run_lines run_of(const json_t *verdict)
{
    return run_lines(field_of(verdict, "run.header"), (json_t *)field_of(verdict, "run.summary"), verdict);
}

/* "fir_filter to its return, new.jsonl" */
static const char *pair_name(const json_t *verdict, bool with_file, char *out, size_t size)
{
    const char *file = with_file ? field_text(verdict, "file") : "";
    page_region(field_text(verdict, "region.start"), field_text(verdict, "region.end"), out, size);
    text_join(out, size, ", ", file);
    return out;
}

/* ---- text and others that have a part a pair */

static bool put_pair(const struct rendering *to, const json_t *verdict, size_t i)
{
    char name[COMPARE_REPORT_CELL], clean[UTF8_CLEAN_ROOM(COMPARE_REPORT_CELL)];
    const struct run_lines run = run_of(verdict);
    if (i > 0)
        fputc('\n', to->out);
    if (to->format == FORMAT_MARKDOWN)
        return run_write_markdown(to, &run);
    fprintf(to->out, "%s\n", terminal_text(clean, sizeof clean, pair_name(verdict, true, name, sizeof name)));
    comparison_write(to, verdict);
    return true;
}

static bool put_pairs(const struct rendering *to, const json_t *verdicts, const json_t *summary)
{
    const char *mark = to->format == FORMAT_MARKDOWN ? "**" : "";
    size_t i;
    const json_t *verdict;
    bool ok = true;
    json_array_foreach(verdicts, i, verdict)
        ok = put_pair(to, verdict, i) && ok;
    if (json_array_size(verdicts) > 1) /* one alone has all of it */
        fprintf(to->out, "\n%s%s%s over all %zu\n", mark, line_verdict_name(summary), mark,
                json_array_size(verdicts));
    return ok;
}

static bool compare_report_put_rows(const struct rendering *to, const json_t *verdicts)
{
    json_t *rows = json_array();
    size_t i;
    const json_t *verdict;
    bool ok = rows != NULL;
    json_array_foreach(verdicts, i, verdict) {
        const struct run_lines run = run_of(verdict);
        ok = run_add_rows(&run, true, rows) && ok;
    }
    return run_write_csv(to, rows, "judged") && ok;
}

static void put_notes(FILE *out, const json_t *verdict)
{
    char name[COMPARE_REPORT_CELL], text[COMPARE_REPORT_CELL];
    const char *is = field_text(verdict, "verdict");
    fputs("<li>", out);
    html_text(out, pair_name(verdict, true, name, sizeof name));
    comparison_against_text(verdict, text, sizeof text);
    fputc(' ', out);
    html_text(out, text);
    fputs(": <strong", out);
    html_attribute(out, "class", html_verdict_class(is));
    fputc('>', out);
    html_text(out, is);
    fputs("</strong>", out);
    if (field_of(verdict, "not_comparable") != NULL || field_of(verdict, "notes") != NULL) {
        fputs("\n<ul>\n", out);
        comparison_put_items(out, verdict);
        fputs("</ul>", out);
    }
    fputs("</li>\n", out);
}

static bool put_verdicts(FILE *out, const json_t *verdicts)
{
    double scale = 0;
    bool files = false, ok = true;
    char name[COMPARE_REPORT_CELL];
    json_t *rows = json_array();
    size_t i;
    const json_t *verdict;
    json_array_foreach(verdicts, i, verdict) {
        comparison_widen(&scale, verdict);
        files = files ||
                strcmp(field_text(verdict, "file"), field_text(json_array_get(verdicts, 0), "file")) != 0;
    }
    json_array_foreach(verdicts, i, verdict)
        ok = comparison_add_rows(rows, verdict, pair_name(verdict, files, name, sizeof name), scale) && ok;
    return comparison_put_table(out, rows, "Each later run against the first", scale) && ok;
}

/* The first column of each pair: of this run, and the earlier one's over it. */
static void put_distributions(FILE *out, const json_t *verdicts)
{
    char name[COMPARE_REPORT_CELL], id[64];
    size_t i;
    const json_t *verdict;
    page_heading(out, "distribution", "How the hits are distributed");
    json_array_foreach(verdicts, i, verdict) {
        const struct delta_page page = delta_page_of(NULL, run_of(verdict));
        if (delta_page_base(&page) == NULL || page.column == NULL)
            continue;
        snprintf(id, sizeof id, "histogram-%zu", i + 1);
        html_element(out, "p", NULL, pair_name(verdict, true, name, sizeof name));
        put_histogram(out, &page, id);
    }
    page_end_section(out);
}

static bool compare_report_put_page(const struct rendering *to, const struct document *document,
                                    const json_t *verdicts)
{
    char text[64];
    size_t i, n = json_array_size(verdicts);
    const json_t *verdict;
    text[0] = '\0';
    if (n > 1)
        snprintf(text, sizeof text, " over all %zu", n);
    const struct page page = {.to = to,
                              .title = "Comparison",
                              .verdict = field_text(document_line(document, "summary"), "verdict"),
                              .about_verdict = text,
                              .document = document};
    page_begin(&page);
    page_heading(to->out, "verdicts", "Verdicts");
    bool ok = put_verdicts(to->out, verdicts);
    page_end_section(to->out);
    put_distributions(to->out, verdicts);
    page_heading(to->out, "runs", "What was compared");
    fputs("<ul class=\"notes\">\n", to->out);
    json_array_foreach(verdicts, i, verdict)
        put_notes(to->out, verdict);
    fputs("</ul>\n", to->out);
    page_end_section(to->out);
    return page_end(&page) && ok;
}

bool compare_write(const struct rendering *to, const struct document *document)
{
    json_t *verdicts = document_rows(document, "verdict", NULL);
    bool ok = document->ok && verdicts != NULL;
    if (ok && to->format == FORMAT_JSON)
        ok = document_write(to->out, document);
    else if (ok)
        ok = to->format == FORMAT_CSV    ? compare_report_put_rows(to, verdicts)
             : to->format == FORMAT_HTML ? compare_report_put_page(to, document, verdicts)
                                         : put_pairs(to, verdicts, document_line(document, "summary"));
    json_decref(verdicts);
    return output_flush(to->out) && ok;
}
