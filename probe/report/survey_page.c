#include "report/survey_page.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

enum { CELL = 1024, BINS = 16, NUMBERS = 7 };

/* ---- the tables: one for each column */

static void put_spark(struct html_table *table, const struct column *column)
{
    struct histogram_bin bins[BINS];
    char title[CELL], hits[NUMBER_ROOM], low[NUMBER_ROOM], high[NUMBER_ROOM];
    struct figures figures = statistics_figures(column->statistics);
    size_t n = statistics_histogram(column->statistics, figures.min, figures.max, bins, BINS);
    snprintf(title, sizeof title, "%s hits from %s to %s", number_unsigned(hits, sizeof hits, figures.count),
             number_unsigned(low, sizeof low, figures.min), number_unsigned(high, sizeof high, figures.max));
    html_cell_begin(table, NULL);
    plot_sparkline(table->out, title, bins, n);
    html_cell_end(table);
}

static void put_rates(struct html_table *table, const struct survey_row *row)
{
    char rate[NUMBER_ROOM], share[NUMBER_ROOM];
    survey_rate_texts(row->summary, rate, share);
    html_cell(table, NULL, rate);
    html_cell(table, NULL, share);
}

static void put_empty(struct html_table *table, const char *text, size_t cells)
{
    html_cell(table, NULL, text);
    for (size_t i = 1; i < cells; i++)
        html_cell(table, NULL, "");
}

static void put_row(struct html_table *table, const struct survey_row *row, size_t which)
{
    char number[NUMBER_ROOM], text[NUMBER_ROOM + 16];
    size_t cells = table->n - 1;
    html_row(table, NULL);
    html_cell(table, NULL, row->name);
    if (!survey_has_hits(row)) {
        char none[64];
        survey_none_text(row, none, sizeof none);
        put_empty(table, none, cells);
        return;
    }
    const struct column *column = &row->summary->columns[which];
    struct figures figures = column_figures(column);
    if (column->unsupported[0] != '\0' || figures.count == 0) {
        snprintf(text, sizeof text, "at least %s",
                 number_unsigned(number, sizeof number, column->at_least_max));
        put_empty(table,
                  column->unsupported[0] != '\0' ? "<not supported>"
                  : column->at_least > 0         ? text
                                                 : "<not counted>",
                  cells);
        return;
    }
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.count));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.median));
    snprintf(text, sizeof text, "%s%s", column->calibrated ? "±" : "?",
             column->calibrated ? number_mean(number, column->plus_minus) : "");
    html_cell(table, NULL, text);
    html_cell(table, NULL, number_mean(number, figures.mean));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.min));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.max));
    html_cell(table, NULL, number_unsigned(number, sizeof number, figures.p99));
    if (which == 0)
        put_rates(table, row);
    put_spark(table, column);
}

static void put_tables(FILE *out, const struct survey *survey)
{
    static const char *const cycles[] = {"region", "hits", "median",  "±",     "mean",        "min",
                                         "max",    "p99",  "calls/s", "share", "distribution"};
    static const char *const events[] = {"region", "hits", "median", "±",           "mean",
                                         "min",    "max",  "p99",    "distribution"};
    const struct summary *first = survey_first(survey);
    for (size_t which = 0; which < (first != NULL ? first->n : 1); which++) {
        struct html_table table = {.out = out,
                                   .columns = which == 0 ? cycles : events,
                                   .n = NUMBERS + (which == 0 ? 4 : 2),
                                   .texts = 1,
                                   .numbers = NUMBERS + (which == 0 ? 2 : 0),
                                   .named = true};
        html_table_begin(&table, "regions", first != NULL ? first->columns[which].name : "regions");
        for (size_t i = 0; i < survey->n; i++)
            put_row(&table, &survey->rows[i], which);
        html_table_end(&table);
    }
}

static void put_metric_rows(struct html_table *table, const struct survey_row *row)
{
    char text[CELL];
    for (size_t k = 0; k < row->summary->n_metrics; k++) {
        const struct metric_result *metric = &row->summary->metrics[k];
        bool has = isfinite(metric->value);
        html_row(table, NULL);
        html_cell(table, NULL, row->name);
        html_cell(table, NULL, metric->name);
        snprintf(text, sizeof text, "%.4g%s%s", metric->value, metric->unit[0] != '\0' ? " " : "",
                 metric->unit);
        html_cell(table, NULL, has ? text : "<not counted>");
        html_cell(table, NULL, has ? "" : metric->why);
    }
}

