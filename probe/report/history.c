#include "report/history.h"

#include "base/values.h"
#include "measure/changes.h"
#include "report/canvas.h"
#include "report/formats.h"
#include "report/number.h"
#include "report/page.h"
#include "report/plots.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool history_page(const struct rendering *to, const struct document *document,
                         const struct page_command *command);

/* In keys that are sorted, between texts that have no control characters. */
#define BETWEEN "\x01"

enum { KEY = 3072, SETUP = 192 };

/* ---- gathering */

void history_free(struct history *history)
{
    json_decref(history->rows);
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i][0] != '\0')
            text_add(out, size, "%s%.60s", out[0] != '\0' ? ", " : "", parts[i]);
}

/* NULL: out of memory. */
static json_t *history_find_row(struct history *history, const struct conditions *of, const char *column)
{
    char setup[SETUP], name[UTF8_CLEAN_ROOM(96)], key[KEY];
    set_up(of, setup, sizeof setup);
    utf8_clean(name, sizeof name, column);
    snprintf(key, sizeof key, "%s" BETWEEN "%s" BETWEEN "%s" BETWEEN "%s" BETWEEN "%s", of->start, of->end,
             of->core, name, setup);
    json_t *found = json_object_get(history->rows, key);
    if (found != NULL)
        return found;
    struct json_part row = json_part_new(NULL), region = json_part_new(NULL);
    json_part_text(&region, "start", of->start);
    json_part_text(&region, "end", of->end);
    json_part_object(&row, "region", region);
    json_part_text(&row, "core", of->core);
    json_part_text(&row, "column", name);
    json_part_text(&row, "setup", setup);
    bool ok = json_object_set_new(row.json, "runs", json_object()) == 0 && row.ok;
    return json_object_set_new(history->rows, key, row.json) == 0 && ok ? row.json : NULL;
}

static bool history_add_run(json_t *row, const struct baseline *run, const json_t *column)
{
    json_t *runs = json_object_get(row, "runs");
    struct json_part part = json_part_new(NULL);
    char key[KEY];
    double alone = field_real(column, "sd") / sqrt((double)field_count(column, "count"));
    json_part_text(&part, "file", run->file);
    json_part_text(&part, "started", field_text(run->header, "started"));
    json_part_text(&part, "build_id", run->conditions.build_id);
    json_part_real(&part, "median", field_real(column, "median"));
    json_part_real(&part, "error", fmax(alone, field_real(column, "mean_error")));
    snprintf(key, sizeof key, "%.64s" BETWEEN "%s" BETWEEN "%08zu", field_text(part.json, "started"),
             run->file, json_object_size(runs));
    return json_object_set_new(runs, key, part.json) == 0 && part.ok;
}

/* A run with only a lower bound of some of its hits is left out, and counted. */
bool history_add(struct history *history, const struct baseline *run)
{
    const char *name;
    json_t *column;
    history->files++;
    history->rows = history->rows != NULL ? history->rows : json_object();
    json_object_foreach(json_object_get(run->summary, "columns"), name, column) {
        if (field_of(column, "not_supported") != NULL || !(field_real(column, "median") >= 0))
            continue;
        json_t *row = history_find_row(history, &run->conditions, name);
        bool bound = field_count(column, "count") == 0 || field_count(column, "at_least") > 0;
        if (row == NULL ||
            (field_of(column, "errata") != NULL &&
             json_object_set(row, "errata", json_object_get(column, "errata")) != 0) ||
            (bound ? json_object_set_new(row, "at_least",
                                         json_integer((json_int_t)field_count(row, "at_least") + 1)) != 0
                   : !history_add_run(row, run, column)))
            return false;
    }
    return history->rows != NULL;
}

/* ---- the document */

