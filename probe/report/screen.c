#include "report/screen.h"

#include "report/canvas.h"
#include "report/number.h"
#include "report/terminal.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_ROOM = CANVAS_LINE, FOOT = 3, FEWEST = 5 };
enum {
    NAME = 28,
    LEAST_NAME = 6,
    RATE = 18,
    TOTAL = 25,
    GAP = 2,
    LEAST_BAR = 8,
    MOST_BAR = 100
}; /* widths */
enum { INDENT = 2, ESCAPE_MS = 20 };

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";

bool screen_open(struct screen *screen, int in, int out)
{
    *screen = (struct screen){.in = in, .out = out};
    if (terminal_is_dumb() || !isatty(in) || !isatty(out) || tcgetattr(in, &screen->before) != 0)
        return false;
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* ISIG stays: Ctrl-C still interrupts */
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(in, TCSANOW, &raw) != 0)
        return false;
    canvas_write(out, enter, strlen(enter));
    screen->open = true;
    return true;
}

void screen_close(struct screen *screen)
{
    if (!screen->open)
        return;
    canvas_write(screen->out, leave, strlen(leave));
    tcsetattr(screen->in, TCSANOW, &screen->before);
    screen->open = false;
}

struct texts {
    char name[UTF8_CLEAN_ROOM(64)], rate[NUMBER_ROOM + 4], total[NUMBER_ROOM + 4];
};

static void make_texts(const struct screen_row *row, struct texts *out)
{
    char number[NUMBER_ROOM];
    terminal_text(out->name, sizeof out->name, row->name);
    out->rate[0] = out->total[0] = '\0';
    if (row->missing)
        return;
    number_unsigned(number, sizeof number, row->rate < 1e18 ? (uint64_t)(row->rate + 0.5) : UINT64_MAX);
    snprintf(out->rate, sizeof out->rate, "%s%s/s", row->rate_at_least ? ">" : "", number);
    number_unsigned(number, sizeof number, row->total);
    snprintf(out->total, sizeof out->total, "%s%s", row->total_at_least ? ">=" : "", number);
}

/* Widths; 0: no room. */
struct layout {
    size_t name, rate, bar, total;
};

/* On narrow terminals the bars go first, then blanks, the ends of names, the totals, and last the rates. */
static struct layout lay_out(const struct screen_view *view, size_t columns)
{
    struct layout layout = {.name = NAME, .rate = RATE, .total = TOTAL};
    size_t name = 0, rate = 0, total = 0;
    struct texts texts;
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS; i++) {
        make_texts(&view->rows[i], &texts);
        name = utf8_width(texts.name) > name ? utf8_width(texts.name) : name;
        rate = strlen(texts.rate) > rate ? strlen(texts.rate) : rate;
        total = strlen(texts.total) > total ? strlen(texts.total) : total;
    }
    layout.rate = rate > RATE ? rate : RATE;
    layout.total = total > TOTAL ? total : TOTAL;
    size_t fixed = NAME + GAP + layout.rate + GAP + layout.total;
    if (columns > fixed + LEAST_BAR + GAP) {
        layout.bar = columns - fixed - GAP < MOST_BAR ? columns - fixed - GAP : MOST_BAR;
        return layout;
    }
    if (columns >= fixed)
        return layout;
    size_t widest = name < NAME ? name : NAME;
    if (columns >= LEAST_NAME + GAP + rate + GAP + total) {
        size_t left = columns - GAP - GAP - rate - total;
        return (struct layout){.name = left < widest ? left : widest, .rate = rate, .total = total};
    }
    if (columns >= LEAST_NAME + GAP + rate) {
        size_t left = columns - GAP - rate;
        return (struct layout){.name = left < widest ? left : widest, .rate = rate};
    }
    return (struct layout){.name = columns};
}

