/* The live screen, drawn into a terminal of our own and read back as what a person would see. */
#include "screens.h"

#include "report/canvas.h"
#include "report/watch_screen.h"

#include <locale.h>
#include <math.h>

/* What the lines of the screen are made of. */
static struct row {
    const char *name, *missing;
    double rate;
    uint64_t total;
    bool at_least;
} rows[SCREEN_ROWS];
static size_t n_rows;
static uint64_t lost;
static const char *metrics;
static struct screen_view view;
static struct document interval, totals;
static struct screen_past past[SCREEN_ROWS];

static struct json_part counts_line(const char *type, bool whole)
{
    struct json_part line = json_part_new(type), columns = json_part_new(NULL);
    for (size_t i = 0; i < n_rows; i++) {
        struct json_part one = json_part_new(NULL);
        char name[64];
        snprintf(name, sizeof name, "MORE%zu", i);
        if (rows[i].name != NULL)
            snprintf(name, sizeof name, "%s", rows[i].name);
        json_part_text(&one, "not_supported", rows[i].missing != NULL ? rows[i].missing : "");
        if (rows[i].missing == NULL) {
            json_part_unsigned(&one, "count", whole ? rows[i].total : 0);
            json_part_real(&one, "per_second", rows[i].rate);
            json_part_bool(&one, "at_least", rows[i].at_least);
        }
        json_part_object(&columns, name, one);
    }
    json_part_real(&line, "seconds", 12.34);
    json_part_object(&line, "columns", columns);
    if (metrics != NULL)
        json_object_set_new(line.json, "metrics", json_loads(metrics, 0, NULL));
    json_part_unsigned(&line, "lost", lost);
    return line;
}

static void take_lines(void)
{
    document_free(&interval);
    document_free(&totals);
    interval = document_new();
    totals = document_new();
    document_add(&interval, counts_line("sample", false));
    document_add(&totals, counts_line("summary", true));
    view.interval = &interval;
    view.totals = &totals;
}

static int set_up(void **state)
{
    view = (struct screen_view){
        .title = "openocd localhost:6666     Cortex-M4", .note = "", .samples_per_second = 20.4};
    memset(rows, 0, sizeof rows);
    memset(past, 0, sizeof past);
    rows[0] = (struct row){.name = "CPU_CYCLES", .rate = 48000000.4, .total = 592320000};
    rows[1] = (struct row){.name = "LSUCNT", .rate = 0, .total = 17};
    n_rows = 2;
    lost = 0;
    metrics = NULL;
    return screens_begin(state);
}

static int tear_down(void **state)
{
    document_free(&interval);
    document_free(&totals);
    interval = totals = (struct document){0};
    return screens_end(state);
}

