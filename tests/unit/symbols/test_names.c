#include "fixture.h"

#include "symbols/internal.h"
#include "symbols/symbols.h"

static const char *shown(const char *text, size_t room)
{
    static char out[64];
    name_copy(out, room < sizeof out ? room : sizeof out, text, strlen(text));
    return out;
}

TEST(only_what_may_be_shown_is_copied)
{
    assert_string_equal(shown("größe.c", 64), "größe.c");
    assert_string_equal(shown("a\x1b[0m\n\x7f", 64), "a?[0m??");
    assert_string_equal(shown("\xff\xc3", 64), "??");
    assert_string_equal(shown("\xed\xa0\x80\xc0\x80\xe0\x80\x80\xf4\x90\x80\x80\xc2\x85", 64),
                        "??????????????");
    assert_string_equal(shown("grö", 4), "gr"); /* no half characters */
    assert_string_equal(shown("abc", 1), "");
}

static const char *guess(const char *wanted, const char *const *names, size_t count)
{
    static char out[512];
    struct near near;
    near_init(&near, wanted, strlen(wanted));
    for (size_t i = 0; i < count; i++)
        near_offer(&near, names[i]);
    return near_text(&near, out, sizeof out);
}

TEST(near_names_come_best_first)
{
    static const char *const names[] = {"uart_init", "uart_send", "uart_send_byte", "my_uart_send",
                                        "spi_send",  "uart_sent", "UART_SEND",      "uart_sendx",
                                        "main",      "uart_send"};
    enum { COUNT = COUNT(names) };
    assert_string_equal(guess("uart_send", names, COUNT),
                        "; did you mean UART_SEND, uart_send, uart_sent, uart_sendx, my_uart_send?");
    assert_string_equal(guess("man", names, COUNT), "; did you mean main?");
    assert_string_equal(guess("uart_send_", names, COUNT),
                        "; did you mean UART_SEND, uart_send, uart_sendx, uart_sent, uart_send_byte?");
    assert_string_equal(guess("zzzzzz", names, COUNT), "");
    assert_string_equal(guess("", names, COUNT), "");
    static const char *const spaces[] = {"dsp::unique_name", "core::fmt::write", "dsp::Fir<int, 8>::process"};
    assert_string_equal(guess("uniqe_name", spaces, 3), "; did you mean dsp::unique_name?");
    assert_string_equal(guess("fmt::wirte", spaces, 3), "; did you mean core::fmt::write?");
    assert_string_equal(guess("proces(int)", spaces, 3), "; did you mean dsp::Fir<int, 8>::process?");
    char longest[300];
    memset(longest, 'u', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const one = longest;
    assert_memory_equal(guess(longest, &one, 1), "; did you mean uuu", 18);
}

TEST(a_near_name_without_room_is_left_out)
{
    char out[sizeof "; did you mean uart_send_b?"];
    struct near near;
    near_init(&near, "uart_send_byt", 13);
    near_offer(&near, "uart_send_byte");
    near_offer(&near, "uart_send_b");
    assert_int_equal(near.count, 2);
    assert_string_equal(near.best[0].name, "uart_send_byte");
    assert_string_equal(near_text(&near, out, sizeof out), "; did you mean uart_send_b?");
}

TEST(paths_are_compared_from_their_end)
{
    assert_true(path_ends_with("/home/me/src/a.c", "a.c", 3));
    assert_true(path_ends_with("/home/me/src/a.c", "src/a.c", 7));
    assert_true(path_ends_with("src\\a.c", "./src/a.c", 9));
    assert_true(path_ends_with("/src/a.c", "/src/a.c", 8));
    assert_false(path_ends_with("/src/aa.c", "a.c", 3));
    assert_false(path_ends_with("a.c", "src/a.c", 7));
    assert_false(path_ends_with("a.c", "", 0));
}

TEST(cursor_stops_at_the_end)
{
    static const uint8_t bytes[] = {0x12, 0x34, 0xe5, 0x8e, 0x26, 0x7f, 'a', 0, 'b'};
    struct cursor cursor = {.at = bytes, .end = bytes + sizeof bytes, .big_endian = true};
    assert_int_equal(cursor_unsigned(&cursor, 2), 0x1234);
    assert_int_equal(cursor_uleb(&cursor), 624485);
    assert_int_equal(cursor_sleb(&cursor), -1);
    assert_string_equal(cursor_string(&cursor), "a");
    assert_true(cursor_more(&cursor));
    assert_string_equal(cursor_string(&cursor), "");
    assert_true(cursor.bad);
    assert_false(cursor_more(&cursor));
    assert_int_equal(cursor_unsigned(&cursor, 1), 0);

    cursor = (struct cursor){.at = bytes, .end = bytes + sizeof bytes};
    struct cursor part = cursor_part(&cursor, 2);
    assert_int_equal(cursor_unsigned(&part, 2), 0x3412);
    assert_int_equal(cursor_unsigned(&part, 1), 0);
    assert_true(part.bad && !cursor.bad);
    part = cursor_part(&cursor, UINT64_MAX);
    assert_true(part.bad && cursor.bad);

    static const uint8_t endless[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    cursor = (struct cursor){.at = endless, .end = endless + sizeof endless};
    assert_int_equal(cursor_uleb(&cursor), 0);
    assert_true(cursor.bad);
}

static void assert_names(struct symbols *symbols, uint64_t address, const char *name)
{
    struct location location;
    symbols_describe(symbols, address, &location);
    assert_string_equal(location.name, name);
}

TEST(a_local_label_is_no_function_whatever_its_type)
{
    struct symbols *symbols = fixture("labels");
    assert_names(symbols, 0x8000, "sized");
    assert_names(symbols, 0x8002, "sized+0x2");
    assert_names(symbols, 0x8006, "sized+0x6");
    assert_names(symbols, 0x800a, "unsized");
    assert_names(symbols, 0x800e, "unsized+0x4");
    assert_names(symbols, 0x8010, "static_function");
    struct location label = must_locate(symbols, "??sized_0"); /* it can be named all the same */
    assert_int_equal(label.address, 0x8002);
}

TEST(each_name_that_is_shown_can_be_typed_however_long)
{
    struct symbols *symbols = fixture("long");
    struct location shown, typed;
    struct inlined_frame frames[4];
    size_t longest = 0, inlined = 0, suggested = 0;
    for (size_t i = 0; symbols_function(symbols, i, &shown); i++) {
        longest = strlen(shown.name) > longest ? strlen(shown.name) : longest;
        typed = must_locate(symbols, shown.name);
        assert_int_equal(typed.address, shown.address);
        assert_string_equal(typed.name, shown.name);
        symbols_describe(symbols, shown.address + 2, &typed);
        assert_int_equal(must_locate(symbols, typed.name).address, shown.address + 2);
        struct near near; /* one letter is missing */
        near_init(&near, shown.name + 1, strlen(shown.name) - 1);
        for (size_t k = 0; symbols_function_name(symbols, k, typed.name, sizeof typed.name); k++)
            near_offer(&near, typed.name);
        for (size_t k = 0; k < near.count; k++)
            must_locate(symbols, near.best[k].name);
        suggested += near.count;
    }
    assert_true(suggested > 0);
    assert_in_range(longest, 300, LOCATION_NAME - 1);
    for (uint64_t at = must_locate(symbols, "_start").low, end = at + 64; at < end; at += 2)
        for (size_t n = symbols_inlined(symbols, at, frames, 4); n > 0; n = 0)
            inlined = strlen(frames[0].name) > inlined ? strlen(frames[0].name) : inlined;
    assert_in_range(inlined, 300, LOCATION_NAME - 1);
}