static void put_metrics(FILE *out, const struct survey *survey)
{
    static const char *const columns[] = {"region", "metric", "value", "remark"};
    const struct summary *first = survey_first(survey);
    struct html_table table = {
        .out = out, .columns = columns, .n = 4, .texts = 2, .numbers = 1, .named = true};
    if (first == NULL || first->n_metrics == 0)
        return;
    html_table_begin(&table, "metrics", "Metrics, of the means");
    for (size_t i = 0; i < survey->n; i++)
        if (survey_has_hits(&survey->rows[i]))
            put_metric_rows(&table, &survey->rows[i]);
    html_table_end(&table);
}

/* ---- what is said about them */

static void put_remark(FILE *out, const struct survey_row *row)
{
    char remark[CELL], text[2 * CELL];
    if (!survey_remark(row, remark, sizeof remark) && row->why[0] == '\0')
        return;
    snprintf(text, sizeof text, "%s: %s", row->name, remark[0] != '\0' ? remark : row->why);
    html_element(out, "li", NULL, text);
}

static void put_remarks(FILE *out, const struct survey *survey)
{
    char text[CELL], time[NUMBER_ROOM];
    size_t reached = 0;
    for (size_t i = 0; i < survey->n; i++)
        reached += survey_has_hits(&survey->rows[i]);
    fputs("<ul class=\"notes\">\n", out);
    snprintf(text, sizeof text, "%zu of %zu regions were reached, in %s%s%s", reached, survey->n,
             number_elapsed(time, sizeof time, survey->seconds),
             survey->ended[0] != '\0' ? "; it ended early: " : "", survey->ended);
    html_element(out, "li", NULL, text);
    html_element(out, "li", NULL,
                 "±: the count of one hit may be that much too high or too low, as it does not always cost "
                 "the same to "
                 "stop the core; ? if that cost was not measured, and is in the counts.");
    html_element(out, "li", NULL,
                 "share: of all cycles from call to call, with what the region calls and what interrupts it; "
                 "< and > where "
                 "the counter may have overflowed unseen.");
    for (size_t i = 0; i < survey->n; i++)
        put_remark(out, &survey->rows[i]);
    fputs("</ul>\n", out);
}

static void put_check(struct html_table *table, const struct survey_row *row, const struct verdict_line *line)
{
    char numbers[3 * NUMBER_ROOM], verdict[CELL];
    survey_numbers(line, line == row->budget, numbers, sizeof numbers);
    survey_describe(row, line, verdict, sizeof verdict);
    html_row(table, NULL);
    html_cell(table, NULL, row->name);
    html_cell(table, NULL, line->name);
    html_cell(table, NULL, numbers);
    html_cell(table, page_verdict_class(line->verdict), verdict);
}

static void put_checks(FILE *out, const struct survey *survey)
{
    static const char *const columns[] = {"region", "budget or counter", "found", "verdict"};
    struct html_table table = {
        .out = out, .columns = columns, .n = 4, .texts = 2, .numbers = 1, .named = true};
    const struct verdict_line *line;
    if (!survey->judged)
        return;
    page_heading(out, "verdicts", "Verdicts");
    html_table_begin(&table, "checks", "By region: its budget, and against the baseline");
    for (size_t i = 0; i < survey->n; i++)
        for (size_t k = 0; (line = survey_check(&survey->rows[i], k)) != NULL; k++)
            put_check(&table, &survey->rows[i], line);
    html_table_end(&table);
    page_end_section(out);
}

bool survey_page(FILE *out, const struct survey *survey, struct page_lines *lines,
                 const struct page_command *command)
{
    const struct summary *first = survey_first(survey);
    char title[CELL];
    bool ok = lines->out != NULL && survey_json(lines->out, survey);
    snprintf(title, sizeof title, "Survey of %zu region%s", survey->n, survey->n == 1 ? "" : "s");
    html_begin_still(out, title);
    page_about(out, &survey->conditions);
    if (survey->judged)
        page_verdict(out, survey_verdict(survey), " over all");
    put_checks(out, survey);
    page_heading(out, "numbers", "All regions, largest share first");
    put_tables(out, survey);
    put_metrics(out, survey);
    put_remarks(out, survey);
    page_end_section(out);
    page_conditions(out, &survey->conditions, first != NULL ? first->columns : NULL,
                    first != NULL ? first->n : 0);
    page_repeat(out, command);
    ok = page_put_lines(out, lines, 0) && ok;
    html_end_still(out);
    return fflush(out) == 0 && !ferror(out) && ok;
}
