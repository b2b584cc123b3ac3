#include "../test.h"

#include "report/terminal.h"

#include <jansson.h>
#include <string.h>

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

static unsigned random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(*state >> 33);
}

TEST(any_bytes_are_accepted_by_jansson)
{
    uint64_t seed = test_seed();
    for (unsigned round = 0; round < 20000; round++) {
        char text[64], out[UTF8_CLEAN_ROOM(sizeof(text))];
        size_t n = random_next(&seed) % sizeof(text);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(random_next(&seed) % 3 == 0 ? 1 + random_next(&seed) % 255
                                                         : 0xC2 + random_next(&seed) % 50);
        text[n] = '\0';
        utf8_clean(out, sizeof(out), text);
        json_t *string = json_string(out);
        assert_non_null(string);
        json_decref(string);
        char again[sizeof(out) * 3];
        assert_string_equal(utf8_clean(again, sizeof(again), out), out);
    }
}
