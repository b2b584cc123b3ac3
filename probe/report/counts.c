/* SPDX-License-Identifier: MIT */
#include "report/counts.h"

#include "base/values.h"
#include "report/conditions.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINE = 1024, INDENT = 2, NAME_ROOM = UTF8_CLEAN_ROOM(96) };
enum { COUNT = 24, NAME = 28, INTERVAL_COUNT = 20, INTERVAL_NAME = 24 }; /* widths of counts */
enum { HEAD = 10, NARROWEST = 16, TEXT = NUMBER_ROOM + 4 };              /* widths of cores */

const char *counts_missing(const json_t *column)
{
    return field_of(column, "not_supported") != NULL ? "<not supported>"
           : field_of(column, "count") == NULL       ? "<not counted>"
                                                     : NULL;
}

char *counts_metric(char out[COUNTS_METRIC], const json_t *line, const char *name)
{
    const json_t *value = json_object_get(field_of(line, "metrics"), name);
    bool wrong = text_in(line, "metric_errata", name)[0] != '\0', known = json_is_number(value);
    snprintf(out, COUNTS_METRIC, known ? "%s%.6g" : "%s<not counted>", wrong && known ? "~" : "",
             json_number_value(value));
    return out;
}

double counts_rate(const json_t *column)
{
    double seconds = field_real(column, "seconds");
    return field_of(column, "per_second") != NULL ? field_real(column, "per_second")
           : seconds > 0                          ? (double)field_count(column, "count") / seconds
                                                  : 0;
}

const char *counts_rate_text(char out[NUMBER_ROOM], const json_t *column)
{
    double rate = counts_rate(column);
    return number_unsigned(out, NUMBER_ROOM, rate < 1e18 ? (uint64_t)(rate + 0.5) : UINT64_MAX);
}

const char *counts_rate_mark(const json_t *line, const json_t *column)
{
    return field_is(column, "at_least") || field_is(line, "seconds_at_most") ? ">=" : "";
}

static const char rates_at_most[] =
    "rates (>=) are lower bounds: the time between two halts is known at most";

/* ---- lines of text */

/* Aligned if the line has room, else folded. */
static void counts_put_line(const struct rendering *to, const char *line)
{
    if (utf8_width(line) <= to->columns)
        fprintf(to->out, "%s\n", line);
    else
        fold_text(to->out, to->columns, INDENT, line + strspn(line, " "));
}

static void put_text_row(const struct rendering *to, const char *key, const json_t *of, double since)
{
    const json_t *column = json_object_get(field_of(of, "columns"), key);
    char number[NUMBER_ROOM], rate[TEXT], line[LINE], name[NAME_ROOM], words[NUMBER_ROOM + 16],
        why[NAME_ROOM];
    bool is_interval = since > 0;
    int wide = is_interval ? INTERVAL_COUNT : COUNT, name_wide = is_interval ? INTERVAL_NAME : NAME;
    line[0] = '\0';
    if (is_interval)
        text_add(line, sizeof line, "%12.6f ", since);
    terminal_text(name, sizeof name, key);
    if (counts_missing(column) != NULL) {
        terminal_text(why, sizeof why, field_text(column, "not_supported"));
        text_add(line, sizeof line, "%*s  %s    %s", wide, counts_missing(column), name,
                 why[0] != '\0' ? why : "its window did not run");
    } else {
        snprintf(words, sizeof words, "%s%s%s", field_is(column, "at_least") ? "at least " : "",
                 conditions_mark(column), NUMBER(field_count(column, "count")));
        snprintf(rate, sizeof rate, "%s%s", counts_rate_mark(of, column), counts_rate_text(number, column));
        text_add(line, sizeof line, "%*s  %-*s %15s /s", wide, words, name_wide, name, rate);
    }
    counts_put_line(to, line);
}

static void put_errata(const struct rendering *to, const json_t *line)
{
    struct json_part list = json_list_new();
    const json_t *one;
    size_t i;
    conditions_add_errata(&list, line);
    json_array_foreach(list.json, i, one)
        render_text(to, "%s", text_or_empty(one));
    json_decref(list.json);
}

