#include "report/counts.h"

#include "report/fold.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { LINE = 1024, COUNT = 24, NAME = 28, INTERVAL_COUNT = 20, INTERVAL_NAME = 24, INDENT = 2 };

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

/* Aligned where the line has room for it, else folded. */
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

static void put_csv_row(FILE *out, const struct counts_row *row, double since, char s)
{
    if (since > 0)
        fprintf(out, "%.6f%c", since, s);
    if (missing(row) != NULL)
        fprintf(out, "%s%c%s%c%c%c\n", missing(row), s, row->name, s, s, s);
    else
        fprintf(out, "%" PRIu64 "%c%s%c%.6f%c%.3f%c%s\n", row->count, s, row->name, s, row->seconds, s,
                rate_of(row), s, row->at_least ? "at least" : "");
}

static void put_metric_text(FILE *out, const struct metric_result *metric, const char *value)
{
    char line[LINE], name[UTF8_CLEAN_ROOM(96)];
    terminal_text(name, sizeof name, metric->name);
    snprintf(line, sizeof line, "%*s  %s%s%s", COUNT, value, name, metric->unit[0] != '\0' ? " " : "",
             metric->unit);
    put_line(out, line);
}

static void put_metric(FILE *out, const struct metric_result *metric, enum format format, char s)
{
    char value[NUMBER_ROOM] = "<not counted>";
    if (isfinite(metric->value))
        snprintf(value, sizeof(value), "%.6g", metric->value);
    if (format == FORMAT_CSV)
        fprintf(out, "%s%c%s%c%c%c\n", value, s, metric->name, s, s, s);
    else
        put_metric_text(out, metric, value);
}

static bool done(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

bool counts_begin(FILE *out, const struct conditions *conditions, const struct counts *counts,
                  enum format format, char separator)
{
    struct column columns[RESULT_COLUMNS] = {0};
    for (size_t i = 0; i < counts->n; i++)
        snprintf(columns[i].name, sizeof(columns[i].name), "%s", counts->rows[i].name);
    (void)separator;
    if (format == FORMAT_JSON)
        return json_header(out, conditions, columns, counts->n, time(NULL));
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

/* How long, how exact, and at what price. */
static void put_closing(FILE *out, const struct counts *counts)
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
    put_closing(out, counts);
    return done(out);
}
