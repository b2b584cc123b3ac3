/* SPDX-License-Identifier: MIT */
#include "report/canvas.h"

#include "base/deadline.h"
#include "base/values.h"
#include "report/number.h"
#include "report/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DELAY_US = 1000000, INTERVAL_US = 100000, STUCK_US = 1000000, LINE = 256 };

void progress_begin(struct progress *progress, FILE *to)
{
    *progress = (struct progress){.next_us = deadline_host_us() + DELAY_US};
    if (isatty(fileno(to)))
        progress->to = to;
}

static void progress_put(struct progress *progress, const char *format, va_list list)
{
    char text[LINE], line[UTF8_CLEAN_ROOM(LINE)];
    vsnprintf(text, sizeof(text), format, list);
    if (progress->say != NULL) {
        progress->say(progress->context, text);
        return;
    }
    terminal_text(line, sizeof(line), text);
    /* A wrapped line could not be erased. The last column stays free, because some terminals wrap there */
    utf8_cut(line, terminal_columns(progress->to) - 1);

    size_t width = utf8_width(line);
    int rest = width < progress->width ? (int)(progress->width - width) : 0;
    /* Blanks, no escape sequence: TERM=dumb knows none */
    fprintf(progress->to, "\r%s%*s", line, rest, "");
    for (int i = 0; i < rest; i++)
        fputc('\b', progress->to);
    fflush(progress->to);
    progress->width = width;
}

static bool progress_is_seen(const struct progress *progress)
{
    return progress->to != NULL || progress->say != NULL;
}

static bool is_time(struct progress *progress, int64_t now)
{
    if (!progress_is_seen(progress) || now < progress->next_us)
        return false;
    progress->next_us = now + INTERVAL_US;
    return true;
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (!is_time(progress, progress_is_seen(progress) ? deadline_host_us() : 0))
        return;
    va_list list;
    va_start(list, format);
    progress_put(progress, format, list);
    va_end(list);
}

void progress_now(struct progress *progress, const char *format, ...)
{
    if (!progress_is_seen(progress))
        return;
    va_list list;
    va_start(list, format);
    progress_put(progress, format, list);
    va_end(list);
}

void progress_count(struct progress *progress, uint64_t done, uint64_t of, const char *what,
                    const char *state)
{
    char all[NUMBER_ROOM + 4] = "", left[NUMBER_ROOM + 16] = "", time[NUMBER_ROOM];
    if (!progress_is_seen(progress))
        return;
    int64_t now = deadline_host_us();
    if (progress->first_us == 0 && done > 0) {
        progress->first = done;
        progress->first_us = now;
    }
    if (done != progress->last || progress->last_us == 0) {
        progress->last = done;
        progress->last_us = now;
    }
    if (!is_time(progress, now))
        return;
    bool is_stuck = done == 0 || now - progress->last_us > STUCK_US;
    if (of > 0)
        snprintf(all, sizeof all, " of %s", NUMBER(of));
    if (of > done && done > progress->first && !is_stuck) {
        double each = (double)(now - progress->first_us) / 1e6 / (double)(done - progress->first);
        double seconds = fmax(1, round(each * (double)(of - done)));
        snprintf(left, sizeof left, ", %s left",
                 seconds < 10 ? (snprintf(time, sizeof time, "%.0f s", seconds), time) : ELAPSED(seconds));
    }
    progress->next_us = now; /* show the line below now */
    progress_show(progress, "%s%s %s%s%s%s", NUMBER(done), all, what, left,
                  is_stuck && state[0] != '\0' ? ", " : "", is_stuck ? state : "");
}

void progress_clear(struct progress *progress)
{
    if (progress->to == NULL || progress->width == 0)
        return;
    fprintf(progress->to, "\r%*s\r", (int)progress->width, "");
    fflush(progress->to);
    progress->width = 0;
}

/* ---- canvas */

static const char home[] = "\033[H", end_of_line[] = "\033[K\r\n", rest_of_screen[] = "\033[J";

static void canvas_put(struct canvas *canvas, const char *text)
{
    size_t length = strlen(text);
    if (canvas->n + length > CANVAS_ROOM)
        return;
    memcpy(canvas->text + canvas->n, text, length);
    canvas->n += length;
}

