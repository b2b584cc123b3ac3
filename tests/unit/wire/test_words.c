/* Words of a recording: they are read as they were written, and nothing else is one. */
#include "test.h"
#include "wire/inside.h"

TEST(a_text_comes_back_as_it_was)
{
    static const char all[] = "a \"b\" \\ \n \x01 \x7F ±";
    char back[64];
    struct line line = {0};
    line_add_text(&line, all);
    struct words words = {.at = line.bytes};
    assert_null(strchr(line.bytes, '\n'));
    assert_true(words_text(&words, back, sizeof back));
    assert_string_equal(back, all);
    assert_true(words_are_over(&words));
    words.at = line.bytes;
    assert_false(words_text(&words, back, sizeof all - 1)); /* too long */
    line_free(&line);
}

TEST(what_is_no_text_is_refused)
{
    static const char *const wrong[] = {"", "a", "\"a", "\"\\\"", "\"\\4", "\"\\00\"", "\"\\xy\""};
    char back[8];
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct words words = {.at = wrong[i]};
        assert_false(words_text(&words, back, sizeof back));
    }
}

TEST(numbers_have_bounds)
{
    static const struct {
        const char *text;
        uint64_t most;
        bool ok;
    } rows[] = {{"ff", 0xFF, true},
                {"100", 0xFF, false},
                {"0", 0, true},
                {"1", 0, false},
                {"ffffffffffffffff", UINT64_MAX, true},
                {"10000000000000000", UINT64_MAX, false},
                {"", 9, false},
                {"g", 9, false},
                {"1g", UINT64_MAX, false},
                {"-1", UINT64_MAX, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t value;
        struct words words = {.at = rows[i].text};
        assert_int_equal(words_number(&words, rows[i].most, &value), rows[i].ok);
    }
    uint64_t value = 0;
    struct words words = {.at = " 18446744073709551615 5"};
    assert_true(words_decimal(&words, UINT64_MAX, &value));
    assert_true(value == UINT64_MAX && words_decimal(&words, 5, &value) && value == 5);
}

TEST(bytes_are_as_many_as_are_asked_for)
{
    uint8_t bytes[2];
    struct words words = {.at = "0aff"};
    assert_true(words_bytes(&words, bytes, 2) && bytes[0] == 0x0A && bytes[1] == 0xFF);
    words.at = "0aff0";
    assert_false(words_bytes(&words, bytes, 2));
    words.at = "0a";
    assert_false(words_bytes(&words, bytes, 2));
}

TEST(what_was_said_keeps_its_number)
{
    struct dictionary dictionary = {0};
    assert_int_equal(dictionary_add(&dictionary, "one")->number, 1);
    assert_int_equal(dictionary_add(&dictionary, "two")->number, 2);
    assert_int_equal(dictionary_add(&dictionary, "one")->number, 1);
    assert_null(dictionary_find(&dictionary, "three"));
    assert_ptr_equal(dictionary_find(&dictionary, "two"), dictionary_at(&dictionary, 2));
    assert_null(dictionary_at(&dictionary, 0));
    assert_null(dictionary_at(&dictionary, 3));
    dictionary_free(&dictionary);
}

/* Whatever its length: a line grows by what is added, and has its end. */
TEST(a_line_has_room_for_all_that_is_added)
{
    char text[300], back[300];
    for (int n = 0; n < (int)sizeof text; n++) {
        struct line line = {0};
        memset(text, 'x', sizeof text);
        text[n] = '\0';
        line_add(&line, "%s", text);
        assert_int_equal(line.used, n);
        assert_string_equal(line.bytes, text);
        line_add(&line, "%d", 7);
        assert_int_equal(line.used, n + 1);
        assert_string_equal(line.bytes + n, "7");
        line_clear(&line);
        line_add_text(&line, text);
        struct words words = {.at = line.bytes};
        assert_true(words_text(&words, back, sizeof back) && words_are_over(&words));
        assert_string_equal(back, text);
        line_free(&line);
    }
}
