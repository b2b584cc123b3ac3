#include "report/formats.h"

#include "report/number.h"
#include "report/survey.h"
#include "report/views.h"

#include <math.h>
#include <string.h>

enum { FIELD = 512 };

static void put_title(FILE *out, const struct conditions *conditions)
{
    const char *const first[] = {conditions->link, conditions->core, conditions->counter};
    if (conditions->start[0] != '\0') {
        fputs("**", out);
        markdown_text(out, conditions->start);
        fprintf(out, "**%s", conditions->start_source[0] != '\0' ? " " : "");
        markdown_text(out, conditions->start_source);
        if (conditions->end[0] != '\0') {
            fputs(" to ", out);
            markdown_text(out, conditions->end);
        }
        fputs("  \n", out); /* two blanks: a line break */
    }
    for (size_t i = 0, put_before = 0; i < sizeof first / sizeof *first; i++) {
        if (first[i][0] == '\0')
            continue;
        fputs(put_before++ > 0 ? ", " : "", out);
        markdown_text(out, first[i]);
    }
    fputs("\n\n", out);
}

/* ---- delta: its columns and metrics as rows */

static void add_figures(struct json_part *row, const struct column *column)
{
    struct figures figures = column_figures(column);
    char error[NUMBER_ROOM], text[NUMBER_ROOM + 4];
    if (figures.has_median)
        json_part_unsigned(row, "median", figures.median);
    json_part_real(row, "mean", figures.mean);
    json_part_real(row, "sd", figures.sd);
    json_part_unsigned(row, "min", figures.min);
    json_part_unsigned(row, "max", figures.max);
    if (figures.has_tail) {
        json_part_unsigned(row, "p90", figures.p90);
        json_part_unsigned(row, "p99", figures.p99);
    }
    number_decimal(error, sizeof error, ceil(column->plus_minus - 1e-6), 0);
    snprintf(text, sizeof text, "±%.44s", error);
    row_text(row, "plus_minus", column->calibrated ? text : "?");
    if (column->calibrated)
        json_part_real(row, "overhead", column->overhead);
    else
        row_text(row, "overhead", "?");
}

static void append_verdict(struct json_part *row, json_t *list, enum verdict verdict, const char *before,
                           const char *words, const char *why)
{
    struct json_part one = json_part_new(NULL);
    row_text(&one, "before", before);
    row_text(&one, "verdict", words);
    row_text(&one, "why", why);
    one.ok = one.ok && json_object_set_new(one.json, "bad", json_boolean(verdict == VERDICT_REGRESSED)) == 0;
    row->ok = row->ok && one.ok;
    json_part_append(row, list, one.json);
}

static void add_verdict(struct json_part *row, const struct verdict_line *line, bool comparable)
{
    char why[FIELD];
    json_t *list = json_array();
    bool told = comparable && line->why[0] != '\0'; /* else the reasons follow below the table */
    snprintf(why, sizeof why, "%s%s", told ? ": " : "", told ? line->why : "");
    json_part_real(row, "baseline", line->base.n > 0 ? line->base.mean : (double)NAN);
    json_part_real(row, "change", line->change);
    append_verdict(row, list, line->verdict, "", verdict_name(line->verdict), why);
    json_part_array(row, "verdict", list);
}

/* `column` NULL: only the baseline has it. `comparison` may be NULL. */
static struct json_part column_row(const char *name, const struct column *column,
                                   const struct verdict_line *line, const struct comparison *comparison)
{
    struct json_part row = json_part_new(NULL);
    bool unsupported = column != NULL && column->unsupported[0] != '\0';
    row_text(&row, "name", name);
    if (column != NULL && !unsupported && column_figures(column).count > 0)
        add_figures(&row, column);
    else
        row_text(&row, "reason", unsupported ? "<not supported>" : "<not counted>");
    if (line != NULL)
        add_verdict(&row, line, comparison->n_reasons == 0);
    return row;
}