static int history_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Its values by their keys; NULL: out of memory. */
static json_t *sorted(json_t *object)
{
    const char **keys = calloc(json_object_size(object) + 1, sizeof *keys), *key;
    json_t *values = json_array(), *value;
    size_t n = 0;
    if (keys == NULL || values == NULL) {
        free(keys);
        json_decref(values);
        return NULL;
    }
    json_object_foreach(object, key, value)
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, history_by_text);
    for (size_t i = 0; i < n; i++)
        json_array_append(values, json_object_get(object, keys[i]));
    free(keys);
    return values;
}

static struct json_part change_part(const struct change *change)
{
    struct json_part part = json_part_new(NULL);
    json_part_real(&part, "before", change->before);
    json_part_real(&part, "after", change->after);
    json_part_real(&part, "change", change->before > 0 ? change->after / change->before - 1 : (double)NAN);
    return part;
}

/* What part of all chance of a false change is a trend's. */
static const double OF_TREND = 0.1;

static void history_put_changes(struct json_part *line, const json_t *runs, double chance)
{
    enum { MOST = 16 };
    size_t n = json_array_size(runs);
    struct change_value *values = calloc(n + 1, sizeof *values);
    struct change found[MOST], trend;
    json_t *changes = json_array();
    line->ok = line->ok && values != NULL;
    for (size_t i = 0; i < n && values != NULL; i++)
        values[i] = (struct change_value){.value = field_real(json_array_get(runs, i), "median"),
                                          .error = field_real(json_array_get(runs, i), "error")};
    size_t steps = values != NULL ? changes_find(values, n, chance * (1 - OF_TREND), found, MOST) : 0;
    for (size_t i = 0; i < steps; i++) {
        struct json_part part = change_part(&found[i]);
        json_part_unsigned(&part, "run", found[i].at + 1);
        json_part_text(&part, "file", field_text(json_array_get(runs, found[i].at), "file"));
        json_part_append(line, changes, part.json);
    }
    json_part_array(line, "changes", changes);
    if (steps == 0 && values != NULL && changes_trend(values, n, chance * OF_TREND, &trend))
        json_part_object(line, "trend", change_part(&trend));
    free(values);
}

static struct json_part history_region_line(json_t *row, double chance)
{
    struct json_part line = json_part_new("region");
    json_t *runs = sorted(json_object_get(row, "runs"));
    line.ok = line.ok && runs != NULL && json_object_update_missing(line.json, row) == 0;
    json_object_del(line.json, "runs");
    history_put_changes(&line, runs, chance);
    json_part_array(&line, "runs", runs);
    return line;
}

/* Of its lines. There is a step or a trend. */
static bool history_has_changed(const json_t *row)
{
    return field_of(row, "changes|trend") != NULL;
}

struct document history_document(const struct history *history, double chance)
{
    struct document document = document_new();
    json_t *rows = sorted(history->rows), *row;
    size_t n = json_array_size(rows), changed = 0, i;
    document.ok = document.ok && rows != NULL;
    document_add(&document, json_command_part("history", ""));
    json_array_foreach(rows, i, row) {
        struct json_part line = history_region_line(row, chance / (double)n);
        changed += history_has_changed(line.json);
        document_add(&document, line);
    }
    json_decref(rows);
    struct json_part summary = json_part_new("summary");
    json_part_unsigned(&summary, "files", history->files);
    json_part_unsigned(&summary, "regions", n);
    json_part_unsigned(&summary, "changed", changed);
    if (history->skipped > 0) {
        json_part_unsigned(&summary, "skipped", history->skipped);
        json_part_text(&summary, "skipped_because", history->reason);
    }
    document_add(&document, summary);
    return document;
}

/* ---- texts */

enum { CELL = 512, COURSE_MOST = 60 };

static void history_region_text(const json_t *row, char *out, size_t size)
{
    const char *end = field_text(row, "region.end");
    bool function = end[0] == '\0' || strcmp(end, "its return") == 0;
    snprintf(out, size, "%.150s%s%.150s", field_text(row, "region.start"), function ? "" : " to ",
             function ? "" : end);
}