static void remember(double seconds)
{
    take_lines();
    screen_remember(past, &view, seconds);
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

static void draw(void)
{
    take_lines();
    screen_draw(&f.screen, &view, past);
    take_picture();
}

static void add_rows(size_t all)
{
    for (; n_rows < all; n_rows++)
        rows[n_rows] = (struct row){.rate = 1, .total = 1};
}

/* Intervals shorter than a second are averaged, longer ones fill their seconds; what is not there yet is
 * blank. */
FRESH_TEST(rates_of_each_second)
{
    static const double at[] = {0.1, 0.6, 1.1, 5.2}, rates[] = {10, 30, 20, 40};
    n_rows = 1;
    open_it(400, 24);
    for (size_t i = 0; i < 4; i++) {
        rows[0].rate = rates[i];
        remember(at[i]);
    }
    assert_true(past[0].rates[0] == 20 && past[0].rates[1] == 20 && past[0].rates[2] == 40 &&
                past[0].rates[5] == 40);
    assert_true(isnan(past[0].rates[6]));
    draw();
    assert_int_equal(text_times(f.lines[2], "\xE2\x96"), 6);
    for (unsigned second = 6; second < 120; second++) {
        rows[0].rate = 1;
        remember(second);
    }
    draw();
    assert_int_equal(text_times(f.lines[2], "\xE2\x96"), SCREEN_SECONDS);
    assert_int_equal(text_times(f.lines[2], "█"), SCREEN_SECONDS); /* of this minute's highest */
}

/* A cut number is a wrong number: at every width each is there whole, or not at all. */
FRESH_TEST(no_number_is_cut_at_any_width)
{
    static const char *const whole[] = {"6666", "4",     "24",   "48,000,000", "592,320,000", "0",
                                        "17",   "1,234", "12.3", "20",         "16,777,215"};
    view.title =
        "µµµµµµµµµµµµ openocd localhost:6666     Cortex-M4     SysTick of 24 bits, reload 16,777,215";
    rows[0].at_least = true;
    lost = 1234;
    open_it(1, 60);
    for (unsigned short columns = 1; columns <= 240; columns++) {
        resize(columns, 60);
        draw();
        size_t rates = 0;
        for (size_t i = 0; i < f.n; i++) {
            assert_true(utf8_width(f.lines[i]) <= columns);
            rates += strstr(f.lines[i], "48,000,000/s") != NULL;
            for (const char *at = f.lines[i]; (at += strcspn(at, "0123456789"))[0] != '\0';) {
                size_t length = strspn(at, "0123456789,."), k = 0;
                bool is_cut = at[length] == '~'; /* and told */
                while (length > 1 && (at[length - 1] == ',' || at[length - 1] == '.'))
                    length--;
                while (k < sizeof whole / sizeof *whole &&
                       (strlen(whole[k]) != length || strncmp(whole[k], at, length) != 0))
                    k++;
                if (k == sizeof whole / sizeof *whole && !is_cut)
                    fail_msg("%u columns: %s", columns, f.lines[i]);
                at += strspn(at, "0123456789,.");
            }
        }
        assert_int_equal(rates, columns >= 21);
    }
}

/* With a part of the clock, and in ASCII. */
FRESH_TEST(narrow_and_wide)
{
    metrics = "{\"CPI\":1.25,\"L1D_MISS\":null}";
    view.note = "SysTick was unused: used for this run (its old count is lost)";
    view.paused = true;
    rows[0].at_least = true;
    rows[1].name = "µ";
    rows[2] = (struct row){.name = "LD_RETIRED", .missing = "no such event"};
    n_rows = 3;
    lost = 1234;
    open_it(40, 24);
    for (unsigned second = 0; second < 60; second++) {
        rows[0].rate = 48000000.0 * (1 + second % 8) / 8;
        remember(second);
    }
    draw();
    picture_is_golden("screen/40_columns.txt");
    resize(200, 24);
    view.clock_hz = 48e6;
    rows[0].rate = 0.9996 * 48e6;
    draw();
    picture_is_golden("screen/200_columns.txt");
    resize(120, 24);
    setlocale(LC_CTYPE, "C");
    screen_draw(&f.screen, &view, past);
    setlocale(LC_CTYPE, "C.UTF-8");
    take_picture();
    picture_is_golden("screen/ascii.txt");
}

/* One line less than there are, so that nothing scrolls. Counts and metrics alike: nothing is left out
 * without a word. */
FRESH_TEST(no_more_lines_than_the_terminal_has)
{
    static const struct {
        unsigned short lines;
        const char *metrics, *more;
    } cases[] = {{15, NULL, "3 more: a larger terminal"},
                 {15, "{\"CPI\":1.25,\"MPI\":2}", "5 more: a larger terminal"},
                 {17, NULL, ""},
                 {17, "{\"CPI\":1.25}", "2 more: a larger terminal"}};
    add_rows(11);
    open_it(60, 24);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        metrics = cases[i].metrics;
        resize(60, cases[i].lines);
        draw();
        assert_int_equal(f.n, cases[i].lines - 1);
        assert_string_equal(f.lines[f.n - 3], "");
        if (cases[i].more[0] != '\0')
            assert_string_equal(f.lines[f.n - 4], cases[i].more);
        else
            assert_int_equal(strncmp(f.lines[f.n - 4], "MORE10", 6), 0);
    }
    metrics = NULL;
    add_rows(SCREEN_ROWS);
    for (unsigned short lines = 1; lines < 50; lines++) {
        resize(80, lines);
        draw();
        size_t all = SCREEN_ROWS + 5, room = lines - 1U;
        assert_int_equal(f.n, room < all ? room : all);
        if (lines > 1)
            assert_string_equal(f.lines[0], view.title);
    }
    resize(0, 0); /* a terminal without a size is taken for 80 by 24 */
    draw();
    assert_int_equal(f.n, 23);
    assert_int_equal(utf8_width(f.lines[2]), 80);
}

