#include "report/table.h"

#include "report/number.h"
#include "report/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum cell { NAME, MEDIAN, MEAN, DEVIATION, MIN, MAX, CELLS };
enum { CELL = 96, REMARK = 384, ROWS = RESULT_COLUMNS + RESULT_METRICS + 2 }; /* + the heading and the time */

struct row {
    char cells[CELLS][CELL];
    char remark[REMARK];
};

struct table {
    size_t n;
    struct row rows[ROWS];
};

__attribute__((format(printf, 2, 3))) static void remark(struct row *row, const char *format, ...)
{
    size_t used = strlen(row->remark);
    if (used > 0)
        used += (size_t)snprintf(row->remark + used, REMARK - used, "; ");
    if (used >= REMARK)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(row->remark + used, REMARK - used, format, list);
    va_end(list);
}

/* As many decimals as leave two digits of the deviation, none where whole numbers say enough. */
static int decimals_for(double deviation)
{
    if (!(deviation > 0) || deviation >= 3)
        return 0;
    int decimals = 1 - (int)floor(log10(deviation));
    return decimals < 6 ? decimals : 6;
}

/* An error is never rounded down. */
static const char *error_text(char *out, size_t size, double error)
{
    int decimals = error == floor(error) || error >= 10 ? 0 : error >= 1 ? 1 : 2;
    double scale = pow(10, decimals);
    return number_decimal(out, size, ceil(error * scale - 1e-6) / scale, decimals);
}

static void put_remarks(struct row *row, const struct column *column)
{
    char error[NUMBER_ROOM], overhead[NUMBER_ROOM], bound[NUMBER_ROOM], hits[NUMBER_ROOM];
    bool exact = true;
    statistics_quantile(column->statistics, 0.5, &exact);
    error_text(error, sizeof(error), column->plus_minus);
    number_decimal(overhead, sizeof(overhead), column->overhead,
                   column->overhead == floor(column->overhead) ? 0 : 1);

    if (!column->calibrated)
        remark(row, "overhead not measured");
    else if (fabs(column->overhead) >= 0.05) /* else it would read 0.0 */
        remark(row, "± %s, overhead %s removed", error, overhead);
    else if (column->plus_minus != 0)
        remark(row, "± %s", error);
    if (!exact)
        remark(row, "median to 0.1 %%");
    number_unsigned(bound, sizeof(bound), column->at_least_max);
    number_unsigned(hits, sizeof(hits), column->at_least);
    if (column->at_least == 1)
        remark(row, "1 hit at least %s, left out", bound);
    else if (column->at_least > 1)
        remark(row, "%s hits left out, the highest at least %s", hits, bound);
}

static void put_numbers(struct row *row, const struct statistics *statistics)
{
    double deviation = statistics_deviation(statistics);
    int decimals = decimals_for(deviation);
    number_unsigned(row->cells[MEDIAN], CELL, statistics_quantile(statistics, 0.5, NULL));
    number_decimal(row->cells[MEAN], CELL, statistics_mean(statistics), decimals);
    number_decimal(row->cells[DEVIATION], CELL, deviation, decimals);
    number_unsigned(row->cells[MIN], CELL, statistics_min(statistics));
    number_unsigned(row->cells[MAX], CELL, statistics_max(statistics));
}

static void put_column(struct row *row, const struct column *column)
{
    utf8_clean(row->cells[NAME], CELL, column->name);
    if (column->unsupported[0] != '\0') {
        snprintf(row->cells[MEDIAN], CELL, "<not supported>");
        remark(row, "%s", column->unsupported);
    } else if (statistics_count(column->statistics) > 0) {
        put_numbers(row, column->statistics);
        put_remarks(row, column);
    } else if (column->at_least > 0) {
        /* A bound on the longest hit says nothing of the median */
        char bound[NUMBER_ROOM];
        number_unsigned(bound, sizeof(bound), column->at_least_max);
        snprintf(row->cells[MAX], CELL, "at least %s", bound);
    } else {
        snprintf(row->cells[MEDIAN], CELL, "<not counted>");
    }
}