/* "fir_filter", "start to stop" */
static const char *history_value_text(char *out, size_t size, double value)
{
    return number_unsigned(out, size, (uint64_t)llround(fmin(fmax(0, value), 0x1p62)));
}

/* "+2.04 %, 18,199 to 18,570"; `to` is the word between the two. */
static void history_change_text(const json_t *change, const char *to, char *out, size_t size)
{
    char before[NUMBER_ROOM], after[NUMBER_ROOM];
    const char *part = CHANGE(field_real(change, "change"));
    snprintf(out, size, "%s%s%s %s %s", part, part[0] != '\0' ? ", " : "",
             history_value_text(before, sizeof before, field_real(change, "before")), to,
             history_value_text(after, sizeof after, field_real(change, "after")));
}

static void since_text(const json_t *row, const json_t *change, char *out, size_t size)
{
    uint64_t at = field_count(change, "run");
    const json_t *run = json_array_get(field_of(row, "runs"), at - 1);
    const char *started = field_text(run, "started"), *build = field_text(run, "build_id");
    text_add(out, size, " since %s%s%.12s: %.300s", started[0] != '\0' ? started : "?",
             build[0] != '\0' ? ", build " : "", build, field_text(run, "file"));
}

/* The i-th; 0 is the counter and the clock. False: there are no more. */
static bool history_take_fact(const json_t *row, size_t i, const char *to, struct history_fact *out)
{
    const json_t *changes = field_of(row, "changes"), *trend = field_of(row, "trend");
    size_t n = json_array_size(changes), room = sizeof out->text;
    uint64_t bounds = field_count(row, "at_least");
    *out = (struct history_fact){0};
    if (i == 0 && field_of(row, "setup") != NULL)
        snprintf(out->text, room, "with %.500s", field_text(row, "setup"));
    else if (i == 1 && bounds > 0)
        snprintf(out->text, room, "left out, for want of exact counts: %" PRIu64 " run%s", bounds,
                 PLURAL(bounds));
    else if (i >= 2 && i < 2 + n) {
        out->change = json_array_get(changes, i - 2);
        history_change_text(out->change, to, out->text, room);
        since_text(row, out->change, out->text, room);
    } else if (i == 3 + n && field_of(row, "errata") != NULL) {
        snprintf(out->text, room, "~ %s", field_text(row, "errata"));
    } else if (i == 2 + n && trend != NULL) {
        out->change = trend;
        history_change_text(trend, to, out->text, room);
        text_add(out->text, room, " over %zu runs: a %s without a step",
                 json_array_size(field_of(row, "runs")),
                 field_real(trend, "after") > field_real(trend, "before") ? "rise" : "fall");
    }
    return i <= 3 + n;
}

/* "40 files, 1 of 2 rows changed", and which were skipped, or "". */
static void history_summary_texts(const json_t *summary, char *changed, char *skipped, size_t size)
{
    uint64_t files = field_count(summary, "files"), rows = field_count(summary, "regions"),
             left = field_count(summary, "skipped");
    snprintf(changed, size, "%" PRIu64 " file%s, %" PRIu64 " of %" PRIu64 " row%s changed", files,
             PLURAL(files), field_count(summary, "changed"), rows, PLURAL(rows));
    skipped[0] = '\0';
    if (left > 0)
        snprintf(skipped, size, "Skipped %" PRIu64 " file%s: %.400s", left, PLURAL(left),
                 field_text(summary, "skipped_because"));
}

/* Of each column the mean of its runs, between the row's least and greatest. */
static void put_course(char *out, size_t size, const json_t *runs, size_t columns)
{
    double least = INFINITY, greatest = -INFINITY, values[COURSE_MOST];
    size_t all = json_array_size(runs), n = all < columns ? all : columns;
    for (size_t i = 0; i < all; i++) {
        least = fmin(least, field_real(json_array_get(runs, i), "median"));
        greatest = fmax(greatest, field_real(json_array_get(runs, i), "median"));
    }
    for (size_t i = 0; i < n; i++) {
        size_t first = all * i / n, end = all * (i + 1) / n;
        double sum = 0;
        for (size_t k = first; k < end; k++)
            sum += field_real(json_array_get(runs, k), "median");
        values[i] = sum / (double)(end - first) - least;
    }
    canvas_spark(out, size, values, n, greatest - least);
}

