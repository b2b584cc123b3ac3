#include "report/formats.h"

#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void csv_field(struct csv *csv, const char *text)
{
    const char needing[] = {'"', '\r', '\n', csv->separator, '\0'};
    size_t length = strlen(text);
    bool edge = length > 0 && (text[0] == ' ' || text[length - 1] == ' ');
    if (csv->begun)
        fputc(csv->separator, csv->out);
    csv->begun = true;
    if (!edge && strpbrk(text, needing) == NULL) {
        fputs(text, csv->out);
        return;
    }
    fputc('"', csv->out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', csv->out);
        fputc(*text, csv->out);
    }
    fputc('"', csv->out);
}

static void put_empty(struct csv *csv, size_t fields)
{
    for (size_t i = 0; i < fields; i++)
        csv_field(csv, "");
}

void csv_text(struct csv *csv, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(256)];
    csv_field(csv, utf8_clean(clean, sizeof clean, text));
}

void csv_unsigned(struct csv *csv, uint64_t value)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%" PRIu64, value);
    csv_field(csv, text);
}

static void put_real(struct csv *csv, double value)
{
    char text[NUMBER_ROOM];
    csv_field(csv, isfinite(value) ? number_shortest(text, sizeof text, value) : "");
}

void csv_end_line(struct csv *csv)
{
    fputc('\n', csv->out);
    csv->begun = false;
}

static const char *const heading[] = {"name",       "count",    "median",      "mean", "sd",
                                      "min",        "max",      "p90",         "p99",  "overhead",
                                      "plus_minus", "at_least", "at_least_max"};
static const char *const compared[] = {"baseline_mean", "change", "verdict", "why"};
enum { HEADING = sizeof heading / sizeof *heading, COMPARED = sizeof compared / sizeof *compared };

static void put_statistics(struct csv *csv, const struct column *column)
{
    const struct statistics *statistics = column->statistics;
    csv_unsigned(csv, statistics_quantile(statistics, 0.5, NULL));
    put_real(csv, statistics_mean(statistics));
    put_real(csv, statistics_deviation(statistics));
    csv_unsigned(csv, statistics_min(statistics));
    csv_unsigned(csv, statistics_max(statistics));
    csv_unsigned(csv, statistics_quantile(statistics, 0.9, NULL));
    csv_unsigned(csv, statistics_quantile(statistics, 0.99, NULL));
}

static void put_column(struct csv *csv, const struct column *column)
{
    bool unsupported = column->unsupported[0] != '\0';
    uint64_t count = unsupported ? 0 : statistics_count(column->statistics);
    csv_text(csv, column->name);
    csv_unsigned(csv, count);
    if (count > 0) {
        put_statistics(csv, column);
    } else {
        csv_field(csv, unsupported ? "<not supported>" : "<not counted>");
        put_empty(csv, 6);
    }
    if (column->calibrated && !unsupported) {
        put_real(csv, column->overhead);
        put_real(csv, column->plus_minus);
    } else {
        put_empty(csv, 2);
    }
    csv_unsigned(csv, unsupported ? 0 : column->at_least);
    if (column->at_least > 0 && !unsupported)
        csv_unsigned(csv, column->at_least_max);
    else
        put_empty(csv, 1);
}

static void put_line(struct csv *csv, const struct verdict_line *line)
{
    if (line == NULL) {
        put_empty(csv, COMPARED);
        return;
    }
    put_real(csv, line->base.n > 0 ? line->base.mean : (double)NAN);
    put_real(csv, line->change);
    csv_field(csv, verdict_name(line->verdict));
    csv_field(csv, line->why);
}

/* Computed of means, so it is in their place. */
static void put_metric(struct csv *csv, const struct metric_result *metric)
{
    csv_text(csv, metric->name);
    csv_field(csv, "");
    csv_field(csv, isfinite(metric->value) ? "" : "<not counted>");
    put_real(csv, metric->value);
    put_empty(csv, HEADING - 4);
}

bool csv_summary(FILE *out, const struct summary *summary, const struct comparison *comparison,
                 char separator)
{
    struct csv csv = {.out = out, .separator = separator};
    for (size_t i = 0; i < HEADING; i++)
        csv_field(&csv, heading[i]);
    for (size_t i = 0; i < COMPARED && comparison != NULL; i++)
        csv_field(&csv, compared[i]);
    csv_end_line(&csv);
    for (size_t i = 0; i < summary->n; i++) {
        put_column(&csv, &summary->columns[i]);
        if (comparison != NULL)
            put_line(&csv, comparison_find(comparison, summary->columns[i].name));
        csv_end_line(&csv);
    }
    /* Columns that only the baseline has */
    for (size_t i = 0; comparison != NULL && i < comparison->n; i++) {
        const struct verdict_line *line = &comparison->lines[i];
        if (comparison_column(summary, line) != NULL)
            continue;
        csv_field(&csv, line->name);
        csv_unsigned(&csv, 0);
        csv_field(&csv, "<not counted>");
        put_empty(&csv, HEADING - 3);
        put_line(&csv, line);
        csv_end_line(&csv);
    }
    for (size_t i = 0; i < summary->n_metrics; i++) {
        put_metric(&csv, &summary->metrics[i]);
        if (comparison != NULL)
            put_line(&csv, NULL);
        csv_end_line(&csv);
    }
    return fflush(out) == 0 && !ferror(out);
}
