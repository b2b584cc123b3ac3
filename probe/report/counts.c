#include "report/counts.h"

#include "base/deadline.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINE = 1024, INDENT = 2 };
enum { COUNT = 24, NAME = 28, INTERVAL_COUNT = 20, INTERVAL_NAME = 24 }; /* widths of counts */
enum { HEAD = 10, NARROWEST = 16, TEXT = NUMBER_ROOM + 4 };              /* widths of cores */

static bool done(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

static bool is_unsupported(const struct counts_row *row)
{
    return row->unsupported != NULL && row->unsupported[0] != '\0';
}

/* What perf prints in the place of a number. */
static const char *missing(const struct counts_row *row)
{
    return is_unsupported(row) ? "<not supported>" : row->counted ? NULL : "<not counted>";
}

static double rate_of(const struct counts_row *row)
{
    return row->seconds > 0 ? (double)row->count / row->seconds : 0;
}

/* Aligned if the line has room, else folded. */
static void put_line(FILE *out, const char *line)
{
    size_t columns = terminal_columns(out);
    if (utf8_width(line) <= columns)
        fprintf(out, "%s\n", line);
    else
        fold_text(out, columns, INDENT, line + strspn(line, " "));
}

static void put_text_row(FILE *out, const struct counts_row *row, double since)
{
    char count[NUMBER_ROOM], rate[NUMBER_ROOM], line[LINE], name[UTF8_CLEAN_ROOM(96)],
        words[NUMBER_ROOM + 16];
    bool is_interval = since > 0;
    int used = is_interval ? snprintf(line, sizeof line, "%12.6f ", since) : 0;
    int wide = is_interval ? INTERVAL_COUNT : COUNT, name_wide = is_interval ? INTERVAL_NAME : NAME;
    terminal_text(name, sizeof name, row->name);
    if (missing(row) != NULL) {
        snprintf(line + used, sizeof line - (size_t)used, "%*s  %s    %s", wide, missing(row), name,
                 is_unsupported(row) ? row->unsupported : "its window did not run");
    } else {
        snprintf(words, sizeof words, "%s%s", row->at_least ? "at least " : "",
                 number_unsigned(count, sizeof(count), row->count));
        number_unsigned(rate, sizeof(rate), (uint64_t)(rate_of(row) + 0.5));
        snprintf(line + used, sizeof line - (size_t)used, "%*s  %-*s %15s /s", wide, words, name_wide, name,
                 rate);
    }
    put_line(out, line);
}

static void put_csv_seconds(struct csv *csv, double seconds)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%.6f", seconds);
    csv_field(csv, text);
}

static void put_headings(struct csv *csv, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        csv_field(csv, names[i]);
    csv_end_line(csv);
}

/* A window has no region. */
static bool put_csv_heading(FILE *out, char separator)
{
    static const char *const names[] = {"region",      "name",    "unit",       "count",
                                        "since_begin", "seconds", "per_second", "at_least"};
    struct csv csv = {.out = out, .separator = separator};
    put_headings(&csv, names, sizeof names / sizeof *names);
    return done(out);
}

static void put_csv_row(FILE *out, const struct counts_row *row, double since, char separator)
{
    struct csv csv = {.out = out, .separator = separator};
    char rate[NUMBER_ROOM];
    csv_field(&csv, "");
    csv_text(&csv, row->name);
    csv_field(&csv, unit_of_counter(row->name));
    if (missing(row) != NULL)
        csv_field(&csv, missing(row));
    else
        csv_unsigned(&csv, row->count);
    if (since > 0)
        put_csv_seconds(&csv, since);
    else
        csv_field(&csv, "");
    if (missing(row) != NULL) {
        csv_field(&csv, "");
        csv_field(&csv, "");
    } else {
        snprintf(rate, sizeof rate, "%.3f", rate_of(row));
        put_csv_seconds(&csv, row->seconds);
        csv_field(&csv, rate);
    }
    csv_field(&csv, missing(row) == NULL && row->at_least ? "at least" : "");
    csv_end_line(&csv);
}

