#include "report/history.h"

#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/views.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- gathering */

static void *grow(void *items, size_t n, size_t *room, size_t each)
{
    if (n < *room)
        return items;
    size_t more = *room > 0 ? 2 * *room : 16;
    void *larger = reallocarray(items, more, each);
    *room = larger != NULL ? more : *room;
    return larger;
}

static void row_free(struct history_row *row)
{
    for (size_t i = 0; i < row->n; i++) {
        free(row->runs[i].file);
        free(row->runs[i].build_id);
    }
    free(row->runs);
    free(row->start);
    free(row->end);
    free(row->core);
    free(row->column);
}

void history_free(struct history *history)
{
    for (size_t i = 0; i < history->n; i++)
        row_free(&history->rows[i]);
    free(history->rows);
    *history = (struct history){0};
}

/* What `compare` wants to be the same: "SysTick, 24 bits, 12 MHz, openocd" */
static void set_up(const struct conditions *of, char *out, size_t size)
{
    char link[sizeof of->link], clock[NUMBER_ROOM] = "";
    /* One that was measured differs a little from run to run */
    if (of->clock_hz > 0 && !(of->clock_error_hz > 0))
        number_frequency(clock, sizeof clock, of->clock_hz);
    comparison_link_kind(link, sizeof link, of->link);
    const char *const parts[] = {of->counter, clock, link};
    out[0] = '\0';
    for (size_t i = 0, used = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][0] != '\0' && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%.60s", used > 0 ? ", " : "", parts[i]);
}

/* NULL: out of memory. */
static struct history_row *find_row(struct history *history, const struct conditions *of, const char *column)
{
    char setup[sizeof((struct history_row *)0)->setup];
    set_up(of, setup, sizeof setup);
    for (size_t i = 0; i < history->n; i++) {
        struct history_row *row = &history->rows[i];
        if (strcmp(row->start, of->start) == 0 && strcmp(row->end, of->end) == 0 &&
            strcmp(row->core, of->core) == 0 && strcmp(row->column, column) == 0 &&
            strcmp(row->setup, setup) == 0)
            return row;
    }
    void *rows = grow(history->rows, history->n, &history->room, sizeof *history->rows);
    if (rows == NULL)
        return NULL;
    history->rows = rows;
    struct history_row row = {.start = strdup(of->start),
                              .end = strdup(of->end),
                              .core = strdup(of->core),
                              .column = strdup(column)};
    if (row.start == NULL || row.end == NULL || row.core == NULL || row.column == NULL) {
        row_free(&row);
        return NULL;
    }
    memcpy(row.setup, setup, sizeof setup);
    history->rows[history->n] = row;
    return &history->rows[history->n++];
}

static bool add_run(struct history_row *row, const struct baseline *run, const struct column *column)
{
    void *runs = grow(row->runs, row->n, &row->room, sizeof *row->runs);
    if (runs == NULL)
        return false;
    row->runs = runs;
    struct history_run *out = &row->runs[row->n];
    const struct figures *figures = &column->figures;
    double alone = figures->sd / sqrt((double)figures->count);
    *out = (struct history_run){
        .file = strdup(run->file),
        .build_id = strdup(run->run.conditions.build_id),
        .median = {.value = (double)figures->median, .error = fmax(alone, figures->error.standard)}};
    memcpy(out->started, run->started, sizeof out->started);
    row->n++;
    return out->file != NULL && out->build_id != NULL;
}