/* Names come from the command line, titles from servers. */
FRESH_TEST(nothing_steers_the_terminal)
{
    view.title = "evil\033[2J\033]0;x\a\n\xFF";
    view.note = "\033[31m";
    rows[0].name = "A\033[5mB\n";
    open_it(80, 24);
    draw(); /* which looks for escapes in each line */
    assert_non_null(strstr(f.lines[0], "evil"));
    assert_int_equal(f.n, 8);
}

FRESH_TEST(the_terminal_is_as_it_was)
{
    struct termios before, during, after;
    assert_int_equal(tcgetattr(f.slave, &before), 0);
    assert_true(screen_open(&f.screen, f.slave, f.slave, &f.quit));
    assert_string_equal(got(), "\033[?1049h\033[?25l");
    assert_int_equal(tcgetattr(f.slave, &during), 0);
    assert_int_equal(during.c_lflag & (ICANON | ECHO | ISIG), ISIG); /* Ctrl-C */
    screen_close(&f.screen);
    screen_close(&f.screen); /* which does nothing */
    assert_string_equal(got(), "\033[?25h\033[?1049l");
    assert_int_equal(tcgetattr(f.slave, &after), 0);
    assert_int_equal(after.c_lflag, before.c_lflag);
    assert_memory_equal(after.c_cc, before.c_cc, sizeof before.c_cc);
}

FRESH_TEST(what_is_no_terminal_is_left_alone)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_false(screen_open(&f.screen, f.slave, ends[1], &f.quit));
    assert_false(screen_open(&f.screen, ends[0], f.slave, &f.quit));
    setenv("TERM", "dumb", 1);
    assert_false(screen_open(&f.screen, f.slave, f.slave, &f.quit));
    screen_close(&f.screen);
    assert_string_equal(got(), "");
    close(ends[0]);
    close(ends[1]);
}

/* Those that system/test_top.py and test_counting.py do not press. */
FRESH_TEST(keys)
{
    static const struct {
        const char *typed;
        enum screen_key key;
    } cases[] = {{"p", SCREEN_PAUSE},       {"k", SCREEN_UP},        {"j", SCREEN_DOWN},
                 {"\n", SCREEN_ENTER},      {"\033[A", SCREEN_UP},   {"\033OA", SCREEN_UP},
                 {"\033[C", SCREEN_NO_KEY}, {"x", SCREEN_OTHER_KEY}, {"\033", SCREEN_BACK},
                 {"?", SCREEN_HELP}};
    open_it(80, 24);
    assert_int_equal(screen_wait_key(&f.screen, 0), SCREEN_NO_KEY);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].typed);
        assert_int_equal(write(f.master, cases[i].typed, length), length);
        assert_int_equal(screen_wait_key(&f.screen, 10000), cases[i].key);
        assert_int_equal(screen_wait_key(&f.screen, 0), SCREEN_NO_KEY);
    }
    assert_int_equal(write(f.master, "zq", 2), 2); /* one at a time */
    assert_int_equal(screen_wait_key(&f.screen, 10000), SCREEN_ZERO);
    assert_int_equal(screen_wait_key(&f.screen, 10000), SCREEN_QUIT);
    assert_int_equal(f.quit, 1);
    assert_string_equal(got(), ""); /* no echo */
}

/* They count there, too. */
FRESH_TEST(keys_during_a_wait)
{
    const struct deadline wait = {.at_us = INT64_MAX};
    volatile sig_atomic_t stop = 0;
    open_it(80, 24);
    f.screen.stop = &stop;
    f.screen.stop_us = INT64_MAX;
    assert_int_equal(write(f.master, "d\033", 2), 2);
    while (stop == 0)
        deadline_passed(&wait);
    f.screen.stop = NULL;
    assert_int_equal(screen_wait_key(&f.screen, 0), SCREEN_NO_KEY);
    assert_int_equal(write(f.master, "dq", 2), 2);
    while (f.quit == 0)
        deadline_passed(&wait);
    assert_false(f.screen.open);
    assert_string_equal(got(), "\033[?25h\033[?1049l");
    assert_int_equal(screen_wait_key(&f.screen, 0), SCREEN_DELTA);
}

