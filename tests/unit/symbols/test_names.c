#include "fixture.h"

#include "symbols/cursor.h"
#include "symbols/names.h"

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

TEST(mangled_names_are_read)
{
    static const struct {
        const char *symbol, *plain;
    } names[] = {
        {"main", "main"},
        {"_Z3foov", "foo"},
        {"_ZL3fooi", "foo"},
        {"_ZN2ns5Class3barEPKc", "ns::Class::bar"},
        {"_ZNK2ns5Class3barEv", "ns::Class::bar"},
        {"_ZN2ns5ClassC2Ei", "ns::Class::Class"},
        {"_ZN2ns5ClassD0Ev", "ns::Class::~Class"},
        {"_ZN12_GLOBAL__N_13fooEv", "foo"},
        {"_ZSt4sortv", "std::sort"},
        {"_Z3foov.constprop.0", "foo.constprop.0"},
        {"_ZN2nsplERKi", "_ZN2nsplERKi"}, /* an operator: left as it is */
        {"_Z", "_Z"},
        {"_ZN", "_ZN"},
        {"_ZN3fo", "_ZN3fo"},
        {"_ZNC1E", "_ZNC1E"},
        {"_Z99999999999999999999a", "_Z99999999999999999999a"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char plain[64];
        name_plain(plain, sizeof plain, names[i].symbol);
        assert_string_equal(plain, names[i].plain);
        assert_true(name_is(names[i].symbol, names[i].plain, strlen(names[i].plain)));
        assert_true(name_is(names[i].symbol, names[i].symbol, strlen(names[i].symbol)));
        assert_false(name_is(names[i].symbol, "fo", 2));
    }
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
    enum { COUNT = sizeof names / sizeof names[0] };
    assert_string_equal(guess("uart_send", names, COUNT),
                        "; did you mean UART_SEND, uart_send, uart_sent, uart_sendx, my_uart_send?");
    assert_string_equal(guess("man", names, COUNT), "; did you mean main?");
    assert_string_equal(guess("uart_send_", names, COUNT),
                        "; did you mean UART_SEND, uart_send, uart_sendx, uart_sent, uart_send_byte?");
    assert_string_equal(guess("zzzzzz", names, COUNT), "");
    assert_string_equal(guess("", names, COUNT), "");
    char longest[300];
    memset(longest, 'u', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const one = longest;
    assert_memory_equal(guess(longest, &one, 1), "; did you mean uuu", 18);
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