bool history_add(struct history *history, const struct baseline *run)
{
    history->files++;
    for (size_t i = 0; i < run->run.n; i++) {
        const struct column *column = &run->run.columns[i];
        if (column->unsupported[0] != '\0' || !column->figures.has_median)
            continue;
        struct history_row *row = find_row(history, &run->run.conditions, column->name);
        if (row == NULL)
            return false;
        if (column->figures.count == 0 || column->at_least > 0)
            row->bounds++;
        else if (!add_run(row, run, column))
            return false;
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct history_run *one = a, *other = b;
    int order = strcmp(one->started, other->started);
    return order != 0 ? order : strcmp(one->file, other->file);
}

static int by_name(const void *a, const void *b)
{
    const struct history_row *one = a, *other = b;
    int order = strcmp(one->start, other->start);
    order = order != 0 ? order : strcmp(one->end, other->end);
    order = order != 0 ? order : strcmp(one->core, other->core);
    order = order != 0 ? order : strcmp(one->column, other->column);
    return order != 0 ? order : strcmp(one->setup, other->setup);
}

bool history_has_changed(const struct history_row *row)
{
    return row->n_changes > 0 || row->has_trend;
}

/* What part of all chance of a false change is a trend's. */
static const double OF_TREND = 0.1;

bool history_end(struct history *history, double chance)
{
    if (history->n > 0)
        qsort(history->rows, history->n, sizeof *history->rows, by_name);
    for (size_t i = 0; i < history->n; i++) {
        struct history_row *row = &history->rows[i];
        struct change_value *values = calloc(row->n + 1, sizeof *values);
        if (values == NULL)
            return false;
        if (row->n > 0)
            qsort(row->runs, row->n, sizeof *row->runs, by_time);
        for (size_t k = 0; k < row->n; k++)
            values[k] = row->runs[k].median;
        double of_row = chance / (double)history->n;
        row->n_changes = changes_find(values, row->n, of_row * (1 - OF_TREND), row->changes, HISTORY_CHANGES);
        row->has_trend = row->n_changes == 0 && changes_trend(values, row->n, of_row * OF_TREND, &row->trend);
        free(values);
    }
    return true;
}

/* ---- from its lines */

static char *clean_copy(const json_t *run, const char *key)
{
    char clean[UTF8_CLEAN_ROOM(256)];
    return strdup(utf8_clean(clean, sizeof clean, field_text(run, key)));
}

static struct change change_of(const json_t *line, size_t runs)
{
    uint64_t at = field_count(line, "run");
    struct change change = {.before = fmax(0, field_real(line, "before")),
                            .after = fmax(0, field_real(line, "after"))};
    change.at = at > 0 && at <= runs ? (size_t)at - 1 : 0;
    return change;
}

static bool read_row(struct history_row *row, const json_t *line)
{
    const json_t *runs = field_of(line, "runs"), *one;
    size_t i;
    *row = (struct history_row){.start = clean_copy(line, "region.start"),
                                .end = clean_copy(line, "region.end"),
                                .core = clean_copy(line, "core"),
                                .column = clean_copy(line, "column"),
                                .runs = calloc(json_array_size(runs) + 1, sizeof *row->runs),
                                .bounds = (size_t)field_count(line, "at_least")};
    bool ok = row->start != NULL && row->end != NULL && row->core != NULL && row->column != NULL &&
              row->runs != NULL;
    utf8_clean(row->setup, sizeof row->setup, field_text(line, "setup"));
    json_array_foreach(runs, i, one)
    {
        if (!ok)
            break;
        struct history_run *run = &row->runs[row->n++];
        *run = (struct history_run){.file = clean_copy(one, "file"),
                                    .build_id = clean_copy(one, "build_id"),
                                    .median = {.value = fmax(0, field_real(one, "median")),
                                               .error = fmax(0, field_real(one, "error"))}};
        utf8_clean(run->started, sizeof run->started, field_text(one, "started"));
        ok = run->file != NULL && run->build_id != NULL;
    }
    json_array_foreach(field_of(line, "changes"), i, one)
    {
        if (row->n_changes < HISTORY_CHANGES && row->n > 0)
            row->changes[row->n_changes++] = change_of(one, row->n);
    }

    row->has_trend = field_of(line, "trend") != NULL && row->n > 0;
    row->trend = change_of(field_of(line, "trend"), row->n);
    return ok;
}

bool history_read(struct history *history, const struct document *document)
{
    json_t *regions = document_rows(document, "region", NULL);
    const json_t *summary = document_line(document, "summary"), *line;
    size_t i;
    *history = (struct history){.files = (size_t)field_count(summary, "files"),
                                .skipped = (size_t)field_count(summary, "skipped"),
                                .rows = calloc(json_array_size(regions) + 1, sizeof *history->rows)};
    bool ok = regions != NULL && history->rows != NULL;
    utf8_clean(history->reason, sizeof history->reason, field_text(summary, "skipped_because"));
    json_array_foreach(regions, i, line)
    {
        ok = ok && read_row(&history->rows[history->n++], line);
    }

    json_decref(regions);
    return ok;
}

/* ---- text */

enum { CELL = 128, COURSE_MOST = 60, NAME_MOST = 28, BARS = 8 };

double history_part_of(const struct change *change)
{
    return change->before > 0 ? change->after / change->before - 1 : NAN;
}

/* A character for so many runs each: their mean between the row's least and greatest. */
static void put_course(char *out, size_t size, const struct history_row *row, size_t columns)
{
    static const char *const bars[BARS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[BARS] = {"_", ".", "-", "~", "=", "+", "*", "#"};
    const char *const *from = terminal_has_utf8() ? bars : plain;
    double least = INFINITY, greatest = -INFINITY;
    size_t n = row->n < columns ? row->n : columns, used = 0;
    for (size_t i = 0; i < row->n; i++) {
        least = fmin(least, row->runs[i].median.value);
        greatest = fmax(greatest, row->runs[i].median.value);
    }
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t first = row->n * i / n, end = row->n * (i + 1) / n;
        double sum = 0;
        for (size_t k = first; k < end; k++)
            sum += row->runs[k].median.value;
        double at = greatest > least ? (sum / (double)(end - first) - least) / (greatest - least) : 0;
        used += (size_t)snprintf(out + used, size - used, "%s", from[(size_t)(at * (BARS - 1) + 0.5)]);
    }
}

static const char *put_value(char *out, size_t size, double value)
{
    return number_unsigned(out, size, (uint64_t)llround(value));
}

bool history_is_function(const struct history_row *row)
{
    return strcmp(row->end, "its return") == 0 || row->end[0] == '\0';
}

static void put_region(char *out, size_t size, const struct history_row *row)
{
    char whole[CELL * 3];
    snprintf(whole, sizeof whole, "%.120s%s%.120s", row->start, history_is_function(row) ? "" : " to ",
             history_is_function(row) ? "" : row->end);
    terminal_text(out, size, whole);
}

static void print_change(FILE *out, const struct history_row *row, const struct change *change)
{
    const struct history_run *run = &row->runs[change->at];
    char before[NUMBER_ROOM], after[NUMBER_ROOM], text[1024], file[UTF8_CLEAN_ROOM(256)],
        change_text[32] = "";
    double part = history_part_of(change);
    if (isfinite(part))
        snprintf(change_text, sizeof change_text, "%+.2f %%, ", part * 100);
    terminal_text(file, sizeof file, run->file);
    snprintf(text, sizeof text, "%s%s %s %s since %s%s%.12s: %.300s", change_text,
             put_value(before, sizeof before, change->before), terminal_or("→", "->"),
             put_value(after, sizeof after, change->after), run->started[0] != '\0' ? run->started : "?",
             run->build_id[0] != '\0' ? ", build " : "", run->build_id, file);
    bool worse = change->after > change->before;
    fprintf(out, "    %s", terminal_colour(out, worse ? COLOUR_BAD : COLOUR_GOOD));
    fold_text_at(out, terminal_columns(out), 4, 6, text);
    fputs(terminal_colour(out, COLOUR_END), out);
}

static void print_trend(FILE *out, const struct history_row *row)
{
    char before[NUMBER_ROOM], after[NUMBER_ROOM], text[256];
    bool worse = row->trend.after > row->trend.before;
    snprintf(text, sizeof text, "%+.2f %%, %s %s %s over %zu runs: a %s without a step",
             history_part_of(&row->trend) * 100, put_value(before, sizeof before, row->trend.before),
             terminal_or("→", "->"), put_value(after, sizeof after, row->trend.after), row->n,
             worse ? "rise" : "fall");
    fprintf(out, "    %s", terminal_colour(out, worse ? COLOUR_BAD : COLOUR_GOOD));
    fold_text_at(out, terminal_columns(out), 4, 6, text);
    fputs(terminal_colour(out, COLOUR_END), out);
}

/* `of_several`: there is the same with another counter, clock or link. */
static void print_row(FILE *out, const struct history_row *row, bool of_several)
{
    char region[UTF8_CLEAN_ROOM(CELL * 3)], column[UTF8_CLEAN_ROOM(CELL)], first[NUMBER_ROOM],
        last[NUMBER_ROOM];
    char line[4 * CELL], course[4 * COURSE_MOST + 1] = "";
    struct fold fold = {.out = out, .columns = terminal_columns(out), .indent = 4};
    put_region(region, sizeof region, row);
    terminal_text(column, sizeof column, row->column);
    fold_put(&fold, region, 0);
    fold_put(&fold, column, 2);
    if (row->n > 0) {
        snprintf(line, sizeof line, "%zu run%s", row->n, row->n == 1 ? "" : "s");
        fold_put(&fold, line, 2);
        snprintf(line, sizeof line, "%s %s %s", put_value(first, sizeof first, row->runs[0].median.value),
                 terminal_or("→", "->"), put_value(last, sizeof last, row->runs[row->n - 1].median.value));
        fold_put(&fold, line, 2);
        size_t room = fold.columns > 2 * fold.indent ? fold.columns - 2 * fold.indent : 8;
        put_course(course, sizeof course, row, room < COURSE_MOST ? room : COURSE_MOST);
        fold_put(&fold, course, 2);
    }
    fold_end(&fold);
    if (of_several && row->setup[0] != '\0') {
        char setup[UTF8_CLEAN_ROOM(sizeof row->setup)];
        fprintf(out, "    with %s\n", terminal_text(setup, sizeof setup, row->setup));
    }
    if (row->bounds > 0)
        fprintf(out, "    left out, for want of exact counts: %zu run%s\n", row->bounds,
                row->bounds == 1 ? "" : "s");
    for (size_t i = 0; i < row->n_changes; i++)
        print_change(out, row, &row->changes[i]);
    if (row->has_trend)
        print_trend(out, row);
}

static bool is_same_region(const struct history *history, size_t i, size_t k)
{
    const struct history_row *one = &history->rows[i], *other = &history->rows[k];
    return k < history->n && strcmp(one->start, other->start) == 0 && strcmp(one->end, other->end) == 0 &&
           strcmp(one->core, other->core) == 0 && strcmp(one->column, other->column) == 0;
}

bool history_text(FILE *out, const struct history *history)
{
    const char *core = NULL;
    size_t changed = 0;
    for (size_t i = 0; i < history->n; i++) {
        const struct history_row *row = &history->rows[i];
        char clean[UTF8_CLEAN_ROOM(CELL)];
        if (core == NULL || strcmp(core, row->core) != 0)
            fprintf(out, "%s%s\n", core != NULL ? "\n" : "", terminal_text(clean, sizeof clean, row->core));
        core = row->core;
        print_row(out, row,
                  is_same_region(history, i, i + 1) || (i > 0 && is_same_region(history, i, i - 1)));
        changed += history_has_changed(row);
    }
    char text[2048];
    fputs(history->n > 0 ? "\n" : "", out);
    snprintf(text, sizeof text,
             "%zu file%s, %zu of %zu row%s changed. A median steps up or down, or rises or "
             "falls all the way, where chance does not explain it (1 %% over all rows).",
             history->files, history->files == 1 ? "" : "s", changed, history->n, history->n == 1 ? "" : "s");
    fold_text(out, terminal_columns(out), 0, text);
    if (history->skipped > 0) {
        snprintf(text, sizeof text, "Skipped %zu file%s: %s", history->skipped,
                 history->skipped == 1 ? "" : "s", history->reason);
        fold_text(out, terminal_columns(out), 0, text);
    }
    return fflush(out) == 0 && !ferror(out);
}

/* ---- JSON */

static json_t *runs_json(const struct history_row *row)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < row->n; i++) {
        const struct history_run *run = &row->runs[i];
        struct json_part part = json_part_new(NULL);
        json_part_text(&part, "file", run->file);
        json_part_text(&part, "started", run->started);
        json_part_text(&part, "build_id", run->build_id);
        json_part_real(&part, "median", run->median.value);
        json_part_real(&part, "error", run->median.error);
        json_array_append_new(runs, part.json);
    }
    return runs;
}