/* Of `line` the counts, of `summary` the rest: with -a the two are not one. */
static void put_footer(const struct counts_report *report, const json_t *line, const json_t *summary)
{
    const struct rendering *to = &report->to;
    char clock[256];
    struct conditions conditions = {0};
    uint64_t halts = field_count(summary, "halts"), lost = field_count(summary, "lost");
    const char *key;
    json_t *why;
    fprintf(to->out, "\n%*.6f s%s\n", COUNT, fmax(0, field_real(line, "seconds")),
            field_count(summary, "passes") > 1 ? " per window" : "");
    if (halts == 0 && (report->of_cores || json_array_size(field_of(report->header, "columns")) > 1))
        render_text(to, "counters %sare sampled up to %s apart", report->of_cores ? "of a CPU " : "",
                    DURATION((double)field_count(summary, "skew_us") / 1e6));
    if (halts > 0)
        render_text(to, "the core was halted %s time%s (%s in all) to read its counters; %s", NUMBER(halts),
                    PLURAL(halts), DURATION((double)field_count(summary, "halted_us") / 1e6),
                    field_is(summary, "seconds_at_most") ? rates_at_most : "the counts include that");
    if (lost > 0)
        render_text(to, "%s read%s too late: a counter may have wrapped, and totals are lower bounds",
                    NUMBER(lost), lost == 1 ? " was" : "s were");
    conditions_read_clock(&conditions, field_of(report->header, "clock"));
    if (field_of(summary, "clock_change") == NULL && conditions_clock_text(&conditions, clock, sizeof clock))
        render_text(to, "%s", clock);
    render_text(to, "%s", field_is(summary, "slept") ? RESULT_SLEPT : "");
    render_text(to, "%s", field_text(summary, "clock_change"));
    json_object_foreach(report->of_cores ? json_object_get(line, "columns") : NULL, key, why)
        if (field_of(why, "not_supported") != NULL)
            render_text(to, "%.96s: %.128s", key, field_text(why, "not_supported"));
    put_errata(to, line);
    json_object_foreach(json_object_get(line, "metric_reasons"), key, why)
        render_text(to, "%.96s: %.128s", key, text_or_empty(why));
}

/* ---- CSV: a row for each counter, and each core of several */

static void row_decimal(struct json_part *row, const char *key, double value, int decimals)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    row_text(row, key, text);
}

static struct json_part csv_row(const struct counts_report *report, const json_t *line, const char *name)
{
    struct json_part row = json_part_new(NULL);
    const json_t *column = json_object_get(field_of(line, "columns"), name);
    const char *missing = counts_missing(column);
    char core[NUMBER_ROOM];
    snprintf(core, sizeof core, line_is_of(line, "all") ? "all" : "core %" PRIu64, field_count(line, "core"));
    row_text(&row, "region", report->of_cores ? core : "");
    row_text(&row, "name", name);
    row_text(&row, "unit", unit_of_counter(name));
    row_text(&row, "missing", or_empty(missing));
    if (!line_is_of(line, "summary") && field_real(line, "since_begin") > 0)
        row_decimal(&row, "since_begin", field_real(line, "since_begin"), 6);
    if (report->of_cores || missing == NULL)
        row_decimal(&row, "seconds", fmax(0, field_real(report->of_cores ? line : column, "seconds")), 6);
    json_part_unsigned(&row, "cpus", field_count(line, "cpus"));
    if (missing != NULL)
        return row;
    json_object_set(row.json, "count", json_object_get(column, "count"));
    row_decimal(&row, "per_second", counts_rate(column), 3);
    row_text(&row, "errata", field_text(column, "errata"));
    row_text(&row, "doubt", field_is(line, "slept") ? RESULT_SLEPT : "");
    row_text(&row, "at_least",
             field_is(column, "at_least")        ? "at least"
             : field_is(line, "seconds_at_most") ? "rate at least"
                                                 : "");
    return row;
}

/* Frees the rows. */
static bool counts_put_csv(const struct counts_report *report, json_t *rows)
{
    struct rendering more = report->to;
    more.goes_on = true;
    return render_table(&more, report->of_cores ? &cores_csv : &counts_csv, rows);
}