static struct json_part metric_row(const struct metric_result *metric)
{
    struct json_part row = json_part_new(NULL);
    char text[FIELD];
    row_text(&row, "name", metric->name);
    if (isfinite(metric->value))
        snprintf(text, sizeof text, "%.4g%s%s", metric->value, metric->unit[0] != '\0' ? " " : "",
                 metric->unit);
    else
        snprintf(text, sizeof text, "<not counted>%s%s", metric->why[0] != '\0' ? ": " : "", metric->why);
    row_text(&row, isfinite(metric->value) ? "mean" : "reason", text);
    return row;
}

static json_t *summary_rows(const struct summary *summary, const struct comparison *comparison)
{
    struct document document = document_new();
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        const struct verdict_line *line =
            comparison != NULL ? comparison_find(comparison, column->name) : NULL;
        document_add(&document, column_row(column->name, column, line, comparison));
    }
    for (size_t i = 0; comparison != NULL && i < comparison->n; i++)
        if (comparison_column(summary, &comparison->lines[i]) == NULL)
            document_add(&document,
                         column_row(comparison->lines[i].name, NULL, &comparison->lines[i], comparison));
    for (size_t i = 0; i < summary->n_metrics; i++)
        document_add(&document, metric_row(&summary->metrics[i]));
    json_t *rows = document.ok ? json_incref(document.lines) : NULL;
    document_free(&document);
    return rows;
}

static void put_fact(void *context, const char *fact)
{
    FILE *out = context;
    fputs("* ", out);
    markdown_text(out, fact);
    fputc('\n', out);
}

static void put_named(FILE *out, const char *name, const char *fact)
{
    char text[4 * FIELD];
    snprintf(text, sizeof text, "%s: %s", name, fact);
    put_fact(out, text);
}

static void put_bounds(FILE *out, const struct column *column)
{
    char hits[NUMBER_ROOM], bound[NUMBER_ROOM], text[FIELD];
    snprintf(text, sizeof text, "%s: of %s more hits only a lower bound is known, the highest at least %s",
             column->name, number_unsigned(hits, sizeof hits, column->at_least),
             number_unsigned(bound, sizeof bound, column->at_least_max));
    put_fact(out, text);
}

/* Its clock, and what it changed. */
static void put_run(FILE *out, const struct conditions *conditions)
{
    char clock[NUMBER_ROOM], text[FIELD];
    snprintf(text, sizeof text, "at %s%s%s", number_frequency(clock, sizeof clock, conditions->clock_hz),
             conditions->clock_source[0] != '\0' ? ", by " : "", conditions->clock_source);
    if (conditions->clock_hz > 0)
        put_fact(out, text);
    if (conditions->note[0] != '\0')
        put_fact(out, conditions->note);
}

static bool is_uncalibrated(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        if (!summary->columns[i].calibrated && column_figures(&summary->columns[i]).count > 0)
            return true;
    return false;
}

static void put_uncalibrated(FILE *out)
{
    put_fact(out, "?: the overhead was not measured, and what a halt adds is in the counts");
}

static void put_footer(FILE *out, const struct summary *summary)
{
    footer_facts(summary, put_fact, out);
    put_run(out, &summary->conditions);
    for (size_t i = 0; i < summary->n; i++)
        if (summary->columns[i].at_least > 0)
            put_bounds(out, &summary->columns[i]);
    if (is_uncalibrated(summary))
        put_uncalibrated(out);
}

static void put_comparison(FILE *out, const struct comparison *comparison)
{
    char text[NUMBER_ROOM];
    fprintf(out, "* **%s**%s", verdict_name(comparison->verdict),
            comparison->file_now[0] != '\0' ? ": " : "");
    markdown_text(out, comparison->file_now);
    fputs(" against ", out);
    markdown_text(out, comparison->file);
    fprintf(out, ", threshold %s\n", number_part(text, comparison->threshold));
    for (size_t i = 0; i < comparison->n_reasons; i++)
        put_named(out, "not comparable", comparison->reasons[i]);
    for (size_t i = 0; i < comparison->n_notes; i++)
        put_named(out, "note", comparison->notes[i]);
}

bool markdown_summary(FILE *out, const struct summary *summary, const struct comparison *comparison)
{
    const struct rendering to = {.out = out, .format = FORMAT_MARKDOWN};
    put_title(out, &summary->conditions);
    bool ok = render_table(&to, &summary_view, summary_rows(summary, comparison));
    put_footer(out, summary);
    if (comparison != NULL)
        put_comparison(out, comparison);
    return fflush(out) == 0 && !ferror(out) && ok;
}

