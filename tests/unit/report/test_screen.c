/* The live screen, drawn into a terminal of our own and read back as what a person would see. */
#include "screens.h"

#include <locale.h>
#include <math.h>

static struct screen_view view;

static int set_up(void **state)
{
    view = (struct screen_view){.title = "openocd localhost:6666     Cortex-M4",
                                .note = "",
                                .n = 2,
                                .seconds = 12.34,
                                .samples_per_second = 20.4};
    view.rows[0] = (struct screen_row){.name = "CPU_CYCLES", .rate = 48000000.4, .total = 592320000};
    view.rows[1] = (struct screen_row){.name = "LSUCNT", .rate = 0, .total = 17};
    return screens_begin(state);
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, screens_end)

static void draw(void)
{
    screen_draw(&f.screen, &view);
    take_picture();
}

static void expect(const char *name)
{
    draw();
    golden_check(name, f.got, strlen(f.got));
}

FRESH_TEST(rows_with_rates_and_totals)
{
    open_it(80, 24);
    expect("screen/rates_and_totals.txt");
    screen_close(&f.screen);
}

FRESH_TEST(metrics_stand_below_the_rows)
{
    static const struct metric_result metrics[] = {{.name = "CPI", .value = 1.25},
                                                   {.name = "L1D_MISS", .unit = "%", .value = NAN}};
    view.metrics = metrics;
    view.n_metrics = 2;
    open_it(80, 24);
    draw();
    size_t row = 0;
    while (row < f.n && strncmp(f.lines[row], "LSUCNT", 6) != 0)
        row++;
    assert_true(row + 2 < f.n);
    assert_true(strncmp(f.lines[row + 1], "CPI", 3) == 0 && strstr(f.lines[row + 1], " 1.25") != NULL);
    assert_non_null(strstr(f.lines[row + 2], "<not counted>"));
    screen_close(&f.screen);
}

FRESH_TEST(bounds_gaps_a_note_and_a_pause)
{
    view.note = "SysTick was unused: used for this run (its old count is lost)";
    view.rows[0].rate_at_least = view.rows[0].total_at_least = true;
    view.rows[1].missing = true;
    view.lost = 1234;
    view.paused = true;
    open_it(80, 24);
    expect("screen/bounds_and_a_pause.txt");
    screen_close(&f.screen);
}

static size_t sparks_in(const char *line)
{
    size_t n = 0;
    for (const char *at = line; (at = strstr(at, "\xE2\x96")) != NULL; at++)
        n++;
    return n;
}

/* The last minute has what room there is, and its highest rate is the highest of its characters. */
FRESH_TEST(the_last_minute_is_a_line)
{
    static const struct {
        unsigned short columns;
        size_t wide;
    } cases[] = {{44, 0}, {45, 6}, {60, 16}, {80, 36}, {104, 60}, {400, 60}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screens_end(NULL);
        assert_int_equal(set_up(NULL), 0);
        view.n = 1;
        open_it(cases[i].columns, 24);
        for (unsigned second = 0; second < 90; second++) {
            view.rows[0].rate = second == 80 ? 48000000 : 24000000;
            screen_remember(&f.screen, &view, second);
        }
        draw();
        assert_int_equal(sparks_in(f.lines[2]), cases[i].wide);
        assert_int_equal(blocks_in(f.lines[2]), cases[i].wide > 0);
        assert_non_null(strstr(f.lines[2], "592,320,000"));
        for (unsigned second = 90; second < 180; second++) {
            view.rows[0].rate = 0;
            screen_remember(&f.screen, &view, second);
        }
        draw();
        assert_int_equal(blocks_in(f.lines[2]), 0);
    }
}

/* Intervals shorter than a second are averaged, longer ones fill their seconds; what is not there yet is
 * blank. */
FRESH_TEST(rates_of_each_second)
{
    static const double at[] = {0.1, 0.6, 1.1, 5.2}, rates[] = {10, 30, 20, 40};
    view.n = 1;
    open_it(400, 24);
    for (size_t i = 0; i < 4; i++) {
        view.rows[0].rate = rates[i];
        screen_remember(&f.screen, &view, at[i]);
    }
    const struct screen_past *past = &f.screen.past[0];
    assert_true(past->rates[0] == 20 && past->rates[1] == 20 && past->rates[2] == 40 && past->rates[5] == 40);
    assert_true(isnan(past->rates[6]));
    draw();
    assert_int_equal(sparks_in(f.lines[2]), 6);
    screen_close(&f.screen);
}

