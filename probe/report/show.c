#include "report/show.h"

#include "report/compare_report.h"
#include "report/conditions.h"
#include "report/delta_report.h"
#include "report/formats.h"
#include "report/guard_report.h"
#include "report/history.h"
#include "report/line_table.h"
#include "report/profile_diff.h"
#include "report/profile_table.h"
#include "report/survey_report.h"
#include "report/terminal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS (1u << FORMAT_TEXT | 1u << FORMAT_JSON)
#define ALL   (TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_JUNIT | 1u << FORMAT_HTML)

static bool show_delta(const struct rendering *to, const struct document *document)
{
    return delta_write(to, &(struct delta_report){.document = document});
}

static bool show_survey(const struct rendering *to, const struct document *document)
{
    return survey_write(to, &(struct survey_report){.document = document});
}

static bool show_compare(const struct rendering *to, const struct document *document)
{
    return compare_write(to, document, NULL);
}

static bool show_guard(const struct rendering *to, const struct document *document)
{
    struct guard_view view = {.out = to->out, .columns = to->columns};
    struct conditions conditions = {0};
    size_t i;
    const json_t *line;
    if (to->format == FORMAT_JSON)
        return document_write(to->out, document);
    conditions_read(&conditions, document_line(document, "header"));
    conditions_write(to, &conditions);
    json_array_foreach(document->lines, i, line)
    {
        guard_print_line(&view, line);
    }

    return fflush(to->out) == 0 && !ferror(to->out);
}

static bool show_lines(const struct rendering *to, const struct document *document)
{
    return line_write(to, document, false, NULL);
}

static bool show_report(const struct rendering *to, const struct document *document)
{
    return document_line(document, "old") != NULL ? profile_diff_show(to, document, NULL)
                                                  : profile_show(to, document, NULL);
}

static bool show_history(const struct rendering *to, const struct document *document)
{
    return history_write(to, document, NULL);
}

/* A `sample` or the `summary` of stat. */
static void read_counts(struct counts *counts, const json_t *header, const json_t *line)
{
    const json_t *names = field_of(header, "columns"), *name;
    json_t *metrics = json_object_get(line, "metrics"), *value;
    const char *key;
    size_t i;
    *counts = (struct counts){.passes = field_count(line, "passes"),
                              .seconds = field_real(line, "seconds"),
                              .since_begin = fmax(0, field_real(line, "since_begin")),
                              .skew_us = field_count(line, "skew_us"),
                              .halts = field_count(line, "halts"),
                              .halted_us = field_count(line, "halted_us"),
                              .slept = field_is(line, "slept"),
                              .clock_change = field_text(line, "clock_change"),
                              .samples = field_count(line, "samples"),
                              .lost = field_count(line, "lost")};
    json_array_foreach(names, i, name)
    {
        const json_t *of = json_object_get(field_of(line, "columns"), text_or_empty(name));
        if (counts->n < RESULT_COLUMNS && json_is_string(name))
            counts->rows[counts->n++] = (struct counts_row){.name = json_string_value(name),
                                                            .unsupported = field_text(of, "not_supported"),
                                                            .count = field_count(of, "count"),
                                                            .seconds = fmax(0, field_real(of, "seconds")),
                                                            .at_least = field_is(of, "at_least"),
                                                            .counted = field_of(of, "count") != NULL};
    }
    json_object_foreach(metrics, key, value)
    {
        struct metric_result *metric = &counts->metrics[counts->n_metrics];
        if (counts->n_metrics == RESULT_METRICS)
            break;
        counts->n_metrics++;
        utf8_clean(metric->name, sizeof metric->name, key);
        utf8_clean(metric->unit, sizeof metric->unit,
                   text_or_empty(json_object_get(field_of(line, "metric_units"), key)));
        utf8_clean(metric->why, sizeof metric->why,
                   text_or_empty(json_object_get(field_of(line, "metric_reasons"), key)));
        metric->value = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
}

static bool show_stat(const struct rendering *to, const struct document *document)
{
    const json_t *header = document_line(document, "header"), *line;
    struct conditions conditions = {0};
    struct counts *counts = calloc(1, sizeof *counts);
    size_t i;
    bool ok = counts != NULL;
    if (ok && to->format == FORMAT_JSON) {
        free(counts);
        return document_write(to->out, document);
    }
    conditions_read(&conditions, header);
    conditions_write(to, &conditions);
    json_array_foreach(document->lines, i, line)
    {
        bool is_sample = strcmp(field_text(line, "type"), "sample") == 0;
        if (!ok || (!is_sample && strcmp(field_text(line, "type"), "summary") != 0))
            continue;
        read_counts(counts, header, line);
        ok = is_sample ? counts_interval(to->out, counts, to->format, to->separator)
                       : counts_end(to->out, counts, to->format, to->separator);
    }
    free(counts);
    return ok;
}

static const struct shown_result results[] = {
    {"delta", ALL, true, show_delta},
    {"survey", ALL, true, show_survey},
    {"compare", ALL, true, show_compare},
    {"lines", TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_HTML, true, show_lines},
    {"report", TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_MARKDOWN | 1u << FORMAT_HTML, true, show_report},
    {"history", TEXTS | 1u << FORMAT_CSV | 1u << FORMAT_HTML, true, show_history},
    {"stat", TEXTS | 1u << FORMAT_CSV, true, show_stat},
    {"guard", TEXTS, false, show_guard},
};

/* Results of a region have no command in their header. */
static const char *command_of(const struct document *document)
{
    const char *named = field_text(document_line(document, "header"), "command");
    return named[0] != '\0'                                               ? named
           : document_line(document, "guard") != NULL                     ? "guard"
           : field_of(document_line(document, "summary"), "hits") != NULL ? "delta"
           : field_of(document_line(document, "summary"), "skew_us") != NULL &&
                   document_line(document, "all") == NULL
               ? "stat"
               : "";
}

const struct shown_result *show_find(const struct document *document)
{
    const char *command = command_of(document);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (strcmp(results[i].command, command) == 0)
            return &results[i];
    return NULL;
}

bool show_has(const struct shown_result *result, enum format format)
{
    return (result->formats & 1u << format) != 0;
}