/* False: nothing is known of the time. */
static bool put_time(struct row *row, const struct conditions *conditions, const struct column *cycles)
{
    char clock[NUMBER_ROOM], error[NUMBER_ROOM], duration[NUMBER_ROOM];
    char source[UTF8_CLEAN_ROOM(sizeof(conditions->clock_source))];
    double hz = conditions->clock_hz;
    if (!(hz > 0))
        return false;
    if (statistics_count(cycles->statistics) > 0) {
        number_duration(row->cells[MEDIAN], CELL,
                        (double)statistics_quantile(cycles->statistics, 0.5, NULL) / hz);
    } else if (cycles->at_least > 0) {
        number_duration(duration, sizeof(duration), (double)cycles->at_least_max / hz);
        snprintf(row->cells[MAX], CELL, "at least %s", duration);
    } else {
        return false;
    }
    snprintf(row->cells[NAME], CELL, "time");
    number_frequency(clock, sizeof(clock), hz);
    number_frequency(error, sizeof(error), conditions->clock_error_hz);
    utf8_clean(source, sizeof(source), conditions->clock_source);
    bool has_error = conditions->clock_error_hz > 0, has_source = source[0] != '\0';
    remark(row, "at %s%s%s%s%s%s", clock, has_error ? " ± " : "", has_error ? error : "",
           has_source ? " (" : "", source, has_source ? ")" : "");
    return true;
}

/* Of the means, so it stands among them. */
static void put_metric(struct row *row, const struct metric_result *metric)
{
    utf8_clean(row->cells[NAME], CELL, metric->name);
    if (isfinite(metric->value))
        snprintf(row->cells[MEAN], CELL, "%.4g", metric->value);
    else
        snprintf(row->cells[MEDIAN], CELL, "<not counted>");
    if (metric->unit[0] != '\0')
        remark(row, "%s", metric->unit);
}

static void put_heading(struct row *row)
{
    static const char *const heading[CELLS] = {"", "median", "mean", "sd", "min", "max"};
    for (size_t cell = 0; cell < CELLS; cell++)
        snprintf(row->cells[cell], CELL, "%s", heading[cell]);
}

static void fill(struct table *table, const struct summary *summary)
{
    bool counted = false;
    for (size_t i = 0; i < summary->n; i++)
        counted |= statistics_count(summary->columns[i].statistics) > 0 || summary->columns[i].at_least > 0;
    if (counted)
        put_heading(&table->rows[table->n++]);
    for (size_t i = 0; i < summary->n; i++)
        put_column(&table->rows[table->n++], &summary->columns[i]);
    for (size_t i = 0; i < summary->n_metrics; i++)
        put_metric(&table->rows[table->n++], &summary->metrics[i]);
    if (summary->n > 0 && put_time(&table->rows[table->n], &summary->conditions, &summary->columns[0]))
        table->n++;
}

/* Blanks are owed until something follows them: no line ends in one. */
static void put_cell(FILE *out, const char *text, size_t width, bool left, size_t *owed)
{
    size_t blanks = width - utf8_width(text);
    if (!left)
        *owed += blanks;
    if (text[0] != '\0') {
        fprintf(out, "%*s%s", (int)*owed, "", text);
        *owed = 0;
    }
    if (left)
        *owed += blanks;
}

void table_print(FILE *out, const struct summary *summary)
{
    static const size_t gap[CELLS] = {[MEDIAN] = 2, [MEAN] = 2, [MIN] = 2, [MAX] = 2};
    size_t width[CELLS] = {[NAME] = 16, [MEDIAN] = 12, [MEAN] = 8, [DEVIATION] = 3, [MIN] = 12, [MAX] = 9};
    struct table table = {0};
    fill(&table, summary);
    for (size_t i = 0; i < table.n; i++)
        for (size_t cell = 0; cell < CELLS; cell++) {
            size_t w = utf8_width(table.rows[i].cells[cell]);
            width[cell] = w > width[cell] ? w : width[cell];
        }

    for (size_t i = 0; i < table.n; i++) {
        const struct row *row = &table.rows[i];
        size_t owed = 0;
        for (size_t cell = 0; cell < CELLS; cell++) {
            owed += gap[cell];
            if (cell == DEVIATION)
                put_cell(out, row->cells[cell][0] != '\0' ? " ± " : "", 3, true, &owed);
            put_cell(out, row->cells[cell], width[cell], cell == NAME, &owed);
        }
        owed += 4;
        put_cell(out, row->remark, utf8_width(row->remark), true, &owed);
        fputc('\n', out);
    }
}