static void put_metric_text(FILE *out, const struct metric_result *metric, const char *value)
{
    char line[LINE], name[UTF8_CLEAN_ROOM(96)];
    terminal_text(name, sizeof name, metric->name);
    snprintf(line, sizeof line, "%*s  %s%s%s", COUNT, value, name, metric->unit[0] != '\0' ? " " : "",
             metric->unit);
    put_line(out, line);
}

static void put_metric(FILE *out, const struct metric_result *metric, enum format format, char separator)
{
    char value[NUMBER_ROOM] = "<not counted>";
    if (isfinite(metric->value))
        snprintf(value, sizeof(value), "%.6g", metric->value);
    if (format != FORMAT_CSV) {
        put_metric_text(out, metric, value);
        return;
    }
    struct csv csv = {.out = out, .separator = separator};
    csv_field(&csv, "");
    csv_text(&csv, metric->name);
    csv_text(&csv, metric->unit);
    csv_field(&csv, value);
    for (int i = 0; i < 4; i++)
        csv_field(&csv, "");
    csv_end_line(&csv);
}

bool counts_begin(FILE *out, const struct conditions *conditions, const struct counts *counts,
                  enum format format, char separator)
{
    struct column columns[RESULT_COLUMNS] = {0};
    for (size_t i = 0; i < counts->n; i++)
        snprintf(columns[i].name, sizeof(columns[i].name), "%s", counts->rows[i].name);
    if (format == FORMAT_JSON)
        return json_header(out, conditions, columns, counts->n, deadline_wall_s());
    if (format == FORMAT_CSV)
        return put_csv_heading(out, separator);
    if (format == FORMAT_TEXT)
        text_header(out, conditions);
    return done(out);
}

bool counts_interval(FILE *out, const struct counts *interval, enum format format, char separator)
{
    if (format == FORMAT_JSON)
        return json_counts(out, "sample", interval);
    for (size_t i = 0; i < interval->n; i++) {
        if (!interval->rows[i].counted)
            continue;
        if (format == FORMAT_CSV)
            put_csv_row(out, &interval->rows[i], interval->since_begin, separator);
        else
            put_text_row(out, &interval->rows[i], interval->since_begin);
    }
    return done(out);
}

static void put_footer(FILE *out, const struct counts *counts)
{
    char time[NUMBER_ROOM], number[NUMBER_ROOM], line[LINE];
    size_t columns = terminal_columns(out);
    fprintf(out, "\n%*.6f s%s\n", COUNT, counts->seconds, counts->passes > 1 ? " per window" : "");
    if (counts->n > 1 && counts->halts == 0) {
        snprintf(line, sizeof line, "counters are sampled up to %s apart",
                 number_duration(time, sizeof time, (double)counts->skew_us / 1e6));
        fold_text(out, columns, INDENT, line);
    }
    if (counts->halts > 0) {
        snprintf(
            line, sizeof line,
            "the core was halted %s times (%s in all) to read its counters; that cost is included in the "
            "counts",
            number_unsigned(number, sizeof number, counts->halts),
            number_duration(time, sizeof time, (double)counts->halted_us / 1e6));
        fold_text(out, columns, INDENT, line);
    }
    if (counts->lost > 0) {
        snprintf(line, sizeof line, COUNTS_LOST, number_unsigned(number, sizeof number, counts->lost));
        fold_text(out, columns, INDENT, line);
    }
    if (counts->slept)
        fold_text(out, columns, INDENT, RESULT_SLEPT);
    if (counts->clock_change != NULL && counts->clock_change[0] != '\0')
        fold_text(out, columns, INDENT, counts->clock_change);
    for (size_t i = 0; i < counts->n_metrics; i++) {
        const struct metric_result *metric = &counts->metrics[i];
        if (isfinite(metric->value) || metric->why[0] == '\0')
            continue;
        snprintf(line, sizeof line, "%s: %s", metric->name, metric->why);
        fold_text(out, columns, INDENT, line);
    }
}

