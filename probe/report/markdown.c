#include "report/formats.h"

#include "report/number.h"
#include "report/render.h"
#include "report/survey.h"
#include "report/terminal.h"

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
        fputs("**", out);
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

static void put_heading(FILE *out, bool compared)
{
    fputs("| |median|mean|sd|min|max|p99|", out);
    fputs(compared ? "baseline|change|verdict|\n" : "\n", out);
    fputs("|:--|--:|--:|--:|--:|--:|--:|", out);
    fputs(compared ? "--:|--:|:--|\n" : "\n", out);
}

/* NULL: only the baseline has it. */
static void put_numbers(FILE *out, const struct column *column)
{
    struct figures figures = column != NULL ? column_figures(column) : (struct figures){0};
    bool unsupported = column != NULL && column->unsupported[0] != '\0';
    char number[NUMBER_ROOM];
    if (unsupported || figures.count == 0) {
        put_cell(out, unsupported ? "<not supported>" : "<not counted>");
        for (size_t i = 0; i < 5; i++)
            put_cell(out, "");
        return;
    }
    put_cell(out, figures.has_median ? number_unsigned(number, sizeof number, figures.median) : "");
    put_cell(out, number_mean(number, figures.mean));
    put_cell(out, number_mean(number, figures.sd));
    put_cell(out, number_unsigned(number, sizeof number, figures.min));
    put_cell(out, number_unsigned(number, sizeof number, figures.max));
    put_cell(out, figures.has_tail ? number_unsigned(number, sizeof number, figures.p99) : "");
}

static void put_verdict(FILE *out, const struct verdict_line *line, bool comparable)
{
    char number[NUMBER_ROOM], verdict[FIELD];
    if (line == NULL) {
        put_cell(out, "");
        put_cell(out, "");
        put_cell(out, "");
        return;
    }
    put_cell(out, line->base.n > 0 ? number_mean(number, line->base.mean) : "");
    put_cell(out, number_change(number, line->change));
    bool told = comparable && line->why[0] != '\0'; /* else the reasons stand below */
    snprintf(verdict, sizeof verdict, "%s%s", told ? ": " : "", told ? line->why : "");
    fprintf(out, " %s%s%s", line->verdict == VERDICT_REGRESSED ? "**" : "", verdict_name(line->verdict),
            line->verdict == VERDICT_REGRESSED ? "**" : "");
    markdown_text(out, verdict);
    fputs(" |", out);
}

static void put_row(FILE *out, const struct column *column, const struct verdict_line *line,
                    const struct comparison *comparison)
{
    fputs("|", out);
    put_cell(out, column != NULL ? column->name : line->name);
    put_numbers(out, column);
    if (comparison != NULL)
        put_verdict(out, line, comparison->n_reasons == 0);
    fputc('\n', out);
}

static void put_bounds(FILE *out, const struct summary *summary)
{
    char hits[NUMBER_ROOM], bound[NUMBER_ROOM];
    for (size_t i = 0; i < summary->n; i++) {
        const struct column *column = &summary->columns[i];
        if (column->at_least == 0)
            continue;
        fputs("* ", out);
        markdown_text(out, column->name);
        fprintf(out, ": of %s more hits only a lower bound is known, the highest at least %s\n",
                number_unsigned(hits, sizeof hits, column->at_least),
                number_unsigned(bound, sizeof bound, column->at_least_max));
    }
}

static void put_footer(FILE *out, const struct summary *summary, const struct comparison *comparison)
{
    char text[NUMBER_ROOM], wanted[NUMBER_ROOM];
    fprintf(out, "\n* %s hits", number_unsigned(text, sizeof text, summary->hits));
    if (summary->tainted > 0)
        fprintf(out, ", %s tainted", number_unsigned(text, sizeof text, summary->tainted));
    if (summary->warmup > 0)
        fprintf(out, ", after %s for warm-up", number_unsigned(text, sizeof text, summary->warmup));
    if (summary->conditions.clock_hz > 0)
        fprintf(out, ", at %s", number_frequency(text, sizeof text, summary->conditions.clock_hz));
    if (summary->ended[0] != '\0') {
        fputs("; ended early: ", out);
        markdown_text(out, summary->ended);
    }
    fputc('\n', out);
    if (summary->precision > 0 && isfinite(summary->precise))
        fprintf(out, "* mean ±%s (95 %%): --precision %s was %sreached\n",
                number_part_up(text, summary->precise), number_part(wanted, summary->precision),
                summary->precise <= summary->precision ? "" : "not ");
    put_bounds(out, summary);
    if (comparison == NULL)
        return;
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
    bool compared = comparison != NULL;
    put_title(out, &summary->conditions);
    put_heading(out, compared);
    for (size_t i = 0; i < summary->n; i++)
        put_row(out, &summary->columns[i],
                compared ? comparison_find(comparison, summary->columns[i].name) : NULL, comparison);
    for (size_t i = 0; compared && i < comparison->n; i++)
        if (comparison_column(summary, &comparison->lines[i]) == NULL)
            put_row(out, NULL, &comparison->lines[i], comparison);
    put_footer(out, summary, comparison);
    return fflush(out) == 0 && !ferror(out);
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
