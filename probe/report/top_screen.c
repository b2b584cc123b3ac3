/* SPDX-License-Identifier: MIT */
#include "report/top_screen.h"

#include "base/values.h"
#include "report/canvas.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"
#include "report/views.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORE_HEAD = 3 }; /* lines */
enum { WIDE = 80 };     /* columns: all keys have room with their words */

const char top_keys[] =
    "q               ends top, as Ctrl-C does\n" SCREEN_KEYS_HELD "up, down, k, j  move the mark\n"
    "s               next order: functions, lines, files, addresses\n"
    "enter           the lines of the marked function; esc: back\n"
    "d               delta: stops the core at calls of it, for 2 s at most\n"
    "l               lines: the same for each line of it; esc stops both\n"
    "a               its code, with the samples of the last seconds\n"
    "g               writes these seconds as a page, top.html\n" SCREEN_KEYS_END;

static struct json_part shown_share(const struct shares *shares, const struct share *row, bool is_selected)
{
    struct json_part shown = json_part_new(NULL);
    bool is_state = row->state != PROFILE_STATES, by_address = shares->sort == SHARES_ADDRESS,
         by_file = shares->sort == SHARES_FILE;
    const char *name = is_state ? shares_state_name(row->state) : by_file ? row->source : row->function;
    row_text(&shown, "mark", is_selected ? ">" : "");
    row_real(&shown, "share", row->part);
    row_real(&shown, "plus_minus", row->plus_minus);
    row_count(&shown, "samples", row->samples);
    if (by_address && !is_state)
        row_hex(&shown, "address", row->address);
    row_text(&shown, "name", name != NULL ? name : by_address ? "" : "[unknown]");
    row_text(&shown, "source", by_file ? "" : or_empty(row->source));
    return shown;
}

struct heading {
    char name[UTF8_CLEAN_ROOM(CANVAS_LINE)], rate[NUMBER_ROOM + 16], states[PROFILE_STATES][64];
    const char *facts[1 + PROFILE_STATES];
};

static void make_heading(const struct top_core *core, struct heading *out)
{
    const struct shares *shares = core->shares;
    double per_second = shares->seconds > 0 ? (double)shares->samples / shares->seconds : 0;
    terminal_text(out->name, sizeof out->name, core->name);
    snprintf(out->rate, sizeof out->rate, "%s samples/s", NUMBER((uint64_t)per_second));
    out->facts[0] = out->rate;
    for (int state = 0; state < PROFILE_STATES; state++) {
        out->states[state][0] = '\0';
        if (shares->samples > 0 &&
            (shares->states[state] > 0 || (state == PROFILE_ASLEEP && !core->by_halts)))
            shares_state_text((enum profile_state)state, shares->states[state], shares->samples,
                              out->states[state], sizeof out->states[state]);
        out->facts[1 + state] = out->states[state];
    }
}

/* Whether a core's name and its numbers take a line each. */
static bool top_screen_is_narrow(const struct canvas *canvas, const struct top_view *view)
{
    enum { BETWEEN = 3 };
    struct heading heading;
    for (size_t i = 0; i < view->n; i++) {
        make_heading(&view->cores[i], &heading);
        size_t width = utf8_width(heading.name);
        for (size_t k = 0; k < sizeof heading.facts / sizeof *heading.facts; k++)
            width += heading.facts[k][0] != '\0' ? BETWEEN + strlen(heading.facts[k]) : 0;
        if (width > canvas->columns)
            return true;
    }
    return false;
}

static void top_screen_put_core(struct canvas *canvas, const struct top_core *core, bool narrow)
{
    struct heading heading;
    const char *pieces[2 + PROFILE_STATES] = {heading.name};
    make_heading(core, &heading);
    canvas_cut(heading.name, canvas->columns);
    memcpy(pieces + 1, heading.facts, sizeof heading.facts);
    if (narrow)
        canvas_line(canvas, heading.name);
    canvas_pieces(canvas, narrow ? pieces + 1 : pieces, narrow ? 1 + PROFILE_STATES : 2 + PROFILE_STATES);
}

