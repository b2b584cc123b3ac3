/* Numbers in text; arrays that grow, and sorted ones. */
#include "../test.h"

#include "base/values.h"

#include <stdlib.h>
#include <string.h>

TEST(numbers_are_read_strictly)
{
    static const struct {
        const char *text;
        int base;
        size_t n;
        uint64_t last;
        const char *rest; /* NULL: refused */
    } rows[] = {{"12 34", 10, 2, 34, ""},
                {"ff 0 10;", 16, 3, 16, ";"},
                {"0", 16, 1, 0, ""},
                {"ffffffffffffffff", 16, 1, UINT64_MAX, ""},
                {"10000000000000000", 16, 1, 0, NULL},
                {"18446744073709551616", 10, 1, 0, NULL},
                {"1 2", 10, 3, 0, NULL},
                {"1  2", 10, 2, 0, NULL},
                {"-1", 10, 1, 0, NULL},
                {"+1", 16, 1, 0, NULL},
                {" 1", 16, 1, 0, NULL},
                {"0x1", 16, 1, 0, NULL},
                {"f", 10, 1, 0, NULL},
                {"", 16, 1, 0, NULL}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t out[3] = {0};
        const char *rest = numbers_read(rows[i].text, rows[i].base, out, rows[i].n);
        if ((rest == NULL) != (rows[i].rest == NULL))
            fail_msg("\"%s\" is %s", rows[i].text, rest == NULL ? "refused" : "read");
        if (rest == NULL)
            continue;
        assert_string_equal(rest, rows[i].rest);
        assert_int_equal(out[rows[i].n - 1], rows[i].last);
    }
}

TEST(an_array_grows_and_keeps_its_items)
{
    size_t room = 0;
    uint32_t *items = NULL;
    for (uint32_t n = 0; n < 100; n++) {
        uint32_t *grown = array_grow(items, n + 1, &room, sizeof *grown);
        assert_non_null(grown);
        assert_true(room > n);
        items = grown;
        items[n] = n;
    }
    for (uint32_t n = 0; n < 100; n++)
        assert_int_equal(items[n], n);
    assert_ptr_equal(array_grow(items, room, &room, sizeof *items), items);
    free(items);
}

TEST(items_at_or_before_an_address)
{
    static const struct {
        uint64_t address;
        char name;
    } items[] = {{0, 'a'}, {4, 'b'}, {4, 'c'}, {UINT64_MAX, 'd'}};
    static const uint64_t asked[] = {0, 3, 4, 5, UINT64_MAX};
    static const size_t counts[] = {1, 1, 3, 3, 4};
    for (size_t i = 0; i < COUNT(asked); i++)
        assert_int_equal(sorted_until(items, 4, sizeof *items, asked[i]), counts[i]);
    assert_int_equal(sorted_until(NULL, 0, sizeof *items, 7), 0);
}

TEST(a_doubt_is_told_once_and_whole)
{
    char doubt[DOUBT_ROOM] = "", first[300], second[400];
    memset(first, 'a', sizeof first);
    memset(second, 'b', sizeof second);
    first[sizeof first - 1] = second[sizeof second - 1] = '\0';
    for (int i = 0; i < 3; i++) {
        doubt_add(doubt, first);
        doubt_add(doubt, second);
        doubt_add(doubt, "");
    }
    assert_int_equal(strlen(doubt), strlen(first) + 2 + strlen(second));
    assert_non_null(strstr(doubt, second));
}
