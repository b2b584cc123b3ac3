#include "report/screen.h"

#include "report/number.h"
#include "report/utf8.h"

#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    CANVAS = 65536,
    NAME = 28,
    RATE = 16,
    TOTAL = 24,
    LEAST_BAR = 8,
    MOST_BAR = 100,
    LINE_ROOM = 512,
    FOOT = 3,
    FEWEST = 5
};

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";
static const char home[] = "\033[H", end_of_line[] = "\033[K\r\n", rest_of_screen[] = "\033[J";

/* All of a picture goes out in one write: no flicker. */
struct canvas {
    char text[CANVAS];
    size_t n;
    size_t columns, lines, used;
};

static void put(struct canvas *canvas, const char *text)
{
    size_t length = strlen(text);
    if (canvas->n + length > CANVAS)
        return;
    memcpy(canvas->text + canvas->n, text, length);
    canvas->n += length;
}

/* Cut to the terminal's width; lines that it has no room for are left out. */
__attribute__((format(printf, 2, 3))) static void put_line(struct canvas *canvas, const char *format, ...)
{
    char line[LINE_ROOM], clean[UTF8_CLEAN_ROOM(LINE_ROOM)];
    va_list list;
    if (canvas->used + 1 >= canvas->lines)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    utf8_clean(clean, sizeof clean, line);
    char *end = clean + strlen(clean);
    for (size_t width = utf8_width(clean); width > canvas->columns && end > clean; width--) {
        do
            end--;
        while (end > clean && ((unsigned char)*end & 0xC0) == 0x80);
        *end = '\0';
    }
    put(canvas, clean);
    put(canvas, end_of_line);
    canvas->used++;
}

static void write_all(int to, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(to, text, n);
        if (done <= 0)
            return; /* a terminal that went away: whoever reads keys will notice */
        text += done;
        n -= (size_t)done;
    }
}

bool screen_open(struct screen *screen, int in, int out)
{
    *screen = (struct screen){.in = in, .out = out};
    if (!isatty(in) || !isatty(out) || tcgetattr(in, &screen->before) != 0)
        return false;
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C is what it always is */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(in, TCSANOW, &raw) != 0)
        return false;
    write_all(out, enter, strlen(enter));
    screen->open = true;
    return true;
}

void screen_close(struct screen *screen)
{
    if (!screen->open)
        return;
    write_all(screen->out, leave, strlen(leave));
    tcsetattr(screen->in, TCSANOW, &screen->before);
    screen->open = false;
}

/* In eighths of a character. */
static void make_bar(char *out, size_t size, double part, size_t width)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t used = 0;
    double filled = part > 1 ? 1 : part > 0 ? part : 0;
    size_t all = (size_t)(filled * (double)width * 8 + 0.5);
    out[0] = '\0';
    for (size_t i = 0; i < all / 8 && used + 4 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "█");
    if (used + 4 < size)
        snprintf(out + used, size - used, "%s", eighths[all % 8]);
}

static void draw_row(struct screen *screen, struct canvas *canvas, const struct screen_row *row, size_t i)
{
    char rate[NUMBER_ROOM + 2], total[NUMBER_ROOM], bar[3 * MOST_BAR + 4], name[UTF8_CLEAN_ROOM(64)];
    size_t fixed = NAME + RATE + TOTAL + 8;
    size_t width = canvas->columns > fixed + LEAST_BAR ? canvas->columns - fixed : 0;
    if (width > MOST_BAR)
        width = MOST_BAR;
    utf8_clean(name, sizeof name, row->name);
    if (row->missing) {
        put_line(canvas, "%-*.*s %*s", NAME, NAME, name, RATE, "<not counted>");
        return;
    }
    if (row->rate > screen->highest[i])
        screen->highest[i] = row->rate;
    make_bar(bar, sizeof bar, screen->highest[i] > 0 ? row->rate / screen->highest[i] : 0, width);
    number_unsigned(rate, NUMBER_ROOM, row->rate < 1e18 ? (uint64_t)(row->rate + 0.5) : UINT64_MAX);
    number_unsigned(total, sizeof total, row->total);
    int pad = (int)(width > utf8_width(bar) ? width - utf8_width(bar) : 0);
    put_line(canvas, "%-*.*s %s%*s/s  %s%*s  %s%*s", NAME, NAME, name, row->rate_at_least ? ">" : " ",
             RATE - 1, rate, bar, pad, "", row->total_at_least ? ">=" : "  ", TOTAL - 2, total);
}

static void draw_metric(struct canvas *canvas, const struct metric_result *metric)
{
    char value[NUMBER_ROOM] = "<not counted>", name[UTF8_CLEAN_ROOM(sizeof metric->name)];
    if (isfinite(metric->value))
        snprintf(value, sizeof value, "%.6g", metric->value);
    utf8_clean(name, sizeof name, metric->name);
    put_line(canvas, "%-*.*s %*s %s", NAME, NAME, name, RATE, value, metric->unit);
}

void screen_draw(struct screen *screen, const struct screen_view *view)
{
    struct winsize window = {0};
    struct canvas canvas = {.columns = 80, .lines = 24};
    if (ioctl(screen->out, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
        canvas.columns = window.ws_col;
        canvas.lines = window.ws_row;
    }
    put(&canvas, home);
    put_line(&canvas, "%s", view->title);
    if (view->note[0] != '\0')
        put_line(&canvas, "%s", view->note);
    put_line(&canvas, "%s", "");
    /* What does not fit is left out, but not what stands below */
    size_t room = canvas.lines > FOOT + FEWEST ? canvas.lines - FOOT : canvas.lines;
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS && canvas.used + 1 < room; i++)
        draw_row(screen, &canvas, &view->rows[i], i);
    for (size_t i = 0; i < view->n_metrics && canvas.used + 1 < room; i++)
        draw_metric(&canvas, &view->metrics[i]);
    char lost[NUMBER_ROOM];
    put_line(&canvas, "%s", "");
    put_line(&canvas, "%.1f s   %.0f samples/s   %s lost%s", view->seconds, view->samples_per_second,
             number_unsigned(lost, sizeof lost, view->lost), view->paused ? "   PAUSED" : "");
    put_line(&canvas, "space pause   z zero   q quit");
    put(&canvas, rest_of_screen);
    write_all(screen->out, canvas.text, canvas.n);
}

enum screen_key screen_wait_key(struct screen *screen, int ms)
{
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char key;
    if (poll(&poll_in, 1, ms) <= 0)
        return SCREEN_NO_KEY;
    ssize_t n = read(screen->in, &key, 1);
    if (n <= 0) /* the terminal is gone */
        return (poll_in.revents & (POLLHUP | POLLERR)) != 0 ? SCREEN_QUIT : SCREEN_NO_KEY;
    switch (key) {
    case ' ':
    case 'p':
        return SCREEN_PAUSE;
    case 'z':
        return SCREEN_ZERO;
    case 'q':
        return SCREEN_QUIT;
    default:
        return SCREEN_NO_KEY;
    }
}