static void put_foot(struct canvas *canvas, const struct top_view *view)
{
    char seconds[NUMBER_ROOM];
    number_elapsed(seconds, sizeof seconds, view->seconds);
    const char *const now[] = {view->paused ? "PAUSED" : "", seconds};
    const char *const keys[] = {"q quit",
                                "space hold",
                                view->within ? "" : "s sort",
                                view->within ? "esc back" : "enter lines",
                                "d delta",
                                "l costs",
                                "a code",
                                "g page",
                                "? keys"};
    const char *const narrow[] = {"q quit",
                                  "space hold",
                                  view->within ? "" : "s sort",
                                  view->within ? "esc back" : "enter",
                                  "d",
                                  "l",
                                  "a",
                                  "g",
                                  "?"};
    char said[UTF8_CLEAN_ROOM(CANVAS_LINE)];
    canvas_cut((char *)terminal_text(said, sizeof said, view->said), canvas->columns);
    canvas_line(canvas, said);
    canvas_pieces(canvas, now, sizeof now / sizeof *now);
    canvas_pieces(canvas, canvas->columns < WIDE ? narrow : keys, sizeof keys / sizeof *keys);
}

/* Rows for each core, so that all fit between what is above and the foot. */
static size_t rows_of_each(const struct canvas *canvas, const struct top_view *view, bool narrow)
{
    size_t heads = view->n * (CORE_HEAD + narrow), last = canvas->lines - (canvas->lines > 0);
    size_t room = last > canvas->used + heads + CANVAS_FOOT ? last - canvas->used - heads - CANVAS_FOOT : 0;
    size_t each = view->n > 0 ? room / view->n : 0;
    return each > 0 ? each : 1;
}

struct top_pick top_screen_draw(struct screen *screen, const struct top_view *view, size_t *selected)
{
    struct canvas canvas;
    struct top_pick pick = {0};
    canvas_begin(&canvas, screen->out);
    canvas_text(&canvas, view->title);
    canvas_text(&canvas, view->note);
    bool narrow = top_screen_is_narrow(&canvas, view);
    size_t rows = rows_of_each(&canvas, view, narrow), shown = 0, at = 0;
    for (size_t i = 0; i < view->n; i++)
        shown += view->cores[i].shares->n < rows ? view->cores[i].shares->n : rows;
    *selected = *selected < shown ? *selected : shown > 0 ? shown - 1 : 0;
    struct document lines = document_new();
    for (size_t i = 0; i < view->n; i++)
        for (size_t k = 0; k < view->cores[i].shares->n && k < rows; k++, at++) {
            const struct share *row = &view->cores[i].shares->rows[k];
            document_add(&lines, shown_share(view->cores[i].shares, row, at == *selected));
            if (at == *selected)
                pick = (struct top_pick){.core = i, .row = row};
        }
    bool by_file = view->n > 0 && view->cores[0].shares->sort == SHARES_FILE;
    char *text = render_lines(by_file ? &top_file_view : &top_view, document_end(lines), canvas.columns),
         *rest = text;
    const char *heading = or_empty(strsep(&rest, "\n"));
    for (size_t i = 0; i < view->n; i++) {
        canvas_line(&canvas, "");
        top_screen_put_core(&canvas, &view->cores[i], narrow);
        canvas_line(&canvas, heading);
        for (size_t k = 0; k < view->cores[i].shares->n && k < rows; k++)
            canvas_line(&canvas, or_empty(strsep(&rest, "\n")));
    }
    free(text);
    put_foot(&canvas, view);
    screen_put(screen, &canvas);
    return pick;
}

/* ---- the screen of a run */

bool top_screen_begin(struct top_screen *self, const struct profile_about *about, const struct shares *shares,
                      bool by_halts)
{
    const char *elf = or_empty(about->elf);
    self->about = about;
    self->cores = calloc(about->core_count, sizeof *self->cores);
    for (size_t i = 0; self->cores != NULL && i < about->core_count; i++) {
        struct top_core *core = &self->cores[i];
        *core = (struct top_core){.name = core->text, .shares = &shares[i], .by_halts = by_halts};
        snprintf(core->text, sizeof core->text, "core %u %s, by %s%s", profile_core_number(about, i),
                 about->cores[i], about->source, about->by_block ? PROFILE_BY_BLOCK : "");
    }
    snprintf(self->title, sizeof self->title, "%s%s%s", or_empty(about->probe), elf[0] != '\0' ? "     " : "",
             name_of_file(elf));
    return self->cores != NULL;
}

void top_screen_free(struct top_screen *self)
{
    screen_page_end(&self->page);
    free(self->cores);
}