static struct winsize size_of(int terminal)
{
    struct winsize window = {0};
    if (ioctl(terminal, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0)
        window = (struct winsize){.ws_col = TERMINAL_COLUMNS, .ws_row = 24};
    return window;
}

size_t canvas_columns(int terminal)
{
    return size_of(terminal).ws_col;
}

size_t canvas_lines(int terminal)
{
    return size_of(terminal).ws_row;
}

void canvas_begin(struct canvas *canvas, int terminal)
{
    canvas->n = canvas->used = 0;
    canvas->columns = canvas_columns(terminal);
    canvas->lines = canvas_lines(terminal);
    canvas_put(canvas, home);
}

void canvas_write(int terminal, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(terminal, text, n);
        if (done <= 0)
            return; /* the terminal is gone: the next read of a key notices */
        text += done;
        n -= (size_t)done;
    }
}

void canvas_end(struct canvas *canvas, int terminal)
{
    canvas_put(canvas, rest_of_screen);
    canvas_write(terminal, canvas->text, canvas->n);
}

void canvas_line(struct canvas *canvas, const char *line)
{
    if (canvas->used + 1 >= canvas->lines)
        return;
    canvas_put(canvas, line);
    canvas_put(canvas, end_of_line);
    canvas->used++;
}

void canvas_cut(char *text, size_t width)
{
    if (utf8_width(text) <= width)
        return;
    utf8_cut(text, width > 0 ? width - 1 : 0);
    strcat(text, width > 0 ? "~" : "");
}

/* Up to the next wide gap. */
static size_t phrase_width(const char *text)
{
    const char *end = strstr(text, "   ");
    size_t width = 0, length = end != NULL ? (size_t)(end - text) : strlen(text);
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

void canvas_text(struct canvas *canvas, const char *text)
{
    char clean[UTF8_CLEAN_ROOM(CANVAS_LINE)], line[UTF8_CLEAN_ROOM(CANVAS_LINE)] = "", word[CANVAS_LINE];
    terminal_text(clean, sizeof clean, text);
    size_t used = 0;
    for (const char *at = clean; *at != '\0';) {
        size_t gap = strspn(at, " "), length = strcspn(at + gap, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at + gap);
        canvas_cut(word, canvas->columns);
        size_t phrase = gap >= 3 ? phrase_width(at + gap) : 0;
        size_t needs = phrase > 0 && phrase <= canvas->columns ? phrase : utf8_width(word);
        if (used > 0 && used + gap + needs > canvas->columns) {
            canvas_line(canvas, line);
            used = 0;
        }
        if (used == 0)
            line[0] = '\0';
        text_add(line, sizeof line, "%*s%s", used > 0 ? (int)gap : 0, "", word);
        used = utf8_width(line);
        at += gap + length;
    }
    if (used > 0)
        canvas_line(canvas, line);
}

void canvas_pieces(struct canvas *canvas, const char *const *pieces, size_t n)
{
    char line[CANVAS_LINE] = "";
    for (size_t i = 0; i < n; i++) {
        size_t gap = line[0] != '\0' ? 3 : 0;
        if (utf8_width(line) + gap + utf8_width(pieces[i]) <= canvas->columns)
            text_join(line, sizeof line, "   ", pieces[i]);
    }
    canvas_line(canvas, line);
}

void canvas_bar(char *out, size_t size, double part, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double filled = part > 1 ? 1 : part > 0 ? part : 0;
    size_t all = (size_t)(filled * (double)width * 8 + 0.5);
    out[0] = '\0';
    for (size_t i = 0; i < all / 8; i++)
        text_add(out, size, "%s", terminal_or("█", "#"));
    text_add(out, size, "%s", terminal_or(eighths[all % 8], all % 8 >= 4 ? "#" : ""));
}

/* The mean of rates [from, to); NaN: none is known. */
static double canvas_mean(const json_t *rates, size_t from, size_t to)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        const json_t *rate = json_array_get(rates, i);
        sum += json_number_value(rate);
        n += json_is_number(rate);
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

void canvas_spark(char *out, size_t size, const json_t *rates, size_t width)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
    size_t n = json_array_size(rates);
    double highest = 0;
    for (size_t i = 0; i < width; i++)
        highest = fmax(highest, canvas_mean(rates, i * n / width, (i + 1) * n / width));
    out[0] = '\0';
    for (size_t i = 0; i < width; i++) {
        double mean = canvas_mean(rates, i * n / width, (i + 1) * n / width);
        double part = highest > 0 ? mean / highest : 0;
        size_t at = part > 0 ? (size_t)(fmin(part, 1) * 7 + 0.5) : 0;
        text_add(out, size, "%s", isnan(mean) ? " " : terminal_or(heights[at], plain[at]));
    }
}

void canvas_more(struct canvas *canvas, size_t rows)
{
    char text[NUMBER_ROOM + 32];
    if (rows == 0)
        return;
    snprintf(text, sizeof text, "%s more: a larger terminal", NUMBER(rows));
    canvas_cut(text, canvas->columns);
    canvas_line(canvas, text);
}
