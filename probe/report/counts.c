#include "report/counts.h"

#include "base/deadline.h"
#include "report/conditions.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LINE = 1024, INDENT = 2 };
enum { COUNT = 24, NAME = 28, INTERVAL_COUNT = 20, INTERVAL_NAME = 24 }; /* widths of counts */
enum { HEAD = 10, NARROWEST = 16, TEXT = NUMBER_ROOM + 4 };              /* widths of cores */

/* ---- JSON */

static struct json_part json_counts_part(const char *type, const struct counts *counts)
{
    struct json_part line = json_part_new(type), columns = json_part_new(NULL);
    json_part_real(&line, "seconds", counts->seconds);
    json_part_real(&line, "since_begin", counts->since_begin);
    for (size_t i = 0; i < counts->n; i++) {
        const struct counts_row *row = &counts->rows[i];
        struct json_part one = json_part_new(NULL);
        if (row->unsupported != NULL && row->unsupported[0] != '\0')
            json_part_text(&one, "not_supported", row->unsupported);
        if (!row->counted && json_object_size(one.json) == 0) {
            json_decref(one.json);
            continue;
        }
        if (row->counted) {
            json_part_unsigned(&one, "count", row->count);
            json_part_real(&one, "seconds", row->seconds);
            json_part_bool(&one, "at_least", row->at_least);
        }
        json_part_object(&columns, row->name, one);
    }
    json_part_object(&line, "columns", columns);
    json_part_object(&line, "metrics", json_metrics(counts->metrics, counts->n_metrics));
    json_metric_words(&line, counts->metrics, counts->n_metrics);
    if (counts->passes > 1)
        json_part_unsigned(&line, "passes", counts->passes);
    json_part_unsigned(&line, "skew_us", counts->skew_us);
    if (counts->halts > 0) {
        json_part_unsigned(&line, "halts", counts->halts);
        json_part_unsigned(&line, "halted_us", counts->halted_us);
    }
    if (counts->samples > 0)
        json_part_unsigned(&line, "samples", counts->samples);
    json_part_unsigned(&line, "lost", counts->lost);
    if (counts->slept)
        json_part_bool(&line, "slept", true);
    if (counts->clock_change != NULL)
        json_part_text(&line, "clock_change", counts->clock_change);
    return line;
}

bool json_counts(FILE *out, const char *type, const struct counts *counts)
{
    return json_part_write(out, json_counts_part(type, counts));
}

bool json_reset(FILE *out, double seconds)
{
    struct json_part line = json_part_new("reset");
    json_part_real(&line, "seconds", seconds);
    return json_part_write(out, line);
}

static bool json_cores(FILE *out, const struct cores_table *table, const struct cores_row *row)
{
    struct json_part line = json_part_new(row->cpu >= 0 ? "cpu" : row->core >= 0 ? "core" : "all");
    struct json_part columns = json_part_new(NULL), metrics = json_metrics(row->metrics, table->n_metrics);
    if (row->cpu >= 0)
        json_part_unsigned(&line, "cpu", (uint64_t)row->cpu);
    if (row->core >= 0)
        json_part_unsigned(&line, "core", (uint64_t)row->core);
    if (table->since_begin > 0)
        json_part_real(&line, "since_begin", table->since_begin);
    json_part_unsigned(&line, "cpus", row->cpus);
    json_part_real(&line, "seconds", row->seconds);
    for (size_t i = 0; i < table->n_columns; i++) {
        struct json_part one = json_part_new(NULL);
        if (row->values[i].counted) {
            json_part_unsigned(&one, "count", row->values[i].count);
            json_part_bool(&one, "at_least", row->values[i].at_least);
        }
        json_part_object(&columns, table->columns[i].name, one);
    }
    line.ok = line.ok && columns.ok && metrics.ok &&
              json_object_set_new(line.json, "columns", columns.json) == 0 && /* even if empty */
              json_object_set_new(line.json, "metrics", metrics.json) == 0;
    return json_part_write(out, line);
}

