/* SPDX-License-Identifier: MIT */
#include "report/watch_screen.h"

#include "report/canvas.h"
#include "report/conditions.h"
#include "report/counts.h"
#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROOM = CANVAS_LINE, FEWEST = 5, LOST = 76 }; /* LOST: the width of its text, or more */
enum { NAME = 28, METRIC_GAP = 2 };                      /* widths */
const char watch_keys[] = "q               ends watch, as Ctrl-C does\n" SCREEN_KEYS_HELD
                          "z               totals begin at zero\n" SCREEN_KEYS_END;

/* ---- rows: the sums of all cores, event by event, then the cores */

struct row {
    char name[128];
    const json_t *column, *total;
};

/* The line of the totals that belongs to this one of the interval. */
static const json_t *totals_of(const struct document *totals, const json_t *line)
{
    size_t i;
    const json_t *total;
    if (line_is_of(line, "sample"))
        return document_line(totals, "summary");
    json_array_foreach(totals->lines, i, total)
        if (strcmp(field_text(total, "type"), field_text(line, "type")) == 0 &&
            field_count(total, "core") == field_count(line, "core"))
            return total;
    return NULL;
}

static size_t screen_add_rows(const struct screen_view *view, const json_t *line,
                              struct row rows[SCREEN_ROWS], size_t n)
{
    json_t *columns = json_object_get(line, "columns"), *column;
    const json_t *totals = field_of(totals_of(view->totals, line), "columns");
    const char *key, *type = field_text(line, "type");
    char core[32] = "";
    if (strcmp(type, "sample") != 0)
        snprintf(core, sizeof core, strcmp(type, "all") == 0 ? "all " : "%" PRIu64 " ",
                 field_count(line, "core"));
    json_object_foreach(columns, key, column) {
        if (n == SCREEN_ROWS)
            break;
        rows[n] = (struct row){.column = column, .total = json_object_get(totals, key)};
        snprintf(rows[n++].name, sizeof rows->name, "%s%.90s", core, key);
    }
    return n;
}

static const json_t *first_line(const struct screen_view *view)
{
    const json_t *sample = document_line(view->interval, "sample");
    return sample != NULL ? sample : document_line(view->interval, "all");
}

static size_t take_rows(const struct screen_view *view, struct row rows[SCREEN_ROWS])
{
    size_t n = screen_add_rows(view, first_line(view), rows, 0), i;
    const json_t *line;
    json_array_foreach(view->interval->lines, i, line)
        if (line_is_of(line, "core"))
            n = screen_add_rows(view, line, rows, n);
    return n;
}

/* Of any number of cores. */
static size_t screen_count_rows(const struct screen_view *view)
{
    size_t n = 0, i;
    const json_t *line;
    json_array_foreach(view->interval->lines, i, line)
        if (line == first_line(view) || line_is_of(line, "core"))
            n += json_object_size(field_of(line, "columns"));
    return n;
}

void screen_remember(struct screen_past pasts[SCREEN_ROWS], const struct screen_view *view, double seconds)
{
    struct row rows[SCREEN_ROWS];
    uint64_t second = seconds > 0 ? (uint64_t)seconds : 0;
    for (size_t i = 0, n = take_rows(view, rows); i < n; i++) {
        struct screen_past *past = &pasts[i];
        double rate = counts_missing(rows[i].column) != NULL ? NAN : counts_rate(rows[i].column);
        if (past->n > 0 && past->second == second) {
            past->rates[second % SCREEN_SECONDS] += (rate - past->rates[second % SCREEN_SECONDS]) / ++past->n;
            continue;
        }
        for (size_t k = 0; past->n == 0 && k < SCREEN_SECONDS; k++)
            past->rates[k] = NAN;
        uint64_t from = past->n == 0 ? second : past->second + 1;
        from = second - from < SCREEN_SECONDS ? from : second - (SCREEN_SECONDS - 1);
        for (uint64_t at = from; at <= second; at++)
            past->rates[at % SCREEN_SECONDS] = rate;
        past->second = second;
        past->n = 1;
    }
}

