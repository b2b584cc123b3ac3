#include "report/formats.h"

#include "report/number.h"
#include "report/survey.h"
#include "report/views.h"

#include <math.h>
#include <string.h>

enum { FIELD = 512 };

static void put_cell(FILE *out, const char *text)
{
    fputs(" ", out);
    markdown_text(out, text);
    fputs(" |", out);
}

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

static void add_verdict(struct json_part *row, const struct verdict_line *line, bool comparable)
{
    char verdict[FIELD];
    bool told = comparable && line->why[0] != '\0'; /* else the reasons follow below the table */
    snprintf(verdict, sizeof verdict, "%s%s%s", verdict_name(line->verdict), told ? ": " : "",
             told ? line->why : "");
    json_part_real(row, "baseline", line->base.n > 0 ? line->base.mean : (double)NAN);
    json_part_real(row, "change", line->change);
    row_text(row, "verdict", verdict);
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

static void put_bounds(FILE *out, const struct column *column)
{
    char hits[NUMBER_ROOM], bound[NUMBER_ROOM], text[FIELD];
    snprintf(text, sizeof text, "%s: of %s more hits only a lower bound is known, the highest at least %s",
             column->name, number_unsigned(hits, sizeof hits, column->at_least),
             number_unsigned(bound, sizeof bound, column->at_least_max));
    put_fact(out, text);
}

static void put_clock(FILE *out, const struct conditions *conditions)
{
    char clock[NUMBER_ROOM], text[FIELD];
    snprintf(text, sizeof text, "at %s%s%s", number_frequency(clock, sizeof clock, conditions->clock_hz),
             conditions->clock_source[0] != '\0' ? ", by " : "", conditions->clock_source);
    put_fact(out, text);
}

static void put_footer(FILE *out, const struct summary *summary)
{
    bool uncalibrated = false;
    footer_facts(summary, put_fact, out);
    if (summary->conditions.clock_hz > 0)
        put_clock(out, &summary->conditions);
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        uncalibrated = uncalibrated || (!column->calibrated && column_figures(column).count > 0);
        if (column->at_least > 0)
            put_bounds(out, column);
    }
    if (uncalibrated)
        put_fact(out, "?: the overhead was not measured, and what a halt adds is in the counts");
    if (summary->conditions.note[0] != '\0')
        put_fact(out, summary->conditions.note);
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
    for (size_t i = 0; i < comparison->n_reasons; i++) {
        fputs("* not comparable: ", out);
        markdown_text(out, comparison->reasons[i]);
        fputc('\n', out);
    }
    for (size_t i = 0; i < comparison->n_notes; i++) {
        fputs("* note: ", out);
        markdown_text(out, comparison->notes[i]);
        fputc('\n', out);
    }
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

static void put_survey_numbers(FILE *out, const struct survey_row *row)
{
    char number[NUMBER_ROOM], share[NUMBER_ROOM], rate[NUMBER_ROOM];
    if (row->summary == NULL || row->summary->hits == 0) {
        char none[64];
        survey_none_text(row, none, sizeof none);
        put_cell(out, none);
        for (size_t i = 0; i < 7; i++)
            put_cell(out, "");
        return;
    }
    struct figures figures = column_figures(&row->summary->columns[0]);
    put_cell(out, number_unsigned(number, sizeof number, figures.count));
    put_cell(out, number_unsigned(number, sizeof number, figures.median));
    put_cell(out, number_mean(number, figures.mean));
    put_cell(out, number_unsigned(number, sizeof number, figures.min));
    put_cell(out, number_unsigned(number, sizeof number, figures.max));
    put_cell(out, number_unsigned(number, sizeof number, figures.p99));
    survey_rate_texts(row->summary, rate, share);
    put_cell(out, rate);
    put_cell(out, share);
}

static void put_checks(FILE *out, const struct survey_row *row)
{
    const struct verdict_line *line;
    fputs(" ", out);
    for (size_t k = 0; (line = survey_check(row, k)) != NULL; k++) {
        char numbers[3 * NUMBER_ROOM], verdict[2 * FIELD];
        const char *bold = line->verdict == VERDICT_REGRESSED ? "**" : "";
        survey_numbers(line, line == row->budget, numbers, sizeof numbers);
        survey_describe(row, line, verdict, sizeof verdict);
        fputs(k > 0 ? "<br>" : "", out);
        markdown_text(out, line->name);
        fputs(": ", out);
        markdown_text(out, numbers);
        fprintf(out, ", %s", bold);
        markdown_text(out, verdict);
        fputs(bold, out);
    }
    fputs(" |", out);
}

bool survey_markdown(FILE *out, const struct survey *survey)
{
    char text[NUMBER_ROOM];
    size_t reached = 0;
    put_title(out, &survey->conditions);
    fputs("|region|hits|median|mean|min|max|p99|calls/s|share|", out);
    fputs(survey->judged ? "verdict|\n" : "\n", out);
    fputs("|:--|--:|--:|--:|--:|--:|--:|--:|--:|", out);
    fputs(survey->judged ? ":--|\n" : "\n", out);
    for (size_t i = 0; i < survey->n; i++) {
        const struct survey_row *row = &survey->rows[i];
        fputs("|", out);
        put_cell(out, row->name);
        put_survey_numbers(out, row);
        if (survey->judged)
            put_checks(out, row);
        fputc('\n', out);
        reached += row->summary != NULL && row->summary->hits > 0;
    }
    fprintf(out, "\n* %zu of %zu regions reached, in %s", reached, survey->n,
            number_elapsed(text, sizeof text, survey->seconds));
    if (survey->ended[0] != '\0') {
        fputs("; ended early: ", out);
        markdown_text(out, survey->ended);
    }
    fputc('\n', out);
    for (size_t i = 0; i < survey->n; i++)
        if (survey->rows[i].why[0] != '\0') {
            fputs("* ", out);
            markdown_text(out, survey->rows[i].name);
            fputs(": ", out);
            markdown_text(out, survey->rows[i].why);
            fputc('\n', out);
        }
    if (survey->judged)
        fprintf(out, "* **%s**\n", verdict_name(survey_verdict(survey)));
    return fflush(out) == 0 && !ferror(out);
}