static bool json_cores_summary(FILE *out, const struct cores_table *table)
{
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "passes", table->passes);
    json_part_unsigned(&line, "skew_us", table->skew_us);
    json_part_unsigned(&line, "lost", table->lost);
    return json_part_write(out, line);
}

/* ---- one core */

static bool done(FILE *out)
{
    return fflush(out) == 0 && !ferror(out);
}

/* What perf prints in the place of a number. */
static const char *missing(const json_t *column)
{
    return field_of(column, "not_supported") != NULL ? "<not supported>"
           : field_of(column, "count") == NULL       ? "<not counted>"
                                                     : NULL;
}

static double rate_of(const json_t *column)
{
    double seconds = field_real(column, "seconds");
    return seconds > 0 ? (double)field_count(column, "count") / seconds : 0;
}

/* Aligned if the line has room, else folded. */
static void put_line(const struct rendering *to, const char *line)
{
    if (utf8_width(line) <= to->columns)
        fprintf(to->out, "%s\n", line);
    else
        fold_text(to->out, to->columns, INDENT, line + strspn(line, " "));
}

static void put_text_row(const struct rendering *to, const char *key, const json_t *column, double since)
{
    char count[NUMBER_ROOM], rate[NUMBER_ROOM], line[LINE], name[UTF8_CLEAN_ROOM(96)],
        words[NUMBER_ROOM + 16], why[UTF8_CLEAN_ROOM(96)];
    bool is_interval = since > 0;
    int used = is_interval ? snprintf(line, sizeof line, "%12.6f ", since) : 0;
    int wide = is_interval ? INTERVAL_COUNT : COUNT, name_wide = is_interval ? INTERVAL_NAME : NAME;
    terminal_text(name, sizeof name, key);
    if (missing(column) != NULL) {
        terminal_text(why, sizeof why, field_text(column, "not_supported"));
        snprintf(line + used, sizeof line - (size_t)used, "%*s  %s    %s", wide, missing(column), name,
                 why[0] != '\0' ? why : "its window did not run");
    } else {
        snprintf(words, sizeof words, "%s%s", field_is(column, "at_least") ? "at least " : "",
                 number_unsigned(count, sizeof(count), field_count(column, "count")));
        number_unsigned(rate, sizeof(rate), (uint64_t)(rate_of(column) + 0.5));
        snprintf(line + used, sizeof line - (size_t)used, "%*s  %-*s %15s /s", wide, words, name_wide, name,
                 rate);
    }
    put_line(to, line);
}

static void row_decimal(struct json_part *row, const char *key, double value, int decimals)
{
    char text[NUMBER_ROOM];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    row_text(row, key, text);
}

/* For CSV. A window has no region. */
static struct json_part counts_row(const char *name, const json_t *column, double since)
{
    struct json_part row = json_part_new(NULL);
    row_text(&row, "name", name);
    row_text(&row, "unit", unit_of_counter(name));
    row_text(&row, "missing", missing(column) != NULL ? missing(column) : "");
    if (since > 0)
        row_decimal(&row, "since_begin", since, 6);
    if (missing(column) != NULL)
        return row;
    json_object_set(row.json, "count", json_object_get(column, "count"));
    row_decimal(&row, "seconds", fmax(0, field_real(column, "seconds")), 6);
    row_decimal(&row, "per_second", rate_of(column), 3);
    row_text(&row, "at_least", field_is(column, "at_least") ? "at least" : "");
    return row;
}

static void add_metrics(const struct rendering *to, struct document *rows, const json_t *line)
{
    json_t *metrics = json_object_get(line, "metrics"), *metric;
    const char *key;
    json_object_foreach(metrics, key, metric) {
        struct json_part row = json_part_new(NULL);
        char value[NUMBER_ROOM] = "<not counted>", text[LINE], name[UTF8_CLEAN_ROOM(96)],
             unit[UTF8_CLEAN_ROOM(16)];
        terminal_text(unit, sizeof unit, text_or_empty(json_object_get(field_of(line, "metric_units"), key)));
        if (json_is_number(metric))
            snprintf(value, sizeof value, "%.6g", json_number_value(metric));
        row_text(&row, "name", key);
        row_text(&row, "unit", unit);
        row_text(&row, "missing", value);
        document_add(rows, row);
        snprintf(text, sizeof text, "%*s  %s%s%s", COUNT, value, terminal_text(name, sizeof name, key),
                 unit[0] != '\0' ? " " : "", unit);
        if (to->format == FORMAT_TEXT)
            put_line(to, text);
    }
}