/* --- surveys -------------------------------------------------------------------------------------------- */

static void add_checks(struct json_part *part, const struct survey_row *row)
{
    json_t *list = json_array();
    const struct verdict_line *line;
    for (size_t k = 0; (line = survey_check(row, k)) != NULL; k++) {
        char numbers[3 * NUMBER_ROOM], verdict[2 * FIELD], text[2 * FIELD];
        survey_numbers(line, line == row->budget, numbers, sizeof numbers);
        survey_describe(row, line, verdict, sizeof verdict);
        snprintf(text, sizeof text, "%s: %s, ", line->name, numbers);
        append_verdict(part, list, line->verdict, text, verdict, "");
    }
    json_part_array(part, "verdict", list);
}

/* One of its columns; rates and verdicts are with the first. */
static struct json_part region_row(const struct survey_row *row, size_t which, bool judged)
{
    struct json_part part = json_part_new(NULL);
    const struct column *column =
        survey_has_hits(row) && which < row->summary->n ? &row->summary->columns[which] : NULL;
    char text[64] = "<not counted>", share[NUMBER_ROOM], rate[NUMBER_ROOM];
    row_text(&part, "name", row->name);
    if (column != NULL && column->unsupported[0] == '\0' && column_figures(column).count > 0) {
        json_part_unsigned(&part, "hits", column_figures(column).count);
        add_figures(&part, column);
    } else {
        if (column == NULL)
            survey_none_text(row, text, sizeof text);
        row_text(&part, "reason", text);
    }
    if (which > 0)
        return part;
    if (column != NULL) {
        survey_rate_texts(row->summary, rate, share);
        row_text(&part, "rate", rate);
        row_text(&part, "share", share);
    }
    if (judged)
        add_checks(&part, row);
    return part;
}

static bool put_regions(FILE *out, const struct survey *survey, size_t which)
{
    const struct rendering to = {.out = out, .format = FORMAT_MARKDOWN};
    struct document document = document_new();
    for (size_t i = 0; i < survey->n; i++)
        document_add(&document, region_row(&survey->rows[i], which, survey->judged));
    bool ok = document.ok && render_table(&to, &region_view, json_incref(document.lines));
    document_free(&document);
    return ok;
}

static bool put_columns(FILE *out, const struct survey *survey)
{
    const struct rendering to = {.out = out, .format = FORMAT_MARKDOWN};
    const struct summary *first = survey_first(survey);
    bool ok = true;
    for (size_t i = 0; (i == 0 || (first != NULL && i < first->n)) && ok; i++) {
        if (first != NULL)
            render_heading(&to, first->columns[i].name);
        ok = put_regions(out, survey, i);
    }
    return ok;
}

bool survey_markdown(FILE *out, const struct survey *survey)
{
    char text[NUMBER_ROOM], remark[2 * FIELD];
    bool uncalibrated = false;
    size_t reached = 0;
    put_title(out, &survey->conditions);
    bool ok = put_columns(out, survey);
    for (size_t i = 0; i < survey->n; i++)
        reached += survey_has_hits(&survey->rows[i]);
    fprintf(out, "* %zu of %zu regions reached, in %s", reached, survey->n,
            number_elapsed(text, sizeof text, survey->seconds));
    if (survey->ended[0] != '\0') {
        fputs("; ended early: ", out);
        markdown_text(out, survey->ended);
    }
    fputc('\n', out);
    put_run(out, &survey->conditions);
    for (size_t i = 0; i < survey->n; i++) {
        const struct survey_row *row = &survey->rows[i];
        uncalibrated = uncalibrated || (survey_has_hits(row) && is_uncalibrated(row->summary));
        if (survey_remark(row, remark, sizeof remark) || row->why[0] != '\0')
            put_named(out, row->name, remark[0] != '\0' ? remark : row->why);
    }
    if (uncalibrated)
        put_uncalibrated(out);
    if (survey->judged)
        fprintf(out, "* **%s**\n", verdict_name(survey_verdict(survey)));
    return fflush(out) == 0 && !ferror(out) && ok;
}