static void history_print_head(const struct rendering *to, const json_t *row, const json_t *runs)
{
    struct fold fold = {.out = to->out, .columns = to->columns, .indent = 4};
    char text[CELL], clean[UTF8_CLEAN_ROOM(CELL)], first[NUMBER_ROOM], last[NUMBER_ROOM];
    size_t n = json_array_size(runs);
    history_region_text(row, text, sizeof text);
    fold_put(&fold, terminal_text(clean, sizeof clean, text), 0);
    fold_put(&fold, terminal_text(clean, sizeof clean, field_text(row, "column")), 2);
    if (n > 0) {
        snprintf(text, sizeof text, "%zu run%s", n, PLURAL(n));
        fold_put(&fold, text, 2);
        snprintf(text, sizeof text, "%s %s %s",
                 history_value_text(first, sizeof first, field_real(json_array_get(runs, 0), "median")),
                 terminal_or("→", "->"),
                 history_value_text(last, sizeof last, field_real(json_array_get(runs, n - 1), "median")));
        fold_put(&fold, text, 2);
        size_t room = fold.columns > 2 * fold.indent ? fold.columns - 2 * fold.indent : 8;
        put_course(text, sizeof text, runs, room < COURSE_MOST ? room : COURSE_MOST);
        fold_put(&fold, text, 2);
    }
    fold_end(&fold);
}

/* `of_several`: there is the same with another counter, clock or link. */
static void print_row(const struct rendering *to, const json_t *row, bool of_several)
{
    struct history_fact fact;
    char clean[UTF8_CLEAN_ROOM(sizeof fact.text)];
    history_print_head(to, row, field_of(row, "runs"));
    for (size_t i = of_several ? 0 : 1; history_take_fact(row, i, terminal_or("→", "->"), &fact); i++) {
        bool worse = field_real(fact.change, "after") > field_real(fact.change, "before");
        if (fact.text[0] == '\0')
            continue;
        fprintf(to->out, "    %s",
                fact.change != NULL ? terminal_colour(to->out, worse ? COLOUR_BAD : COLOUR_GOOD) : "");
        fold_text_at(to->out, to->columns, 4, 6, terminal_text(clean, sizeof clean, fact.text));
        fputs(fact.change != NULL ? terminal_colour(to->out, COLOUR_END) : "", to->out);
    }
}

static bool is_same_region(const json_t *one, const json_t *other)
{
    static const char *const keys[] = {"region", "core", "column"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_equal(json_object_get(one, keys[i]), json_object_get(other, keys[i])))
            return false;
    return true;
}

static void history_put_text(const struct rendering *to, const struct document *document, const json_t *rows)
{
    const char *core = NULL;
    char changed[CELL], skipped[CELL], text[2 * CELL];
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *after = json_array_get(rows, i + 1),
                     *before = i > 0 ? json_array_get(rows, i - 1) : NULL;
        const char *its = field_text(row, "core");
        if (core == NULL || strcmp(core, its) != 0)
            fprintf(to->out, "%s%s\n", core != NULL ? "\n" : "", terminal_text(text, sizeof text, its));
        core = its;
        print_row(to, row, is_same_region(row, before) || is_same_region(row, after));
    }
    fputs(json_array_size(rows) > 0 ? "\n" : "", to->out);
    history_summary_texts(document_line(document, "summary"), changed, skipped, sizeof changed);
    snprintf(text, sizeof text,
             "%s. A median steps up or down, or rises or falls all the way, where chance does not explain it "
             "(1 %% over all rows).",
             changed);
    fold_text(to->out, to->columns, 0, text);
    if (skipped[0] != '\0')
        fold_text(to->out, to->columns, 0, terminal_text(text, sizeof text, skipped));
}