static void draw_row(struct screen *screen, struct canvas *canvas, const struct layout *layout, size_t i,
                     const struct screen_row *row)
{
    char bar[3 * MOST_BAR + 4], line[LINE_ROOM];
    struct texts texts;
    make_texts(row, &texts);
    canvas_cut(texts.name, layout->name);
    int pad = (int)(layout->name - utf8_width(texts.name));
    size_t used = (size_t)snprintf(line, sizeof line, "%s", texts.name);
    if (row->missing) {
        static const char words[] = "<not counted>";
        bool fits = layout->name + GAP + sizeof words - 1 <= canvas->columns;
        bool has_why = row->why != NULL && row->why[0] != '\0' &&
                       layout->name + GAP + sizeof words + 1 + strlen(row->why) <= canvas->columns;
        if (fits)
            snprintf(line + used, sizeof line - used, "%*s%s%s%.256s", pad + GAP, "", words,
                     has_why ? ": " : "", has_why ? row->why : "");
        canvas_line(canvas, line);
        return;
    }
    if (row->rate > screen->highest[i])
        screen->highest[i] = row->rate;
    canvas_bar(bar, sizeof bar, screen->highest[i] > 0 ? row->rate / screen->highest[i] : 0, layout->bar);
    if (layout->rate > 0)
        used += (size_t)snprintf(line + used, sizeof line - used, "%*s%*s", pad + GAP, "", (int)layout->rate,
                                 texts.rate);
    if (layout->bar > 0)
        used += (size_t)snprintf(line + used, sizeof line - used, "%*s%s%*s", GAP, "", bar,
                                 (int)(layout->bar - utf8_width(bar)), "");
    if (layout->total > 0)
        snprintf(line + used, sizeof line - used, "%*s%*s", GAP, "", (int)layout->total, texts.total);
    canvas_line(canvas, line);
}

static void draw_foot(struct canvas *canvas, const struct screen_view *view)
{
    char seconds[NUMBER_ROOM], samples[NUMBER_ROOM + 16], number[NUMBER_ROOM], lost[LINE_ROOM];
    number_decimal(number, sizeof number, view->seconds, 1);
    snprintf(seconds, sizeof seconds, "%.40s s", number);
    number_decimal(number, sizeof number, view->samples_per_second, 0);
    snprintf(samples, sizeof samples, "%s samples/s", number);
    const char *const now[] = {view->paused ? "PAUSED" : "", seconds, samples};
    canvas_line(canvas, "");
    canvas_pieces(canvas, now, sizeof now / sizeof *now);
    if (view->lost > 0) {
        snprintf(lost, sizeof lost, "> and >=: at least; %s reads came too late, a counter may have wrapped",
                 number_unsigned(number, sizeof number, view->lost));
        canvas_text(canvas, lost);
    }
    static const char *const keys[] = {"q quit", "space pause", "z zero"};
    canvas_pieces(canvas, keys, sizeof keys / sizeof *keys);
}

static void draw_metric(struct canvas *canvas, const struct metric_result *metric)
{
    char value[NUMBER_ROOM] = "<not counted>", name[UTF8_CLEAN_ROOM(sizeof metric->name)];
    char line[LINE_ROOM];
    if (isfinite(metric->value))
        snprintf(value, sizeof value, "%.6g", metric->value);
    terminal_text(name, sizeof name, metric->name);
    size_t width = strlen(value) + strlen(metric->unit) + GAP + 1;
    if (canvas->columns <= width)
        return;
    canvas_cut(name, canvas->columns - width < NAME ? canvas->columns - width : NAME);
    snprintf(line, sizeof line, "%s%*s%s %s", name, (int)(NAME + GAP - utf8_width(name)), "", value,
             metric->unit);
    if (canvas->columns < NAME + width)
        snprintf(line, sizeof line, "%s%*s%s %s", name, GAP, "", value, metric->unit);
    canvas_line(canvas, line);
}

void screen_draw(struct screen *screen, const struct screen_view *view)
{
    struct canvas canvas;
    canvas_begin(&canvas, screen->out);
    canvas_text(&canvas, view->title);
    canvas_text(&canvas, view->note);
    canvas_line(&canvas, "");
    const struct layout layout = lay_out(view, canvas.columns);
    /* Rows that do not fit are left out; the foot stays */
    size_t foot = view->lost > 0 ? FOOT + 1 : FOOT;
    size_t room = canvas.lines > foot + FEWEST ? canvas.lines - foot : canvas.lines;
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS && canvas.used + 1 < room; i++)
        draw_row(screen, &canvas, &layout, i, &view->rows[i]);
    for (size_t i = 0; i < view->n_metrics && canvas.used + 1 < room; i++)
        draw_metric(&canvas, &view->metrics[i]);
    draw_foot(&canvas, view);
    canvas_end(&canvas, screen->out);
}

