#include "report/screen.h"

#include "report/live_table.h"
#include "report/number.h"
#include "report/terminal.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_ROOM = CANVAS_LINE, FOOT = 3, FEWEST = 5, LOST = 76 }; /* LOST: the width of its text, or more */
enum {
    NAME = 28,
    SHORT_NAME = 10,
    LEAST_NAME = 6,
    RATE = 14,
    TOTAL = 14,
    PERCENT = 7, /* "100.0 %" */
    GAP = 2,
    LEAST_SPARK = 6,
    MOST_SPARK = SCREEN_SECONDS
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

void screen_remember(struct screen *screen, const struct screen_view *view, double seconds)
{
    uint64_t second = seconds > 0 ? (uint64_t)seconds : 0;
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS; i++) {
        struct screen_past *past = &screen->past[i];
        double rate = view->rows[i].missing ? NAN : view->rows[i].rate;
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

/* Of so many columns, the last of which is now. */
static void make_spark(const struct screen_past *past, size_t columns, char *out, size_t size)
{
    double values[MOST_SPARK], highest = 0;
    for (size_t i = 0; i < columns; i++) {
        size_t from = i * SCREEN_SECONDS / columns, to = (i + 1) * SCREEN_SECONDS / columns, n = 0;
        double sum = 0;
        for (size_t k = from; k < to && past->n > 0; k++) {
            double rate = past->rates[(past->second + 1 + k) % SCREEN_SECONDS];
            sum += isnan(rate) ? 0 : rate;
            n += !isnan(rate);
        }
        values[i] = n > 0 ? sum / (double)n : (double)NAN;
        highest = n > 0 && values[i] > highest ? values[i] : highest;
    }
    canvas_spark(out, size, values, columns, highest);
}

struct texts {
    char name[UTF8_CLEAN_ROOM(64)], rate[NUMBER_ROOM + 4], percent[NUMBER_ROOM + 4], total[NUMBER_ROOM + 4];
};

static void make_texts(const struct screen_row *row, struct texts *out)
{
    char number[NUMBER_ROOM];
    terminal_text(out->name, sizeof out->name, row->name);
    out->rate[0] = out->percent[0] = out->total[0] = '\0';
    if (row->missing)
        return;
    number_unsigned(number, sizeof number, row->rate < 1e18 ? (uint64_t)(row->rate + 0.5) : UINT64_MAX);
    snprintf(out->rate, sizeof out->rate, "%s%s/s", row->rate_at_least ? ">" : "", number);
    if (row->of_clock > 0 && row->of_clock < 10)
        snprintf(out->percent, sizeof out->percent, "%s%.1f %%", row->rate_at_least ? ">" : "",
                 100 * row->of_clock);
    number_unsigned(number, sizeof number, row->total);
    snprintf(out->total, sizeof out->total, "%s%s", row->total_at_least ? ">=" : "", number);
}

enum { COLUMN_NAME, COLUMN_RATE, COLUMN_PERCENT, COLUMN_SPARK, COLUMN_TOTAL, COLUMNS };

static const struct live_column columns[COLUMNS] = {
    [COLUMN_NAME] = {LIVE_TEXT, .gap = GAP, .least = SHORT_NAME, .most = NAME},
    [COLUMN_RATE] = {LIVE_NUMBER, .gap = GAP, .least = RATE},
    [COLUMN_PERCENT] = {LIVE_NUMBER, .gap = GAP, .least = PERCENT},
    [COLUMN_SPARK] = {LIVE_DRAWN, .gap = GAP, .least = LEAST_SPARK, .most = MOST_SPARK},
    [COLUMN_TOTAL] = {LIVE_NUMBER, .gap = GAP, .least = TOTAL},
};

/* On narrow terminals blanks go first, then the last minute, parts of the clock, the ends of names, the
 * totals, and last the rates. */
enum {
    ALL = (1u << COLUMNS) - 1,
    OF_NUMBERS = ALL & ~(1u << COLUMN_SPARK),
    OF_TOTALS = OF_NUMBERS & ~(1u << COLUMN_PERCENT),
    OF_RATES = OF_TOTALS & ~(1u << COLUMN_TOTAL)
};
static const struct live_way ways[] = {
    {ALL, 0, false},
    {ALL, 0, true},
    {OF_NUMBERS, 0, true},
    {OF_TOTALS, LEAST_NAME, true},
    {OF_RATES, LEAST_NAME, true},
    {1u << COLUMN_NAME, 0, true},
};

static void lay_out(const struct screen_view *view, size_t width, struct live_table *out)
{
    struct texts texts;
    *out = (struct live_table){.columns = columns,
                               .n = COLUMNS,
                               .ways = ways,
                               .n_ways = sizeof ways / sizeof *ways,
                               .name = COLUMN_NAME};
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS; i++) {
        make_texts(&view->rows[i], &texts);
        live_widen(out, (const char *[]){texts.name, texts.rate, texts.percent, "", texts.total});
    }
    live_fit(out, width);
}

static void draw_row(struct screen *screen, struct canvas *canvas, const struct live_table *table, size_t i,
                     const struct screen_row *row)
{
    char spark[3 * MOST_SPARK + 1], instead[LINE_ROOM] = "<not counted>";
    struct texts texts;
    make_texts(row, &texts);
    make_spark(&screen->past[i], table->width[COLUMN_SPARK], spark, sizeof spark);
    if (row->why != NULL && row->why[0] != '\0' &&
        table->width[COLUMN_NAME] + GAP + strlen(instead) + 2 + strlen(row->why) <= canvas->columns)
        snprintf(instead + strlen(instead), sizeof instead - strlen(instead), ": %.256s", row->why);
    live_row(canvas, table, (const char *[]){texts.name, texts.rate, texts.percent, spark, texts.total},
             row->missing ? instead : NULL);
}

static void draw_foot(struct canvas *canvas, const struct screen_view *view)
{
    char seconds[NUMBER_ROOM], samples[NUMBER_ROOM + 16], number[NUMBER_ROOM], lost[LINE_ROOM],
        clock[NUMBER_ROOM + 8] = "";
    number_decimal(number, sizeof number, view->seconds, 1);
    snprintf(seconds, sizeof seconds, "%.40s s", number);
    number_decimal(number, sizeof number, view->samples_per_second, 0);
    snprintf(samples, sizeof samples, "%s samples/s", number);
    if (view->clock_hz > 0)
        snprintf(clock, sizeof clock, "%%: of %s", number_frequency(number, sizeof number, view->clock_hz));
    const char *const now[] = {view->paused ? "PAUSED" : "", seconds, samples, clock};
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
    struct live_table table;
    lay_out(view, canvas.columns, &table);
    /* Rows that do not fit are left out; the foot stays */
    size_t foot = view->lost > 0 ? FOOT + 1 + LOST / (canvas.columns > 0 ? canvas.columns : 1) : FOOT;
    size_t room = canvas.lines > foot + FEWEST ? canvas.lines - foot : canvas.lines;
    for (size_t i = 0; i < view->n && i < SCREEN_ROWS && canvas.used + 1 < room; i++)
        draw_row(screen, &canvas, &table, i, &view->rows[i]);
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