FRESH_TEST(what_is_under_way_ends_in_time)
{
    const struct deadline wait = {.at_us = INT64_MAX};
    volatile sig_atomic_t stop = 0;
    open_it(80, 24);
    f.screen.stop = &stop;
    f.screen.stop_us = deadline_host_us();
    while (stop == 0)
        deadline_passed(&wait);
    assert_true(f.screen.open);
}

FRESH_TEST(a_terminal_that_is_gone_ends_it)
{
    open_it(80, 24);
    close(f.master);
    f.master = 0;
    assert_int_equal(screen_wait_key(&f.screen, 10000), SCREEN_QUIT);
    take_lines();
    screen_draw(&f.screen, &view, past);
    screen_close(&f.screen);
}

/* ---- one line that is written over and over */

static FILE *terminal;
static struct progress progress;

static void begin_progress(unsigned short columns)
{
    resize(columns, 24);
    terminal = fdopen(dup(f.slave), "w");
    assert_non_null(terminal);
    progress_begin(&progress, terminal);
}

static int progress_end(void **state)
{
    if (terminal != NULL)
        fclose(terminal);
    terminal = NULL;
    return screens_end(state);
}

#define PROGRESS_TEST(name) TEST_WITH(name, screens_begin, progress_end)

PROGRESS_TEST(shown_after_a_second_and_erased)
{
    begin_progress(80);
    progress.next_us -= 900000;
    progress_show(&progress, "%d of 100 hits", 2);
    progress_clear(&progress);
    assert_string_equal(got(), "");
    progress.next_us -= 100000;
    progress_show(&progress, "%d of 100 hits", 17);
    assert_string_equal(got(), "\r17 of 100 hits");
    progress_show(&progress, "%d of 100 hits", 18); /* too soon after the last */
    assert_string_equal(got(), "");
    progress.next_us = 0;
    progress_show(&progress, "± µs");
    assert_string_equal(got(), "\r± µs          \b\b\b\b\b\b\b\b\b\b");
    progress_clear(&progress);
    progress_clear(&progress);
    assert_string_equal(got(), "\r    \r");
}

PROGRESS_TEST(cut_to_the_terminal)
{
    begin_progress(6);
    progress_now(&progress, "%s", "µµµ\x1B µµµ");
    assert_string_equal(got(), "\rµµµ\xEF\xBF\xBD ");
    progress_clear(&progress);
    assert_string_equal(got(), "\r     \r");
}

/* N of M and the time left, once there is a rate; what is waited for, while nothing comes. */
PROGRESS_TEST(a_count_with_the_time_left)
{
    begin_progress(80);
    progress.next_us = 0;
    progress_count(&progress, 0, 1000, "hits", "waiting for f");
    assert_string_equal(got(), "\r0 of 1,000 hits, waiting for f");
    progress_count(&progress, 20, 1000, "hits", "waiting for f"); /* too soon, but this is the first one */
    assert_string_equal(got(), "");
    progress.first_us -= 10000000; /* ten seconds for the next hundred */
    progress.next_us = 0;
    progress_count(&progress, 120, 1000, "hits", "in the region");
    const char *shown = got();
    assert_non_null(strstr(shown, "\r120 of 1,000 hits, 88 s left "));
    progress.next_us = 0;
    progress.last_us -= 2000000; /* none for two seconds */
    progress_count(&progress, 120, 1000, "hits", "in the region");
    assert_non_null(strstr(got(), "\r120 of 1,000 hits, in the region"));
    progress.next_us = 0;
    progress_count(&progress, 121, 0, "hits", "");
    assert_non_null(strstr(got(), "\r121 hits "));
    progress_now(&progress, "connecting to %s", "x");
    assert_non_null(strstr(got(), "\rconnecting to x"));
    progress_clear(&progress);
}