/* The byte that comes within this time; 0: none. */
static int next_byte(struct screen *screen, int ms)
{
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char byte;
    return poll(&poll_in, 1, ms) > 0 && read(screen->in, &byte, 1) == 1 ? byte : 0;
}

/* An arrow is an escape, "[" or "O", and a letter; Esc is an escape alone. */
static enum screen_key escaped_key(struct screen *screen)
{
    int mode = next_byte(screen, ESCAPE_MS);
    if (mode == 0)
        return SCREEN_BACK;
    int letter = mode == '[' || mode == 'O' ? next_byte(screen, ESCAPE_MS) : 0;
    return letter == 'A' ? SCREEN_UP : letter == 'B' ? SCREEN_DOWN : SCREEN_NO_KEY;
}

enum screen_key screen_wait_key(struct screen *screen, int ms)
{
    static const struct {
        char typed;
        enum screen_key key;
    } keys[] = {{' ', SCREEN_PAUSE},  {'p', SCREEN_PAUSE}, {'z', SCREEN_ZERO},  {'q', SCREEN_QUIT},
                {'s', SCREEN_SORT},   {'k', SCREEN_UP},    {'j', SCREEN_DOWN},  {'\r', SCREEN_ENTER},
                {'\n', SCREEN_ENTER}, {'d', SCREEN_DELTA}, {'l', SCREEN_COSTS}, {'a', SCREEN_ANNOTATE},
                {'g', SCREEN_PAGE}};
    struct pollfd poll_in = {.fd = screen->in, .events = POLLIN};
    char typed;
    if (poll(&poll_in, 1, ms) <= 0)
        return SCREEN_NO_KEY;
    ssize_t n = read(screen->in, &typed, 1);
    if (n <= 0) /* the terminal is gone */
        return (poll_in.revents & (POLLHUP | POLLERR)) != 0 ? SCREEN_QUIT : SCREEN_NO_KEY;
    if (typed == '\033')
        return escaped_key(screen);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].typed == typed)
            return keys[i].key;
    return SCREEN_NO_KEY;
}

static void put_rates(const struct rates *rates, const char *const cells[5])
{
    enum { FIRST = 18 };
    char line[LINE_ROOM];
    size_t width = utf8_width(cells[0]);
    snprintf(line, sizeof line, "%s%*s %10s %15s %16s %17s", cells[0],
             width < FIRST ? (int)(FIRST - width) : 0, "", cells[1], cells[2], cells[3], cells[4]);
    if (utf8_width(line) <= terminal_columns(rates->out))
        fprintf(rates->out, "%s\n", line);
    else
        fold_text(rates->out, terminal_columns(rates->out), INDENT, line);
}

void rates_begin(struct rates *rates, FILE *out)
{
    static const char *const heading[] = {"counter", "time", "count", "rate", "total"};
    *rates = (struct rates){.out = out};
    put_rates(rates, heading);
}

void rates_print(struct rates *rates, const struct rates_row *row)
{
    char name[UTF8_CLEAN_ROOM(96)], time[NUMBER_ROOM], number[NUMBER_ROOM];
    char count[NUMBER_ROOM + 4], rate[NUMBER_ROOM + 4], total[NUMBER_ROOM + 4];
    if ((row->count_at_least || row->total_at_least) && !rates->bounds_told) {
        rates->bounds_told = true;
        fold_text(rates->out, terminal_columns(rates->out), INDENT,
                  ">=: at least; reads came too late, and a counter may have wrapped");
    }
    snprintf(time, sizeof time, "%.3f s", row->seconds);
    snprintf(count, sizeof count, "%s%s", row->count_at_least ? ">=" : "",
             number_unsigned(number, sizeof number, row->count));
    snprintf(
        rate, sizeof rate, "%s%s/s", row->count_at_least ? ">=" : "",
        number_unsigned(number, sizeof number, row->rate < 1e18 ? (uint64_t)(row->rate + 0.5) : UINT64_MAX));
    snprintf(total, sizeof total, "%s%s", row->total_at_least ? ">=" : "",
             number_unsigned(number, sizeof number, row->total));
    const char *const cells[] = {terminal_text(name, sizeof name, row->name), time, count, rate, total};
    put_rates(rates, cells);
}
