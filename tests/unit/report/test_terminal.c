/* What a terminal can show, by its environment. */
#include "golden.h"

#include "report/terminal.h"

#include <locale.h>
#include <pty.h>
#include <unistd.h>

static int master, slave;
static FILE *terminal;

static int tear_down(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    setlocale(LC_CTYPE, "C.UTF-8");
    return terminal != NULL ? fclose(terminal) + close(master) : 0;
}

static int set_up(void **state)
{
    terminal = NULL;
    tear_down(state);
    if (openpty(&master, &slave, NULL, NULL, &(struct winsize){.ws_row = 24, .ws_col = 40}) != 0)
        return 1;
    terminal = fdopen(slave, "w");
    return terminal == NULL;
}

#define TERMINAL_TEST(name) TEST_WITH(name, set_up, tear_down)

TERMINAL_TEST(columns_and_colours)
{
    FILE *file = tmpfile();
    assert_int_equal(terminal_columns(terminal), 40);
    assert_int_equal(terminal_columns(output()), 80); /* has no descriptor at all */
    assert_int_equal(terminal_columns(file), 80);
    assert_string_equal(terminal_colour(file, COLOUR_BAD), "");
    fclose(file);
    assert_string_equal(terminal_colour(terminal, COLOUR_BAD), "\033[31m");
    setenv("NO_COLOR", "", 1); /* as good as not there */
    assert_string_equal(terminal_colour(terminal, COLOUR_ODD), "\033[33m");
    setenv("NO_COLOR", "1", 1);
    assert_string_equal(terminal_colour(terminal, COLOUR_ODD), "");
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_string_equal(terminal_colour(terminal, COLOUR_ODD), "");
    unsetenv("TERM");
    assert_true(terminal_is_dumb());
}

TERMINAL_TEST(characters)
{
    char text[64];
    assert_string_equal(terminal_text(text, sizeof text, "± 3 µs é\033"), "± 3 µs é\xEF\xBF\xBD");
    assert_string_equal(terminal_or("±", "+-"), "±");
    setlocale(LC_CTYPE, "C");
    assert_string_equal(terminal_text(text, sizeof text, "± 3 µs é\033"), "+- 3 us ??");
    assert_string_equal(terminal_or("±", "+-"), "+-");
    assert_string_equal(terminal_text(text, sizeof text, "±±±±"), "+-+-+-+-");
}

TEST(texts_fold)
{
    FILE *out = output();
    fold_text_at(out, 80, 0, 4, "one two");
    for (int i = 0; i < 70; i++)
        fputc('-', out);
    fold_text_at(out, 80, 70, 2, "ten µµµµµ below"); /* characters, not bytes */
    fold_beside(out, 40, "  name    ", "one two three four five six seven eight");
    fold_beside(out, 40, "  name    ", "");
    fold_beside(out, 40, "  a name that leaves no room    ", "one two three four five six seven");
    fold_text(out, 10, 2, "averyverylongword is not cut");
    output_is("one two\n"
              "----------------------------------------------------------------------ten µµµµµ\n  below\n"
              "  name    one two three four five six\n"
              "          seven eight\n"
              "  name\n"
              "  a name that leaves no room\n"
              "      one two three four five six seven\n"
              "averyverylongword\n"
              "  is not\n"
              "  cut\n");
}