FRESH_TEST(a_part_of_the_clock)
{
    view.clock_hz = 48e6;
    view.rows[0].of_clock = 0.9996;
    open_it(80, 24);
    draw();
    assert_non_null(strstr(f.lines[2], "48,000,000/s  100.0 %"));
    assert_non_null(strstr(f.got, "%: of 48 MHz"));
    resize(36, 24);
    draw();
    assert_null(strstr(f.lines[2], "%"));
    screen_close(&f.screen);
}

FRESH_TEST(lines_are_cut_to_the_terminal)
{
    view.title = "µµµµµµµµµµµµ";
    open_it(10, 24);
    expect("screen/10_columns.txt");
    assert_int_equal(f.n, 7);
    for (size_t i = 0; i < f.n; i++)
        assert_true(width_of(f.lines[i]) <= 10);
}

/* A cut number is a wrong number: at every width each is there whole, or not at all. */
FRESH_TEST(no_number_is_cut_at_any_width)
{
    static const char *const whole[] = {"6666", "4",     "24",   "48,000,000", "592,320,000", "0",
                                        "17",   "1,234", "12.3", "20",         "16,777,215"};
    for (unsigned short columns = 1; columns <= 240; columns++) {
        screens_end(NULL);
        assert_int_equal(set_up(NULL), 0);
        view.title = "openocd localhost:6666     Cortex-M4     SysTick of 24 bits, reload 16,777,215";
        view.rows[0].rate_at_least = view.rows[0].total_at_least = true;
        view.lost = 1234;
        open_it(columns, 60);
        draw();
        size_t rates = 0;
        for (size_t i = 0; i < f.n; i++) {
            assert_true(width_of(f.lines[i]) <= columns);
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

FRESH_TEST(narrow_and_wide)
{
    view.rows[0].rate_at_least = view.rows[0].total_at_least = true;
    for (unsigned second = 0; second < 60; second++) {
        view.rows[0].rate = 48000000.0 * (1 + second % 8) / 8;
        screen_remember(&f.screen, &view, second);
    }
    view.rows[2] = (struct screen_row){.name = "LD_RETIRED", .missing = true, .why = "no such event"};
    view.n = 3;
    view.lost = 1234;
    open_it(40, 24);
    expect("screen/40_columns.txt");
    resize(200, 24);
    expect("screen/200_columns.txt");
}

static void draw_plain(void)
{
    setlocale(LC_CTYPE, "C");
    screen_draw(&f.screen, &view);
    setlocale(LC_CTYPE, "C.UTF-8");
}

FRESH_TEST(bars_in_ascii)
{
    open_it(120, 24);
    view.rows[1].name = "µ";
    for (unsigned second = 0; second < 60; second++) {
        view.rows[0].rate = 48000000.0 * (1 + second % 8) / 8;
        screen_remember(&f.screen, &view, second);
    }
    draw_plain();
    got();
    golden_check("screen/ascii.txt", f.got, strlen(f.got));
}

FRESH_TEST(a_dumb_terminal_is_left_alone)
{
    setenv("TERM", "dumb", 1);
    assert_false(screen_open(&f.screen, f.slave, f.slave));
    assert_string_equal(got(), "");
    unsetenv("TERM");
    assert_false(screen_open(&f.screen, f.slave, f.slave));
}

/* One line less than there are, so that nothing scrolls; what does not fit is left out. */
FRESH_TEST(no_more_lines_than_the_terminal_has)
{
    for (unsigned short lines = 1; lines < 50; lines++) {
        screens_end(NULL);
        assert_int_equal(set_up(NULL), 0);
        for (; view.n < SCREEN_ROWS; view.n++)
            view.rows[view.n] = (struct screen_row){.name = "MORE", .rate = 1, .total = 1};
        open_it(80, lines);
        draw();
        size_t all = SCREEN_ROWS + 5, room = lines - 1U;
        assert_int_equal(f.n, room < all ? room : all);
        if (lines > 1)
            assert_string_equal(f.lines[0], view.title);
    }
}

FRESH_TEST(a_terminal_without_a_size_is_taken_for_80_by_24)
{
    for (; view.n < SCREEN_ROWS; view.n++)
        view.rows[view.n] = view.rows[1];
    open_it(0, 0);
    draw();
    assert_int_equal(f.n, 23);
    assert_int_equal(width_of(f.lines[2]), 80);
}

/* Names come from the command line, titles from servers. */
FRESH_TEST(nothing_steers_the_terminal)
{
    view.title = "evil\033[2J\033]0;x\a\n\xFF";
    view.note = "\033[31m";
    view.rows[0].name = "A\033[5mB\n";
    open_it(80, 24);
    draw(); /* which looks for escapes in each line */
    assert_non_null(strstr(f.lines[0], "evil"));
    assert_int_equal(f.n, 8);
}

FRESH_TEST(largest_numbers_fit)
{
    view.rows[0] = (struct screen_row){.name = "A_NAME_THAT_IS_LONGER_THAN_ITS_COLUMN_IS_WIDE",
                                       .rate = 1e30,
                                       .total = UINT64_MAX,
                                       .rate_at_least = true,
                                       .total_at_least = true};
    view.lost = UINT64_MAX;
    open_it(400, 24);
    draw();
    assert_non_null(strstr(f.lines[2], "18,446,744,073,709,551,615/s"));
    assert_null(strstr(f.lines[2], "COLUMN_IS"));
}

FRESH_TEST(the_terminal_is_as_it_was)
{
    struct termios before, during, after;
    assert_int_equal(tcgetattr(f.slave, &before), 0);
    resize(80, 24);
    assert_true(screen_open(&f.screen, f.slave, f.slave));
    assert_string_equal(got(), "\033[?1049h\033[?25l");
    assert_int_equal(tcgetattr(f.slave, &during), 0);
    assert_int_equal(during.c_lflag & (ICANON | ECHO), 0);
    assert_true(during.c_lflag & ISIG); /* Ctrl-C */
    screen_close(&f.screen);
    assert_string_equal(got(), "\033[?25h\033[?1049l");
    assert_int_equal(tcgetattr(f.slave, &after), 0);
    assert_int_equal(after.c_lflag, before.c_lflag);
    assert_memory_equal(after.c_cc, before.c_cc, sizeof before.c_cc);
    screen_close(&f.screen);
    assert_string_equal(got(), "");
}

FRESH_TEST(what_is_no_terminal_is_left_alone)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_false(screen_open(&f.screen, f.slave, ends[1]));
    assert_false(screen_open(&f.screen, ends[0], f.slave));
    assert_string_equal(got(), "");
    screen_close(&f.screen);
    assert_string_equal(got(), "");
    close(ends[0]);
    close(ends[1]);
}

FRESH_TEST(keys)
{
    static const struct {
        const char *typed;
        enum screen_key key;
    } cases[] = {
        {" ", SCREEN_PAUSE},   {"p", SCREEN_PAUSE},       {"z", SCREEN_ZERO},    {"q", SCREEN_QUIT},
        {"s", SCREEN_SORT},    {"k", SCREEN_UP},          {"j", SCREEN_DOWN},    {"\r", SCREEN_ENTER},
        {"\n", SCREEN_ENTER},  {"\033[A", SCREEN_UP},     {"\033OA", SCREEN_UP}, {"\033[B", SCREEN_DOWN},
        {"\033", SCREEN_BACK}, {"d", SCREEN_DELTA},       {"l", SCREEN_COSTS},   {"a", SCREEN_ANNOTATE},
        {"g", SCREEN_PAGE},    {"\033[C", SCREEN_NO_KEY}, {"x", SCREEN_NO_KEY}};
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
    assert_string_equal(got(), ""); /* no echo */
}

FRESH_TEST(a_terminal_that_is_gone_ends_it)
{
    open_it(80, 24);
    close(f.master);
    f.master = 0;
    assert_int_equal(screen_wait_key(&f.screen, 10000), SCREEN_QUIT);
    screen_draw(&f.screen, &view);
    screen_close(&f.screen);
}