/* ---- one core */

static const char *skip_mark(const char *text)
{
    return text + (text[0] == '~');
}

static void counts_add_metrics(const struct rendering *to, struct document *rows, const json_t *line)
{
    json_t *metrics = json_object_get(line, "metrics"), *metric;
    const char *key;
    json_object_foreach(metrics, key, metric) {
        struct json_part row = json_part_new(NULL);
        char value[COUNTS_METRIC], text[LINE], name[NAME_ROOM], unit[UTF8_CLEAN_ROOM(16)];
        terminal_text(unit, sizeof unit, text_in(line, "metric_units", key));
        row_text(&row, "name", key);
        row_text(&row, "unit", unit);
        row_text(&row, "missing", skip_mark(counts_metric(value, line, key)));
        row_text(&row, "errata", text_in(line, "metric_errata", key));
        document_add(rows, row);
        snprintf(text, sizeof text, "%*s  %s%s%s", COUNT, value, terminal_text(name, sizeof name, key),
                 unit[0] != '\0' ? " " : "", unit);
        if (to->format == FORMAT_TEXT)
            counts_put_line(to, text);
    }
}

/* A `sample` or the `summary`. */
static bool counts_put_counts(const struct counts_report *report, const json_t *line)
{
    const struct rendering *to = &report->to;
    bool is_sample = line_is_of(line, "sample"), text = to->format == FORMAT_TEXT;
    struct document rows = document_new();
    const json_t *one;
    size_t i;
    fputs(text && !is_sample ? "\n" : "", to->out);
    json_array_foreach(field_of(report->header, "columns"), i, one) {
        const char *name = text_or_empty(one);
        const json_t *column = json_object_get(field_of(line, "columns"), name);
        if (is_sample && field_of(column, "count") == NULL)
            continue;
        if (text)
            put_text_row(to, name, line, is_sample ? field_real(line, "since_begin") : 0);
        else
            document_add(&rows, csv_row(report, line, name));
    }
    if (!is_sample)
        counts_add_metrics(to, &rows, line);
    if (text && !is_sample)
        put_footer(report, line, line);
    bool ok = rows.ok;
    if (!text)
        return counts_put_csv(report, document_end(rows));
    document_free(&rows);
    return ok;
}

/* ---- one core, with totals */

static void counts_put_rates(const struct rendering *to, const char *const cells[5])
{
    enum { FIRST = 18 };
    char line[LINE];
    size_t width = utf8_width(cells[0]);
    snprintf(line, sizeof line, "%s%*s %10s %15s", cells[0], width < FIRST ? (int)(FIRST - width) : 0, "",
             cells[1], cells[2]);
    if (cells[4] != NULL)
        text_add(line, sizeof line, " %16s %17s", cells[3], cells[4]);
    else
        text_join(line, sizeof line, " ", cells[3]);
    counts_put_line(to, line);
}

static void put_rates_row(struct counts_report *report, size_t i, const char *key, const json_t *line,
                          const char *time)
{
    const json_t *column = json_object_get(field_of(line, "columns"), key);
    char name[NAME_ROOM], number[NUMBER_ROOM], count[TEXT], rate[TEXT], total[TEXT];
    bool at_least = field_is(column, "at_least");
    uint64_t *of_all = &report->totals[i].count;
    *of_all += field_count(column, "count");
    report->totals[i].at_least = report->totals[i].at_least || at_least;
    if (report->totals[i].at_least && !report->bounds_told) {
        report->bounds_told = true;
        render_text(&report->to, ">=: reads were too late, and a counter may have wrapped");
    }
    snprintf(count, sizeof count, "%s%s%s", at_least ? ">=" : "", conditions_mark(column),
             NUMBER(field_count(column, "count")));
    snprintf(rate, sizeof rate, "%s%s/s", counts_rate_mark(line, column), counts_rate_text(number, column));
    snprintf(total, sizeof total, "%s%s%s", report->totals[i].at_least ? ">=" : "", conditions_mark(column),
             NUMBER(*of_all));
    counts_put_rates(&report->to,
                     (const char *[]){terminal_text(name, sizeof name, key), time, count, rate, total});
}

