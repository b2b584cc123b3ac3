#include "report/formats.h"

#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct csv {
    FILE *out;
    char separator;
    bool begun; /* a field of this line is written */
};

static void put(struct csv *csv, const char *text)
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
        put(csv, "");
}

static void put_clean(struct csv *csv, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(256)];
    put(csv, utf8_clean(clean, sizeof clean, text));
}

static void put_unsigned(struct csv *csv, uint64_t value)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put(csv, text);
}

static void put_real(struct csv *csv, double value)
{
    char text[NUMBER_ROOM];
    put(csv, isfinite(value) ? number_shortest(text, sizeof text, value) : "");
}

static void end_line(struct csv *csv)
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
    put_unsigned(csv, statistics_quantile(statistics, 0.5, NULL));
    put_real(csv, statistics_mean(statistics));
    put_real(csv, statistics_deviation(statistics));
    put_unsigned(csv, statistics_min(statistics));
    put_unsigned(csv, statistics_max(statistics));
    put_unsigned(csv, statistics_quantile(statistics, 0.9, NULL));
    put_unsigned(csv, statistics_quantile(statistics, 0.99, NULL));
}

static void put_column(struct csv *csv, const struct column *column)
{
    bool unsupported = column->unsupported[0] != '\0';
    uint64_t count = unsupported ? 0 : statistics_count(column->statistics);
    put_clean(csv, column->name);
    put_unsigned(csv, count);
    if (count > 0) {
        put_statistics(csv, column);
    } else {
        put(csv, unsupported ? "<not supported>" : "<not counted>");
        put_empty(csv, 6);
    }
    if (column->calibrated && !unsupported) {
        put_real(csv, column->overhead);
        put_real(csv, column->plus_minus);
    } else {
        put_empty(csv, 2);
    }
    put_unsigned(csv, unsupported ? 0 : column->at_least);
    if (column->at_least > 0 && !unsupported)
        put_unsigned(csv, column->at_least_max);
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
    put(csv, verdict_name(line->verdict));
    put(csv, line->why);
}

bool csv_summary(FILE *out, const struct summary *summary, const struct comparison *comparison,
                 char separator)
{
    struct csv csv = {.out = out, .separator = separator};
    for (size_t i = 0; i < HEADING; i++)
        put(&csv, heading[i]);
    for (size_t i = 0; i < COMPARED && comparison != NULL; i++)
        put(&csv, compared[i]);
    end_line(&csv);
    for (size_t i = 0; i < summary->n; i++) {
        put_column(&csv, &summary->columns[i]);
        if (comparison != NULL)
            put_line(&csv, comparison_find(comparison, summary->columns[i].name));
        end_line(&csv);
    }
    /* What only the baseline counted */
    for (size_t i = 0; comparison != NULL && i < comparison->n; i++) {
        const struct verdict_line *line = &comparison->lines[i];
        if (comparison_column(summary, line) != NULL)
            continue;
        put(&csv, line->name);
        put_unsigned(&csv, 0);
        put(&csv, "<not counted>");
        put_empty(&csv, HEADING - 3);
        put_line(&csv, line);
        end_line(&csv);
    }
    return fflush(out) == 0 && !ferror(out);
}