static void put_note(const struct rendering *to, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(LINE)];
    fold_text(to->out, to->columns, INDENT, terminal_text(clean, sizeof clean, text));
}

static void put_footer(const struct rendering *to, size_t n, const json_t *line)
{
    char time[NUMBER_ROOM], number[NUMBER_ROOM], text[LINE];
    uint64_t halts = field_count(line, "halts"), lost = field_count(line, "lost");
    const char *key;
    json_t *why;
    fprintf(to->out, "\n%*.6f s%s\n", COUNT, fmax(0, field_real(line, "seconds")),
            field_count(line, "passes") > 1 ? " per window" : "");
    if (n > 1 && halts == 0) {
        snprintf(text, sizeof text, "counters are sampled up to %s apart",
                 number_duration(time, sizeof time, (double)field_count(line, "skew_us") / 1e6));
        put_note(to, text);
    }
    if (halts > 0) {
        snprintf(
            text, sizeof text,
            "the core was halted %s times (%s in all) to read its counters; that cost is included in the "
            "counts",
            number_unsigned(number, sizeof number, halts),
            number_duration(time, sizeof time, (double)field_count(line, "halted_us") / 1e6));
        put_note(to, text);
    }
    if (lost > 0) {
        snprintf(text, sizeof text, COUNTS_LOST, number_unsigned(number, sizeof number, lost));
        put_note(to, text);
    }
    put_note(to, field_is(line, "slept") ? RESULT_SLEPT : "");
    put_note(to, field_text(line, "clock_change"));
    json_object_foreach(json_object_get(line, "metric_reasons"), key, why) {
        snprintf(text, sizeof text, "%.96s: %.128s", key, text_or_empty(why));
        put_note(to, text);
    }
}

/* A `sample` or the `summary`, of the counters of this header. */
static bool put_counts(const struct rendering *to, const json_t *header, const json_t *line)
{
    bool is_sample = strcmp(field_text(line, "type"), "sample") == 0, text = to->format == FORMAT_TEXT;
    double since = is_sample ? field_real(line, "since_begin") : 0;
    struct rendering more = *to;
    struct document rows = document_new();
    const json_t *names = field_of(header, "columns"), *one;
    size_t i;
    fputs(text && !is_sample ? "\n" : "", to->out);
    json_array_foreach(names, i, one) {
        const char *name = text_or_empty(one);
        const json_t *column = json_object_get(field_of(line, "columns"), name);
        if (is_sample && field_of(column, "count") == NULL)
            continue;
        if (text)
            put_text_row(to, name, column, since);
        else
            document_add(&rows, counts_row(name, column, since));
    }
    if (!is_sample)
        add_metrics(to, &rows, line);
    if (text && !is_sample)
        put_footer(to, json_array_size(names), line);
    more.goes_on = true;
    bool ok = text || (rows.ok && render_table(&more, &counts_csv, json_incref(rows.lines)));
    document_free(&rows);
    return done(to->out) && ok;
}

static bool put_begin(const struct rendering *to, const struct conditions *conditions)
{
    if (to->format == FORMAT_CSV)
        return render_table(to, &counts_csv, json_array()) && done(to->out);
    conditions_write(to, conditions);
    return done(to->out);
}

static struct rendering rendering_of(FILE *out, enum format format, char separator)
{
    return (struct rendering){
        .out = out, .format = format, .columns = terminal_columns(out), .separator = separator};
}

/* Of the header the names of the counters. */
static json_t *header_of(const struct conditions *conditions, const struct counts *counts)
{
    struct column columns[RESULT_COLUMNS] = {0};
    for (size_t i = 0; i < counts->n; i++)
        snprintf(columns[i].name, sizeof(columns[i].name), "%s", counts->rows[i].name);
    return json_header_part(JSON_SCHEMA, conditions, columns, counts->n, deadline_wall_s()).json;
}