static void put_interval(struct counts_report *report, const json_t *line)
{
    char time[NUMBER_ROOM], name[NAME_ROOM], value[COUNTS_METRIC], unit[UTF8_CLEAN_ROOM(16)];
    json_t *metrics = json_object_get(line, "metrics"), *metric;
    const json_t *one;
    const char *key;
    size_t i;
    snprintf(time, sizeof time, "%.3f s", field_real(line, "since_begin"));
    if (!report->errata_told)
        put_errata(&report->to, line);
    if (!report->errata_told && field_is(line, "seconds_at_most"))
        render_text(&report->to, "%s", rates_at_most);
    report->errata_told = true;
    if (!report->sleep_told && field_is(line, "slept"))
        render_text(&report->to, "%s", RESULT_SLEPT);
    report->sleep_told = report->sleep_told || field_is(line, "slept");
    json_array_foreach(field_of(report->header, "columns"), i, one) {
        const json_t *column = json_object_get(field_of(line, "columns"), text_or_empty(one));
        if (i < RESULT_COLUMNS && counts_missing(column) == NULL)
            put_rates_row(report, i, text_or_empty(one), line, time);
    }
    json_object_foreach(metrics, key, metric) {
        terminal_text(unit, sizeof unit, text_in(line, "metric_units", key));
        counts_put_rates(&report->to, (const char *[]){terminal_text(name, sizeof name, key), time,
                                                       counts_metric(value, line, key), unit, NULL});
    }
}

/* ---- cores */

/* Columns after the last counter are the metrics. */
static void cell_text(const json_t *line, const char *name, bool is_metric, char out[TEXT])
{
    const json_t *column = json_object_get(field_of(line, is_metric ? "metrics" : "columns"), name);
    if (is_metric)
        counts_metric(out, line, name);
    else if (counts_missing(column) != NULL)
        snprintf(out, TEXT, "%s", counts_missing(column));
    else
        snprintf(out, TEXT, "%s%s%s", field_is(column, "at_least") ? ">=" : "", conditions_mark(column),
                 NUMBER(field_count(column, "count")));
}

static int counts_width_of(const json_t *rows, const char *name, bool is_metric)
{
    size_t width = utf8_width(name), i;
    const json_t *row;
    char text[TEXT];
    json_array_foreach(rows, i, row) {
        cell_text(row, name, is_metric, text);
        width = strlen(text) > width ? strlen(text) : width;
    }
    return (int)(width > NARROWEST ? width : NARROWEST) + INDENT;
}

static json_t *names_of(const struct counts_report *report, const json_t *rows)
{
    json_t *names = json_copy((json_t *)field_of(report->header, "columns")), *metric;
    const char *key;
    if (names == NULL)
        names = json_array();
    json_object_foreach(json_object_get(json_array_get(rows, 0), "metrics"), key, metric)
        json_array_append_new(names, json_string(key));
    return names;
}

/* The columns from `first` on for which a line has room. Returns the one after them. */
static size_t counts_put_part(const struct counts_report *report, const json_t *rows, const json_t *names,
                              size_t first)
{
    FILE *out = report->to.out;
    size_t n = json_array_size(field_of(report->header, "columns")), used = HEAD, end = first, i;
    int widths[RESULT_COLUMNS + RESULT_METRICS] = {0};
    char text[TEXT];
    for (; end < json_array_size(names) && end < sizeof widths / sizeof *widths; end++) {
        widths[end] = counts_width_of(rows, text_or_empty(json_array_get(names, end)), end >= n);
        used += (size_t)widths[end];
        if (end > first && used > report->to.columns)
            break;
    }
    fprintf(out, "%s%-*s", first > 0 ? "\n" : "", HEAD, "");
    for (i = first; i < end; i++)
        fprintf(out, "%*s", widths[i], text_or_empty(json_array_get(names, i)));
    fputc('\n', out);
    for (size_t r = 0; r < json_array_size(rows); r++) {
        const json_t *row = json_array_get(rows, r);
        snprintf(text, sizeof text, line_is_of(row, "all") ? "all" : "core %" PRIu64,
                 field_count(row, "core"));
        fprintf(out, "%-*s", HEAD, text);
        for (i = first; i < end; i++) {
            cell_text(row, text_or_empty(json_array_get(names, i)), i >= n, text);
            fprintf(out, "%*s", widths[i], text);
        }
        fputc('\n', out);
    }
    return end > first ? end : json_array_size(names);
}