/* A row for each run of a region. */
static bool history_put_csv(const struct rendering *to, const struct document *document)
{
    struct document rows = document_new();
    size_t i, k;
    const json_t *region, *run;
    json_array_foreach(document->lines, i, region) {
        if (!line_is_of(region, "region"))
            continue;
        json_array_foreach(field_of(region, "runs"), k, run) {
            struct json_part row = json_part_copy(run);
            json_part_text(&row, "region", field_text(region, "region.start"));
            json_part_text(&row, "end", field_text(region, "region.end"));
            json_part_text(&row, "name", field_text(region, "column"));
            json_part_text(&row, "unit", unit_of_counter(field_text(region, "column")));
            json_part_text(&row, "core", field_text(region, "core"));
            json_part_text(&row, "setup", field_text(region, "setup"));
            document_add(&rows, row);
        }
    }
    return render_table(to, &history_csv, document_end(rows));
}

bool history_write(const struct rendering *to, const struct document *document,
                   const struct page_command *command)
{
    json_t *rows = document_rows(document, "region", NULL);
    bool ok = document->ok && rows != NULL;
    if (ok && to->format == FORMAT_JSON)
        ok = document_write(to->out, document);
    else if (ok && to->format == FORMAT_CSV)
        ok = history_put_csv(to, document);
    else if (ok && to->format == FORMAT_HTML)
        ok = history_page(to, document, command);
    else if (ok)
        history_put_text(to, document, rows);
    json_decref(rows);
    return output_flush(to->out) && ok;
}

/* ---- history page */

/* A history as a page without a script: each row's course as a line, its changes marked. */

enum { NAME = 512, TEXT = 1024 };

static double median_of(const json_t *runs, size_t i)
{
    return fmax(0, field_real(json_array_get(runs, i), "median"));
}

/* A new level begins at this run: that it is higher, or lower. */
static enum plot_look history_page_look_of(const json_t *row, size_t run)
{
    size_t i;
    const json_t *change;
    json_array_foreach(field_of(row, "changes"), i, change)
        if (field_count(change, "run") == run + 1)
            return field_real(change, "after") > field_real(change, "before") ? PLOT_BAD : PLOT_GOOD;
    return PLOT_PLAIN;
}

/* ---- a row */

static void put_run(const struct plot *plot, const json_t *row, const json_t *runs, size_t i)
{
    const json_t *run = json_array_get(runs, i);
    const char *started = field_text(run, "started"), *build = field_text(run, "build_id");
    char value[NUMBER_ROOM], label[TEXT];
    snprintf(label, sizeof label, "%s: %s%s%.12s, %.400s",
             history_value_text(value, sizeof value, median_of(runs, i)), started[0] != '\0' ? started : "?",
             build[0] != '\0' ? ", build " : "", build, field_text(run, "file"));
    plot_mark(plot, (double)(i + 1), median_of(runs, i), history_page_look_of(row, i), label);
}