/* The last minute, up to now. */
static json_t *past_rates(const struct screen_past *past)
{
    json_t *rates = json_array();
    for (size_t i = 0; i < SCREEN_SECONDS; i++) {
        double rate = past->n > 0 ? past->rates[(past->second + 1 + i) % SCREEN_SECONDS] : (double)NAN;
        json_array_append_new(rates, isnan(rate) ? json_null() : json_real(rate));
    }
    return rates;
}

static struct json_part shown_row(const struct screen_view *view, const struct row *row,
                                  const struct screen_past *past)
{
    struct json_part shown = json_part_new(NULL);
    char text[LINE_ROOM];
    const char *missing = counts_missing(row->column), *why = field_text(row->column, "not_supported");
    bool is_cycles = strcmp(unit_of_counter(row->name), "cycles") == 0;
    double part = view->clock_hz > 0 && is_cycles ? counts_rate(row->column) / view->clock_hz : 0;
    row_text(&shown, "name", row->name);
    row_array(&shown, "rates", past_rates(past));
    if (missing != NULL) {
        snprintf(text, sizeof text, "%s%s%.96s", missing, why[0] != '\0' ? ": " : "", why);
        row_text(&shown, "reason", text);
        return shown;
    }
    bool at_least = counts_rate_mark(first_line(view), row->column)[0] != '\0';
    snprintf(text, sizeof text, "%s%s%s/s", at_least ? ">" : "", conditions_mark(row->column),
             counts_rate_text(NUMBER_TEXT, row->column));
    row_text(&shown, "rate", text);
    snprintf(text, sizeof text, "%s%.1f %%", at_least ? ">" : "", 100 * part);
    row_text(&shown, "percent", part > 0 && part < 10 ? text : "");
    snprintf(text, sizeof text, "%s%s%s", field_is(row->total, "at_least") ? ">=" : "",
             conditions_mark(row->column), NUMBER(field_count(row->total, "count")));
    row_text(&shown, "total", text);
    return shown;
}

static uint64_t lost_of(const struct screen_view *view)
{
    return field_count(document_line(view->totals, "summary"), "lost");
}

static void draw_foot(struct canvas *canvas, const struct screen_view *view)
{
    char seconds[NUMBER_ROOM], samples[NUMBER_ROOM + 16], lost[LINE_ROOM], clock[NUMBER_ROOM + 8] = "";
    uint64_t n = lost_of(view);
    snprintf(seconds, sizeof seconds, "%.40s s",
             DECIMAL(field_real(totals_of(view->totals, first_line(view)), "seconds"), 1));
    snprintf(samples, sizeof samples, "%s samples/s", DECIMAL(view->samples_per_second, 0));
    if (view->clock_hz > 0)
        snprintf(clock, sizeof clock, "%%: of %s", FREQUENCY(view->clock_hz));
    const char *const now[] = {view->paused ? "PAUSED" : "", seconds, samples, clock};
    canvas_line(canvas, or_empty(view->said));
    canvas_pieces(canvas, now, sizeof now / sizeof *now);
    if (n > 0) {
        snprintf(lost, sizeof lost, "> and >=: at least; %s read%s too late, a counter may have wrapped",
                 NUMBER(n), n == 1 ? " was" : "s were");
        canvas_text(canvas, lost);
    }
    static const char *const keys[] = {"q quit", "space pause", "z zero", "? keys"};
    canvas_pieces(canvas, keys, sizeof keys / sizeof *keys);
}

static void draw_metric(struct canvas *canvas, const json_t *line_of, const char *key)
{
    char value[COUNTS_METRIC], name[UTF8_CLEAN_ROOM(96)], unit[UTF8_CLEAN_ROOM(16)], line[LINE_ROOM];
    counts_metric(value, line_of, key);
    terminal_text(name, sizeof name, key);
    terminal_text(unit, sizeof unit, text_in(line_of, "metric_units", key));
    size_t width = strlen(value) + utf8_width(unit) + METRIC_GAP + 1;
    if (canvas->columns <= width)
        return;
    canvas_cut(name, canvas->columns - width < NAME ? canvas->columns - width : NAME);
    size_t gap = canvas->columns < NAME + width ? METRIC_GAP : NAME + METRIC_GAP - utf8_width(name);
    snprintf(line, sizeof line, "%s%*s%s %s", name, (int)gap, "", value, unit);
    canvas_line(canvas, line);
}