bool counts_end(FILE *out, const struct counts *counts, enum format format, char separator)
{
    if (format == FORMAT_JSON)
        return json_counts(out, "summary", counts);
    if (format == FORMAT_TEXT)
        fputc('\n', out);
    for (size_t i = 0; i < counts->n; i++) {
        if (format == FORMAT_CSV)
            put_csv_row(out, &counts->rows[i], 0, separator);
        else
            put_text_row(out, &counts->rows[i], 0);
    }
    for (size_t i = 0; i < counts->n_metrics; i++)
        put_metric(out, &counts->metrics[i], format, separator);
    if (format == FORMAT_CSV)
        return done(out);
    put_footer(out, counts);
    return done(out);
}

static const char *cores_missing(const struct cores_table *table, const struct cores_row *row, size_t column)
{
    const char *why = table->columns[column].unsupported;
    return why != NULL && why[0] != '\0' ? "<not supported>"
           : row->values[column].counted ? NULL
                                         : "<not counted>";
}

static void name_row(const struct cores_row *row, char *out, size_t size)
{
    if (row->core < 0)
        snprintf(out, size, "all");
    else
        snprintf(out, size, "core %d", row->core);
}

/* The cell of a row in a column; columns beyond the last are the metrics. */
static void text_of(const struct cores_table *table, const struct cores_row *row, size_t column, char *out)
{
    char number[NUMBER_ROOM];
    if (column >= table->n_columns) {
        double value = row->metrics[column - table->n_columns].value;
        if (isfinite(value))
            snprintf(out, TEXT, "%.6g", value);
        else
            snprintf(out, TEXT, "<not counted>");
        return;
    }
    const char *absent = cores_missing(table, row, column);
    if (absent != NULL)
        snprintf(out, TEXT, "%s", absent);
    else
        snprintf(out, TEXT, "%s%s", row->values[column].at_least ? ">=" : "",
                 number_unsigned(number, sizeof number, row->values[column].count));
}

static const char *title_of(const struct cores_table *table, size_t column)
{
    return column < table->n_columns ? table->columns[column].name
                                     : table->rows[0].metrics[column - table->n_columns].name;
}

static int width_of(const struct cores_table *table, size_t column)
{
    size_t width = strlen(title_of(table, column));
    char text[TEXT];
    for (size_t r = 0; r < table->n_rows; r++) {
        text_of(table, &table->rows[r], column, text);
        width = strlen(text) > width ? strlen(text) : width;
    }
    return (int)(width > NARROWEST ? width : NARROWEST) + INDENT;
}

/* Columns that a line has no room for go into another table below. */
static void put_text(FILE *out, const struct cores_table *table)
{
    char name[NUMBER_ROOM], text[TEXT];
    size_t all = table->n_columns + table->n_metrics, room = terminal_columns(out);
    if (table->since_begin > 0)
        fprintf(out, "\n%.6f s\n", table->since_begin);
    for (size_t first = 0, end; first < all; first = end) {
        int widths[RESULT_COLUMNS + RESULT_METRICS] = {0};
        size_t used = HEAD;
        for (end = first; end < all; end++) {
            widths[end] = width_of(table, end);
            if (end > first && used + (size_t)widths[end] > room)
                break;
            used += (size_t)widths[end];
        }
        fprintf(out, "%s%-*s", first > 0 ? "\n" : "", HEAD, "");
        for (size_t i = first; i < end; i++)
            fprintf(out, "%*s", widths[i], title_of(table, i));
        fputc('\n', out);
        for (size_t r = 0; r < table->n_rows; r++) {
            const struct cores_row *row = &table->rows[r];
            if (row->cpu >= 0)
                continue;
            name_row(row, name, sizeof name);
            fprintf(out, "%-*s", HEAD, name);
            for (size_t i = first; i < end; i++) {
                text_of(table, row, i, text);
                fprintf(out, "%*s", widths[i], text);
            }
            fputc('\n', out);
        }
    }
}

