#include "profiles.h"
#include "screens.h"

#include "report/top_screen.h"

#include <locale.h>

enum { ROWS = 40 };

static struct share rows[2][ROWS];
static struct shares shares[2];
static struct top_core cores[2];
static struct top_view view;
static size_t selected;
static struct top_pick pick;

static int begin(void **state)
{
    profile_shares(&shares[0], rows[0]);
    shares[1] = (struct shares){.core = 1, .rows = rows[1], .samples = 60000};
    shares[0].seconds = shares[1].seconds = 3.0025;
    profile_share(&shares[1], "main", "main.c:12", 60000, 0.0001);
    cores[0] = (struct top_core){.name = "core 0 Cortex-M4 r0p1, by DWT_PCSR", .shares = &shares[0]};
    cores[1] = (struct top_core){.name = "core 1 Cortex-M0+ r0p1, by DWT_PCSR", .shares = &shares[1]};
    view = (struct top_view){.title = "cmsis-dap:E6614103E7  SWD 10 MHz     app.elf",
                             .note = "",
                             .said = "",
                             .cores = cores,
                             .n = 1,
                             .seconds = 12.34};
    selected = 0;
    return screens_begin(state);
}

#define SCREEN_TEST(name) TEST_WITH(name, begin, screens_end)

static void draw(void)
{
    pick = top_screen_draw(&f.screen, &view, &selected);
    take_picture();
}

SCREEN_TEST(shares_of_a_core)
{
    open_it(40, 24);
    draw();
    picture_is_golden("top/40_columns.txt");
    assert_ptr_equal(pick.row, &rows[0][0]);
    resize(200, 24);
    draw();
    picture_is_golden("top/200_columns.txt");
    resize(120, 24);
    setlocale(LC_CTYPE, "C");
    draw();
    setlocale(LC_CTYPE, "C.UTF-8");
    picture_is_golden("top/ascii.txt");
}

SCREEN_TEST(several_cores_and_a_pause)
{
    view.n = 2;
    view.paused = true;
    view.note = "No program was named, so shares are by address: --elf names it.";
    shares[1].states[PROFILE_NOT_PERMITTED] = 60;
    selected = 4;
    open_it(80, 24);
    draw();
    picture_is_golden("top/two_cores.txt");
    assert_int_equal(pick.core, 1);
    assert_ptr_equal(pick.row, &rows[1][0]);
}

/* A key's words take the place of a blank line, so that no row moves. */
SCREEN_TEST(the_foot)
{
    open_it(60, 15);
    draw();
    assert_string_equal(f.lines[f.n - 1], "q quit   space hold   s sort   enter   d   l   a   g   ?");
    resize(40, 24);
    draw();
    size_t lines = f.n;
    view.said = "d: nothing can stop this core, whatever is asked of it \033[5m";
    draw();
    assert_int_equal(f.n, lines);
    assert_int_equal(strncmp(f.lines[f.n - 3], "d: nothing can stop this core", 29), 0);
    assert_true(utf8_width(f.lines[f.n - 3]) <= 40);
}

SCREEN_TEST(a_text_in_place_of_the_rows)
{
    char lines[100 * 8] = "";
    struct screen_page page = {.title = "delta of work", .text = lines};
    size_t room;
    for (int i = 1; i <= 99; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "line %d\n", i);
    open_it(60, 15);
    room = screen_draw_page(&f.screen, &page);
    take_picture();
    assert_string_equal(f.lines[2], "line 1");
    page.first = 1000;
    assert_int_equal(screen_draw_page(&f.screen, &page), room);
    take_picture();
    assert_int_equal(page.first, 99 - room);
    assert_string_equal(f.lines[1 + room], "line 99");
    resize(60, 3);
    screen_draw_page(&f.screen, &page);
    take_picture();
    assert_true(f.n <= 3);
}

SCREEN_TEST(the_mark_stays_on_the_screen)
{
    selected = 1000;
    open_it(80, 24);
    draw();
    assert_int_equal(selected, 3);
    assert_ptr_equal(pick.row, &rows[0][3]);
    resize(80, 9); /* room for one row */
    draw();
    assert_int_equal(selected, 0);
    assert_ptr_equal(pick.row, &rows[0][0]);
}

/* What does not fit is left out; the foot stays as long as there is a row. */
SCREEN_TEST(no_more_lines_than_the_terminal_has)
{
    while (shares[0].n < ROWS)
        profile_share(&shares[0], "more", "more.c:1", 1, 0.0001);
    view.n = 2;
    open_it(80, 1);
    for (unsigned short lines = 1; lines < 64; lines++) {
        resize(80, lines);
        draw();
        assert_true(f.n < lines || f.n == 0);
        if (lines >= 14)
            assert_non_null(strstr(f.lines[f.n - 1], "q quit"));
    }
}

/* A cut number is a wrong number: at every width each is there whole, or not at all. */
SCREEN_TEST(no_number_is_cut_at_any_width)
{
    open_it(1, 40);
    for (unsigned short columns = 1; columns <= 240; columns++) {
        size_t found = 0, errors = 0;
        resize(columns, 40);
        draw();
        for (size_t i = 0; i < f.n; i++) {
            if (utf8_width(f.lines[i]) > columns)
                fail_msg("%u columns: %s", columns, f.lines[i]);
            found += strstr(f.lines[i], "54.32 %") != NULL;
            errors += strstr(f.lines[i], " 0.81") != NULL;
            assert_true(strstr(f.lines[i], "54.") == NULL || strstr(f.lines[i], "54.32 %") != NULL);
            assert_true(strstr(f.lines[i], " 0.8") == NULL || strstr(f.lines[i], " 0.81") != NULL);
            assert_true(strstr(f.lines[i], "19,9") == NULL || strstr(f.lines[i], "19,983 samples/s") != NULL);
        }
        assert_int_equal(found, columns >= 16);
        assert_int_equal(errors, columns >= 36);
    }
}

SCREEN_TEST(nothing_steers_the_terminal)
{
    rows[0][0].function = (char[]){"a\033[2J\n\xFF"};
    rows[0][0].source = (char[]){"\033]0;x\a"};
    cores[0].name = "core 0 \033[5m";
    open_it(80, 24);
    draw(); /* which looks for escapes in each line */
    assert_non_null(strstr(f.lines[4], "a"));
}
