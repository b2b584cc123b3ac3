/* What a terminal can show, by its environment, and text made safe for it. */
#include "golden.h"

#include "report/terminal.h"

#include <jansson.h>
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

/* ---- text from outside */

#define GONE "\xEF\xBF\xBD"

/* Terminals are not steered, and bytes that are not UTF-8 are replaced. */
TEST(clean_texts)
{
    static const struct {
        const char *text, *clean;
        size_t width;
    } rows[] = {
        {"", "", 0},
        {"27.31 µs ± 1", "27.31 µs ± 1", 12},
        {"█▌ 日本 \xF0\x9F\x98\x80", "█▌ 日本 \xF0\x9F\x98\x80", 7},
        {"a\x1B[2Jb", "a" GONE "[2Jb", 6},
        {"a\nb\rc\td\x7F", "a" GONE "b" GONE "c" GONE "d" GONE, 8},
        {"\xC2\x9B[31m", GONE "[31m", 5}, /* CSI as one character */
        {"a\xE2\x80\xAE", "a" GONE, 2},   // NOLINT(misc-misleading-bidirectional)
        {"a\xEF\xBB\xBF\xE2\x80\x8B", "a" GONE GONE, 3},
        {"e\xCC\x81", "e" GONE, 2}, /* a combining accent takes no column */
        {"\xFF\xFE", GONE GONE, 2},
        {"a\x80 b", "a" GONE " b", 4},
        {"\xC0\xAF", GONE GONE, 2}, /* overlong */
        {"\xE0\x80\xAF", GONE GONE GONE, 3},
        {"\xED\xA0\x80", GONE GONE GONE, 3},          /* surrogate */
        {"\xF4\x90\x80\x80", GONE GONE GONE GONE, 4}, /* beyond U+10FFFF */
        {"cut \xC2", "cut " GONE, 5},
        {"cut \xE2\x82", "cut " GONE GONE, 6},
        {"\xC2_", GONE "_", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[256];
        assert_string_equal(utf8_clean(out, sizeof(out), rows[i].text), rows[i].clean);
        assert_int_equal(utf8_width(out), rows[i].width);
    }
}

TEST(cut_at_a_whole_character)
{
    char out[8] = "unused";
    assert_string_equal(utf8_clean(out, 4, "aµµ"), "aµ");
    assert_string_equal(utf8_clean(out, 3, "aµµ"), "a");
    assert_string_equal(utf8_clean(out, 1, "a"), "");
    utf8_clean(NULL, 0, "a");
}

TEST(any_bytes_are_accepted_by_jansson)
{
    uint64_t random = test_seed();
    for (unsigned round = 0; round < 20000; round++) {
        char text[64], out[UTF8_CLEAN_ROOM(sizeof(text))], again[sizeof(out) * 3];
        for (size_t i = 0; i < sizeof text; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            text[i] = (char)(random >> 60 < 5 ? random >> 40 : 0xC2 + (random >> 40) % 50);
        }
        text[round % sizeof text] = '\0';
        utf8_clean(out, sizeof(out), text);
        json_t *string = json_string(out);
        assert_non_null(string);
        json_decref(string);
        assert_string_equal(utf8_clean(again, sizeof(again), out), out);
    }
}