/* The rows of one interval, or of the whole: cores, and all. */
static bool put_cores(const struct counts_report *report, const json_t *rows)
{
    double since = field_real(json_array_get(rows, 0), "since_begin");
    if (report->to.format == FORMAT_TEXT) {
        json_t *names = names_of(report, rows);
        fputc('\n', report->to.out);
        if (since > 0)
            fprintf(report->to.out, "%.6f s\n", since);
        for (size_t at = 0; at < json_array_size(names);)
            at = counts_put_part(report, rows, names, at);
        json_decref(names);
        return names != NULL;
    }
    struct document list = document_new();
    const json_t *row, *name;
    size_t i, k;
    json_array_foreach(rows, i, row)
        json_array_foreach(field_of(report->header, "columns"), k, name)
            document_add(&list, csv_row(report, row, text_or_empty(name)));
    return counts_put_csv(report, document_end(list));
}

bool counts_begin(const struct counts_report *report)
{
    static const char *const heading[] = {"counter", "time", "count", "rate", "total"};
    const struct rendering *to = &report->to;
    struct conditions conditions = {0};
    bool ok = true;
    if (to->format == FORMAT_JSON) {
        ok = json_line_write(to->out, report->header);
    } else if (to->format == FORMAT_CSV) {
        ok = render_table(to, report->of_cores ? &cores_csv : &counts_csv, json_array());
    } else {
        conditions_read(&conditions, report->header);
        conditions_write(to, &conditions);
        if (report->has_totals)
            counts_put_rates(to, heading);
    }
    return output_flush(to->out) && ok;
}

/* `rows` has the lines of the table above. */
static bool put_one(struct counts_report *report, json_t *line, json_t *rows)
{
    bool text = report->to.format == FORMAT_TEXT, ok = true;
    if (line_is_of(line, "core") || line_is_of(line, "all")) {
        if (json_array_size(rows) > 0 && line_is_of(json_array_get(rows, json_array_size(rows) - 1), "all"))
            json_array_clear(rows);
        ok = json_array_append(rows, line) == 0;
        return (line_is_of(line, "core") || put_cores(report, rows)) && ok;
    }
    if (line_is_of(line, "sample") && text && report->has_totals)
        put_interval(report, line);
    else if (line_is_of(line, "reset") && text)
        fprintf(report->to.out, "%10.3f s  the target was reset; totals go on, and are lower bounds\n",
                field_real(line, "seconds"));
    else if (line_is_of(line, "summary") && text && report->has_totals)
        render_text(&report->to, "%s", field_text(line, "clock_change"));
    else if (!report->of_cores && (line_is_of(line, "sample") || line_is_of(line, "summary")))
        ok = counts_put_counts(report, line);
    else if (line_is_of(line, "summary") && text) {
        const json_t *all = json_array_get(rows, json_array_size(rows) - 1);
        if (all != NULL && field_of(all, "since_begin") == NULL) /* else nothing has the whole */
            put_footer(report, all, line);
    }
    return ok;
}

bool counts_put(struct counts_report *report, const struct document *lines)
{
    const struct rendering *to = &report->to;
    json_t *rows = json_array(), *line;
    size_t i;
    bool ok = lines->ok && rows != NULL;
    if (to->format == FORMAT_JSON)
        ok = ok && document_write(to->out, lines);
    else
        json_array_foreach(lines->lines, i, line)
            ok = put_one(report, line, rows) && ok;
    json_decref(rows);
    return output_flush(to->out) && ok;
}

bool counts_show(const struct rendering *to, const struct document *document)
{
    struct counts_report report = {.to = *to,
                                   .header = document_line(document, "header"),
                                   .of_cores = document_line(document, "all") != NULL};
    return (to->format == FORMAT_JSON || counts_begin(&report)) && counts_put(&report, document);
}
