#include "report/canvas.h"

#include "report/terminal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
    size_t all = utf8_width(text);
    if (all <= width)
        return;
    char *end = text + strlen(text);
    for (size_t left = width > 0 ? width - 1 : 0; all > left; all--)
        do
            end--;
        while (end > text && ((unsigned char)*end & 0xC0) == 0x80);
    memcpy(end, width > 0 ? "~" : "", width > 0 ? 2 : 1);
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
        size_t bytes = strlen(line);
        snprintf(line + bytes, sizeof line - bytes, "%*s%s", used > 0 ? (int)gap : 0, "", word);
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
        size_t used = strlen(line), gap = used > 0 ? 3 : 0;
        bool fits = utf8_width(line) + gap + utf8_width(pieces[i]) <= canvas->columns;
        if (pieces[i][0] != '\0' && fits)
            snprintf(line + used, sizeof line - used, "%*s%s", (int)gap, "", pieces[i]);
    }
    canvas_line(canvas, line);
}

void canvas_bar(char *out, size_t size, double part, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t used = 0;
    double filled = part > 1 ? 1 : part > 0 ? part : 0;
    size_t all = (size_t)(filled * (double)width * 8 + 0.5);
    out[0] = '\0';
    for (size_t i = 0; i < all / 8 && used + 4 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s", terminal_or("█", "#"));
    if (used + 4 < size)
        snprintf(out + used, size - used, "%s", terminal_or(eighths[all % 8], all % 8 >= 4 ? "#" : ""));
}

void canvas_spark(char *out, size_t size, const double *values, size_t n, double highest)
{
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && used + 4 <= size; i++) {
        double part = highest > 0 ? values[i] / highest : 0;
        size_t at = part > 0 ? (size_t)(fmin(part, 1) * 7 + 0.5) : 0;
        used += (size_t)snprintf(out + used, size - used, "%s",
                                 isnan(values[i]) ? " " : terminal_or(heights[at], plain[at]));
    }
}