static json_t *changes_json(const struct history_row *row)
{
    json_t *changes = json_array();
    for (size_t i = 0; i < row->n_changes; i++) {
        const struct change *change = &row->changes[i];
        struct json_part part = json_part_new(NULL);
        json_part_unsigned(&part, "run", change->at + 1);
        json_part_text(&part, "file", row->runs[change->at].file);
        json_part_real(&part, "before", change->before);
        json_part_real(&part, "after", change->after);
        json_part_real(&part, "change", history_part_of(change));
        json_array_append_new(changes, part.json);
    }
    return changes;
}

static struct json_part trend_json(const struct history_row *row)
{
    struct json_part part = json_part_new(NULL);
    json_part_real(&part, "before", row->trend.before);
    json_part_real(&part, "after", row->trend.after);
    json_part_real(&part, "change", history_part_of(&row->trend));
    return part;
}

struct document history_document(const struct history *history)
{
    struct document document = document_new();
    size_t changed = 0;
    document_add(&document, json_command_part("history", ""));
    for (size_t i = 0; i < history->n; i++) {
        const struct history_row *row = &history->rows[i];
        struct json_part part = json_part_new("region"), region = json_part_new(NULL);
        json_part_text(&region, "start", row->start);
        json_part_text(&region, "end", row->end);
        json_part_object(&part, "region", region);
        json_part_text(&part, "core", row->core);
        json_part_text(&part, "column", row->column);
        if (row->bounds > 0)
            json_part_unsigned(&part, "at_least", row->bounds);
        json_part_array(&part, "runs", runs_json(row));
        json_part_array(&part, "changes", changes_json(row));
        if (row->setup[0] != '\0')
            json_part_text(&part, "setup", row->setup);
        if (row->has_trend)
            json_part_object(&part, "trend", trend_json(row));
        document_add(&document, part);
        changed += history_has_changed(row);
    }
    struct json_part summary = json_part_new("summary");
    json_part_unsigned(&summary, "files", history->files);
    json_part_unsigned(&summary, "regions", history->n);
    json_part_unsigned(&summary, "changed", changed);
    if (history->skipped > 0) {
        json_part_unsigned(&summary, "skipped", history->skipped);
        json_part_text(&summary, "skipped_because", history->reason);
    }
    document_add(&document, summary);
    return document;
}

/* A row for each run of a region. */
bool history_csv(const struct rendering *to, const struct document *document)
{
    struct document rows = document_new();
    size_t i, k;
    const json_t *region, *run;
    json_array_foreach(document->lines, i, region)
    {
        if (strcmp(field_text(region, "type"), "region") != 0)
            continue;
        json_array_foreach(field_of(region, "runs"), k, run)
        {
            struct json_part row = {.json = json_copy((json_t *)run)};
            row.ok = row.json != NULL;
            json_part_text(&row, "region", field_text(region, "region.start"));
            json_part_text(&row, "end", field_text(region, "region.end"));
            json_part_text(&row, "name", field_text(region, "column"));
            json_part_text(&row, "unit", unit_of_counter(field_text(region, "column")));
            json_part_text(&row, "core", field_text(region, "core"));
            json_part_text(&row, "setup", field_text(region, "setup"));
            document_add(&rows, row);
        }
    }
    bool ok = rows.ok && render_table(to, &history_csv_view, json_incref(rows.lines));
    document_free(&rows);
    return fflush(to->out) == 0 && !ferror(to->out) && ok;
}
