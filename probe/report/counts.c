#include "report/counts.h"

#include "report/json.h"
#include "report/number.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

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

static void put_text_row(FILE *out, const struct counts_row *row, double since)
{
    char count[NUMBER_ROOM], rate[NUMBER_ROOM];
    if (since > 0)
        fprintf(out, "%12.6f ", since);
    if (missing(row) != NULL) {
        fprintf(out, "%24s  %s%s%s\n", missing(row), row->name, is_unsupported(row) ? "    " : "",
                is_unsupported(row) ? row->unsupported : "");
        return;
    }
    number_unsigned(count, sizeof(count), row->count);
    number_unsigned(rate, sizeof(rate), (uint64_t)(rate_of(row) + 0.5));
    fprintf(out, "%*s%s  %-28s %15s /s\n", (int)(24 - strlen(count)), row->at_least ? "at least " : "", count,
            row->name, rate);
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

static void put_metric(FILE *out, const struct metric_result *metric, enum format format, char s)
{
    char value[NUMBER_ROOM] = "<not counted>";
    if (isfinite(metric->value))
        snprintf(value, sizeof(value), "%.6g", metric->value);
    if (format == FORMAT_CSV)
        fprintf(out, "%s%c%s%c%c%c\n", value, s, metric->name, s, s, s);
    else
        fprintf(out, "%24s  %s%s%s\n", value, metric->name, metric->unit[0] != '\0' ? " " : "", metric->unit);
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
    char skew[NUMBER_ROOM];
    number_duration(skew, sizeof(skew), (double)counts->skew_us / 1e6);
    fprintf(out, "\n%24.6f s%s", counts->seconds, counts->passes > 1 ? "  each of the windows" : "");
    if (counts->n > 1 && counts->halts == 0)
        fprintf(out, "%sthe counters are read within %s of each other", counts->passes > 1 ? "; " : "  ",
                skew);
    if (counts->halts > 0) {
        number_duration(skew, sizeof(skew), (double)counts->halted_us / 1e6);
        fprintf(out,
                "\n%24" PRIu64 "    times the core was halted to read its counters, for %s in all; what that "
                "adds is in the counts",
                counts->halts, skew);
    }
    if (counts->lost > 0)
        fprintf(out, "\n%24" PRIu64 "    samples came too late to tell whether a counter had wrapped",
                counts->lost);
    fputc('\n', out);
    return done(out);
}