void top_screen_show(struct top_screen *self)
{
    char note[LOCATION_NAME + 64];
    if (self->page.text != NULL) {
        screen_draw_page(&self->screen, &self->page);
        return;
    }
    struct top_view view = {.title = self->title,
                            .note = note,
                            .said = self->said,
                            .cores = self->cores,
                            .n = self->about->core_count,
                            .within = self->within != NULL,
                            .paused = self->paused,
                            .seconds = self->seconds};
    snprintf(note, sizeof note, "%s",
             self->unnamed ? "No program was named, so shares are by address: --elf names it." : "");
    if (view.within) {
        snprintf(note, sizeof note, "lines of %s", self->within);
        view.cores = &self->cores[self->core];
        view.n = 1;
    }
    self->pick = top_screen_draw(&self->screen, &view, &self->selected);
    if (view.within)
        self->pick.core = self->core;
}

void top_screen_say(struct top_screen *self, const char *key, const char *text)
{
    snprintf(self->said, sizeof self->said, "%s: %.480s", key, text);
    top_screen_show(self);
}

void top_screen_open_page(struct top_screen *self, const char *what, const char *of, char *text)
{
    screen_page_end(&self->page);
    snprintf(self->page.title, sizeof self->page.title, "%s%s%.200s", what, of[0] != '\0' ? " of " : "", of);
    self->page.text = text;
    self->said[0] = '\0';
    top_screen_show(self);
}

bool top_screen_obey(struct top_screen *self, enum screen_key key)
{
    bool in_page = self->page.text != NULL;
    self->said[0] = '\0';
    if (in_page)
        screen_page_obey(&self->screen, &self->page, key);
    else if (key == SCREEN_HELP)
        screen_page_open(&self->page, "keys of top", top_keys);
    else if (key == SCREEN_DOWN)
        self->selected++;
    else if (key == SCREEN_UP)
        self->selected -= self->selected > 0;
    else if (key == SCREEN_BACK && self->within == NULL)
        snprintf(self->said, sizeof self->said, "esc: q quits, ? shows the keys");
    else if (key == SCREEN_OTHER_KEY || key == SCREEN_ZERO)
        snprintf(self->said, sizeof self->said, "?: shows the keys");
    else if (key != SCREEN_REDRAW)
        return false;
    top_screen_show(self);
    return true;
}

/* ---- lists */

static void top_list_put_text(const struct rendering *to, const struct profile_report *report, double seconds,
                              size_t most)
{
    char time[NUMBER_ROOM];
    fprintf(to->out, "\nafter %s\n", number_elapsed(time, sizeof time, seconds));
    for (size_t i = 0; i < report->n; i++) {
        if (i > 0)
            fputc('\n', to->out);
        profile_text_core(to, report, &report->shares[i], most);
    }
}

bool top_list_put(const struct rendering *to, const struct profile_report *report, double seconds)
{
    bool ok = true;
    if (to->format != FORMAT_JSON)
        top_list_put_text(to, report, seconds, TOP_LISTED);
    for (size_t i = 0; to->format == FORMAT_JSON && i < report->n && ok; i++)
        ok = profile_json_core(to->out, report, &report->shares[i], seconds);
    return ok && output_flush(to->out);
}

bool top_list_head(const struct rendering *to, const struct profile_about *about, const char *title)
{
    char clean[UTF8_CLEAN_ROOM(512)];
    if (to->format == FORMAT_JSON)
        return json_command_header(to->out, "top", about->probe);
    fold_text(to->out, terminal_columns(to->out), 2, terminal_text(clean, sizeof clean, title));
    return output_flush(to->out);
}

/* NULL: out of memory. */
static char *list_text(const struct rendering *to, const struct profile_report *report, double seconds,
                       size_t most)
{
    char *text = NULL;
    size_t size;
    struct rendering inner = *to;
    inner.out = open_memstream(&text, &size);
    if (inner.out == NULL)
        return NULL;
    top_list_put_text(&inner, report, seconds, most);
    if (fclose(inner.out) == 0)
        return text;
    free(text);
    return NULL;
}

bool top_list_last(const struct rendering *to, const struct profile_report *report, double seconds,
                   size_t lines)
{
    enum { AROUND = 3 }; /* lines: the title, the prompt */
    size_t most = TOP_LISTED;
    char *text = list_text(to, report, seconds, most);
    while (text != NULL && most > 1 && screen_count_lines(text) + AROUND > lines) {
        free(text);
        text = list_text(to, report, seconds, --most);
    }
    bool ok = text != NULL && fputs(text, to->out) >= 0;
    free(text);
    return ok && output_flush(to->out);
}

bool top_list_end(const struct rendering *to, uint64_t samples, double seconds)
{
    struct json_part line = json_part_new("summary");
    json_part_unsigned(&line, "samples", samples);
    json_part_real(&line, "seconds", seconds);
    return json_part_write(to->out, line);
}