/* Rows, then metrics; what has no line is counted. */
static void draw_rows(struct canvas *canvas, const struct screen_view *view, const struct screen_past *past,
                      size_t room)
{
    struct row rows[SCREEN_ROWS];
    struct document lines = document_new();
    const char *key;
    json_t *metrics = json_object_get(first_line(view), "metrics"), *metric;
    size_t n = take_rows(view, rows), here = n + json_object_size(metrics),
           all = screen_count_rows(view) + json_object_size(metrics), shown = here < room ? here : room,
           at = 0;
    if (shown < all && shown == room && room > 0)
        shown--; /* the line that says so */
    for (size_t i = 0; i < n; i++)
        document_add(&lines, shown_row(view, &rows[i], &past[i]));
    char *text = render_lines(&watch_view, document_end(lines), canvas->columns), *rest = text;
    (void)strsep(&rest, "\n"); /* no heading */
    for (; at < n && at < shown; at++)
        canvas_line(canvas, or_empty(strsep(&rest, "\n")));
    free(text);
    json_object_foreach(metrics, key, metric)
        if (at++ < shown)
            draw_metric(canvas, first_line(view), key);
    canvas_more(canvas, all - shown);
}

static void draw_errata(struct canvas *canvas, const json_t *line)
{
    struct json_part list = json_list_new();
    const json_t *one;
    size_t i;
    conditions_add_errata(&list, line);
    json_array_foreach(list.json, i, one)
        canvas_text(canvas, text_or_empty(one));
    json_decref(list.json);
}

void screen_draw(const struct screen *screen, const struct screen_view *view,
                 const struct screen_past past[SCREEN_ROWS])
{
    struct canvas canvas;
    canvas_begin(&canvas, screen->out);
    canvas_text(&canvas, view->title);
    canvas_text(&canvas, view->note);
    draw_errata(&canvas, first_line(view));
    canvas_line(&canvas, "");
    /* The foot stays */
    size_t foot =
        lost_of(view) > 0 ? CANVAS_FOOT + 1 + LOST / (canvas.columns > 0 ? canvas.columns : 1) : CANVAS_FOOT;
    size_t room = canvas.lines > foot + FEWEST ? canvas.lines - foot : canvas.lines;
    draw_rows(&canvas, view, past, room > canvas.used + 1 ? room - canvas.used - 1 : 0);
    draw_foot(&canvas, view);
    screen_put(screen, &canvas);
}

/* ---- the screen of a run */

void watch_screen_show(struct watch_screen *self)
{
    if (self->page.text != NULL)
        screen_draw_page(&self->screen, &self->page);
    else
        screen_draw(&self->screen, &self->view, self->past);
}

void watch_screen_take(struct watch_screen *self, struct document interval, struct document totals)
{
    document_free(&self->interval);
    document_free(&self->totals);
    self->interval = interval;
    self->totals = totals;
    self->view.interval = &self->interval;
    self->view.totals = &self->totals;
}

bool watch_screen_obey(struct watch_screen *self, enum screen_key key)
{
    if (key == SCREEN_NO_KEY)
        return false;
    self->view.said = NULL;
    if (self->page.text != NULL)
        screen_page_obey(&self->screen, &self->page, key);
    else if (key == SCREEN_PAUSE)
        self->view.paused = !self->view.paused;
    else if (key == SCREEN_ZERO)
        return true;
    else if (key == SCREEN_HELP)
        screen_page_open(&self->page, "keys of watch", watch_keys);
    else if (key != SCREEN_REDRAW && key != SCREEN_QUIT)
        self->view.said = "? shows the keys";
    watch_screen_show(self);
    return false;
}

void watch_screen_free(struct watch_screen *self)
{
    screen_page_end(&self->page);
    document_free(&self->interval);
    document_free(&self->totals);
}