/* Why a column or a metric has no number, each once. */
static void put_reasons(FILE *out, const struct cores_table *table)
{
    char line[LINE];
    for (size_t i = 0; i < table->n_columns; i++) {
        const char *why = table->columns[i].unsupported;
        if (why != NULL && why[0] != '\0') {
            snprintf(line, sizeof line, "%s: %s", table->columns[i].name, why);
            fold_text(out, terminal_columns(out), INDENT, line);
        }
    }
    for (size_t i = 0; i < table->n_metrics; i++)
        for (size_t r = table->n_rows; r-- > 0;) {
            const struct metric_result *metric = &table->rows[r].metrics[i];
            if (isfinite(metric->value) || metric->why[0] == '\0')
                continue;
            snprintf(line, sizeof line, "%s: %s", metric->name, metric->why);
            fold_text(out, terminal_columns(out), INDENT, line);
            break;
        }
}

static void put_cores_footer(FILE *out, const struct cores_table *table)
{
    char text[NUMBER_ROOM], line[LINE];
    fprintf(out, "\n%24.6f s%s\n", table->n_rows > 0 ? table->rows[table->n_rows - 1].seconds : 0,
            table->passes > 1 ? " per window" : "");
    snprintf(line, sizeof line, "counters of a CPU are sampled up to %s apart",
             number_duration(text, sizeof text, (double)table->skew_us / 1e6));
    fold_text(out, terminal_columns(out), INDENT, line);
    if (table->lost > 0) {
        snprintf(line, sizeof line, COUNTS_LOST, number_unsigned(text, sizeof text, table->lost));
        fold_text(out, terminal_columns(out), INDENT, line);
    }
    put_reasons(out, table);
}

/* Its regions are cores. */
static void put_csv(FILE *out, const struct cores_table *table, char separator)
{
    char name[NUMBER_ROOM];
    for (size_t r = 0; r < table->n_rows; r++) {
        const struct cores_row *row = &table->rows[r];
        if (row->cpu >= 0)
            continue;
        name_row(row, name, sizeof name);
        for (size_t i = 0; i < table->n_columns; i++) {
            const char *absent = cores_missing(table, row, i);
            struct csv csv = {.out = out, .separator = separator};
            csv_field(&csv, name);
            csv_text(&csv, table->columns[i].name);
            csv_field(&csv, unit_of_counter(table->columns[i].name));
            if (absent != NULL)
                csv_field(&csv, absent);
            else
                csv_unsigned(&csv, row->values[i].count);
            if (table->since_begin > 0)
                put_csv_seconds(&csv, table->since_begin);
            else
                csv_field(&csv, "");
            put_csv_seconds(&csv, row->seconds);
            csv_unsigned(&csv, row->cpus);
            csv_field(&csv, absent == NULL && row->values[i].at_least ? "at least" : "");
            csv_end_line(&csv);
        }
    }
}

static bool put_json(FILE *out, const struct cores_table *table)
{
    for (size_t r = 0; r < table->n_rows; r++)
        if (!json_cores(out, table, &table->rows[r]))
            return false;
    return table->since_begin > 0 || json_cores_summary(out, table);
}

bool cores_end(FILE *out, const struct cores_table *table)
{
    return json_cores_summary(out, table);
}

bool cores_begin(FILE *out, const struct conditions *conditions, const struct cores_table *table,
                 enum format format, char separator)
{
    struct column columns[RESULT_COLUMNS] = {0};
    for (size_t i = 0; i < table->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", table->columns[i].name);
    if (format == FORMAT_JSON)
        return json_header(out, conditions, columns, table->n_columns, deadline_wall_s());
    if (format == FORMAT_CSV) {
        static const char *const names[] = {"region",      "name",    "unit", "count",
                                            "since_begin", "seconds", "cpus", "at_least"};
        struct csv csv = {.out = out, .separator = separator};
        put_headings(&csv, names, sizeof names / sizeof *names);
    }
    if (format == FORMAT_TEXT)
        text_header(out, conditions);
    return done(out);
}

bool cores_print(FILE *out, const struct cores_table *table, enum format format, char separator)
{
    if (format == FORMAT_JSON)
        return put_json(out, table);
    if (format == FORMAT_CSV) {
        put_csv(out, table, separator);
    } else {
        if (table->since_begin <= 0)
            fputc('\n', out);
        put_text(out, table);
        if (table->since_begin <= 0)
            put_cores_footer(out, table);
    }
    return done(out);
}