static void put_plot(FILE *out, const json_t *row, const char *id, const char *name)
{
    const json_t *runs = field_of(row, "runs"), *changes = field_of(row, "changes"), *change;
    char plot_id[64], says[TEXT];
    double least = INFINITY, most = -INFINITY;
    size_t n = json_array_size(runs), i;
    for (i = 0; i < n; i++) {
        least = fmin(least, median_of(runs, i));
        most = fmax(most, median_of(runs, i));
    }
    double room = most > least ? (most - least) / 10 : 2;
    snprintf(plot_id, sizeof plot_id, "%.32s-plot", id);
    snprintf(says, sizeof says, "The median of each of %zu runs in the order of their time; %zu changes", n,
             json_array_size(changes));
    const struct plot plot = {.out = out,
                              .id = plot_id,
                              .title = name,
                              .says = says,
                              .x = {.from = 0.5, .to = (double)n + 0.5, .bare = true},
                              .y = {.from = fmax(0, least - room), .to = most + room}};
    plot_begin(&plot);
    for (i = 0; i + 1 < n; i++) {
        const double from[] = {(double)(i + 1), median_of(runs, i)},
                     to[] = {(double)(i + 2), median_of(runs, i + 1)};
        plot_line(&plot, from, to, PLOT_PLAIN, "");
    }
    for (i = 0; i < n; i++)
        put_run(&plot, row, runs, i);
    json_array_foreach(changes, i, change) {
        plot_rule_at_x(&plot, (double)field_count(change, "run") - 0.5, CHANGE(field_real(change, "change")));
    }
    plot_tick(&plot, 1, field_text(json_array_get(runs, 0), "started"));
    if (n > 1)
        plot_tick(&plot, (double)n, field_text(json_array_get(runs, n - 1), "started"));
    plot_end(&plot);
}

static void history_page_put_row(FILE *out, const json_t *row, size_t number)
{
    char id[32], region[NAME], name[TEXT];
    struct history_fact fact;
    history_region_text(row, region, sizeof region);
    snprintf(id, sizeof id, "row-%zu", number);
    snprintf(name, sizeof name, "%s, %.80s, %.120s", region, field_text(row, "column"),
             field_text(row, "core"));
    page_heading(out, id, name);
    if (json_array_size(field_of(row, "runs")) > 0)
        put_plot(out, row, id, name);
    for (size_t i = 0; history_take_fact(row, i, "to", &fact); i++)
        if (fact.text[0] != '\0')
            html_element(out, "p", NULL, fact.text);
    page_end_section(out);
}

/* ---- the page */

static bool put_overview(const struct rendering *to, const json_t *rows)
{
    struct document shown = document_new();
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        const json_t *runs = field_of(row, "runs"), *changes = field_of(row, "changes"),
                     *last = json_array_get(changes, json_array_size(changes) - 1);
        size_t n = json_array_size(runs);
        struct json_part one = json_part_new(NULL);
        char region[NAME], change[TEXT] = "";
        history_region_text(row, region, sizeof region);
        if (history_has_changed(row))
            history_change_text(last != NULL ? last : field_of(row, "trend"), "to", change, sizeof change);
        row_text(&one, "region", region);
        row_real(&one, "runs", (double)n);
        row_real(&one, "first", field_real(json_array_get(runs, 0), "median"));
        row_real(&one, "last", n > 0 ? median_of(runs, n - 1) : (double)NAN);
        row_text(&one, "column", field_text(row, "column"));
        row_text(&one, "core", field_text(row, "core"));
        row_text(&one, "change", change);
        document_add(&shown, one);
    }
    return render_table(to, &history_view, document_end(shown));
}

static bool history_page(const struct rendering *to, const struct document *document,
                         const struct page_command *command)
{
    const struct page page = {.to = to, .title = "History", .command = command, .document = document};
    json_t *rows = document_rows(document, "region", NULL);
    char changed[TEXT], skipped[TEXT];
    history_summary_texts(document_line(document, "summary"), changed, skipped, sizeof changed);
    page_begin(&page);
    html_element(to->out, "p", NULL, changed);
    if (skipped[0] != '\0')
        html_element(to->out, "p", NULL, skipped);
    bool ok = rows != NULL && (json_array_size(rows) == 0 || put_overview(to, rows));
    fputs("<p>", to->out);
    plot_key(to->out, PLOT_BAD, "the first run on a higher level");
    plot_key(to->out, PLOT_GOOD, "the first run on a lower level");
    fputs("</p>\n", to->out);
    for (size_t i = 0; i < json_array_size(rows); i++)
        history_page_put_row(to->out, json_array_get(rows, i), i + 1);
    json_decref(rows);
    return page_end(&page) && ok;
}