static bool put_live(FILE *out, const char *type, const struct counts *counts, enum format format,
                     char separator)
{
    static const struct conditions none;
    const struct rendering to = rendering_of(out, format, separator);
    if (format == FORMAT_JSON)
        return json_counts(out, type, counts);
    struct json_part line = json_counts_part(type, counts);
    json_t *header = header_of(&none, counts);
    bool ok = line.ok && put_counts(&to, header, line.json);
    json_decref(header);
    json_decref(line.json);
    return ok;
}

bool counts_begin(FILE *out, const struct conditions *conditions, const struct counts *counts,
                  enum format format, char separator)
{
    const struct rendering to = rendering_of(out, format, separator);
    if (format != FORMAT_JSON)
        return put_begin(&to, conditions);
    json_t *header = header_of(conditions, counts);
    bool ok = json_line_write(out, header);
    json_decref(header);
    return ok;
}

bool counts_interval(FILE *out, const struct counts *interval, enum format format, char separator)
{
    return put_live(out, "sample", interval, format, separator);
}

bool counts_end(FILE *out, const struct counts *counts, enum format format, char separator)
{
    return put_live(out, "summary", counts, format, separator);
}

bool counts_show(const struct rendering *to, const struct document *document)
{
    const json_t *header = document_line(document, "header"), *line;
    struct conditions conditions = {0};
    size_t i;
    if (to->format == FORMAT_JSON)
        return document_write(to->out, document);
    conditions_read(&conditions, header);
    bool ok = put_begin(to, &conditions);
    json_array_foreach(document->lines, i, line) {
        const char *type = field_text(line, "type");
        if (strcmp(type, "sample") == 0 || strcmp(type, "summary") == 0)
            ok = put_counts(to, header, line) && ok;
    }
    return ok;
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
static bool put_csv(FILE *out, const struct cores_table *table, char separator)
{
    struct rendering to = rendering_of(out, FORMAT_CSV, separator);
    struct document rows = document_new();
    char name[NUMBER_ROOM];
    to.goes_on = true;
    for (size_t r = 0; r < table->n_rows; r++)
        for (size_t i = 0; i < table->n_columns && table->rows[r].cpu < 0; i++) {
            const struct cores_row *of = &table->rows[r];
            const char *absent = cores_missing(table, of, i);
            struct json_part row = json_part_new(NULL);
            name_row(of, name, sizeof name);
            row_text(&row, "region", name);
            row_text(&row, "name", table->columns[i].name);
            row_text(&row, "unit", unit_of_counter(table->columns[i].name));
            row_text(&row, "missing", absent != NULL ? absent : "");
            json_part_unsigned(&row, "count", of->values[i].count);
            if (table->since_begin > 0)
                row_decimal(&row, "since_begin", table->since_begin, 6);
            row_decimal(&row, "seconds", of->seconds, 6);
            json_part_unsigned(&row, "cpus", of->cpus);
            row_text(&row, "at_least", absent == NULL && of->values[i].at_least ? "at least" : "");
            document_add(&rows, row);
        }
    bool ok = rows.ok && render_table(&to, &cores_csv, json_incref(rows.lines));
    document_free(&rows);
    return ok;
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
    const struct rendering to = rendering_of(out, format, separator);
    if (format == FORMAT_CSV)
        return render_table(&to, &cores_csv, json_array()) && done(out);
    conditions_write(&to, conditions);
    return done(out);
}

bool cores_print(FILE *out, const struct cores_table *table, enum format format, char separator)
{
    if (format == FORMAT_JSON)
        return put_json(out, table);
    if (format == FORMAT_CSV) {
        return put_csv(out, table, separator) && done(out);
    } else {
        if (table->since_begin <= 0)
            fputc('\n', out);
        put_text(out, table);
        if (table->since_begin <= 0)
            put_cores_footer(out, table);
    }
    return done(out);
}
