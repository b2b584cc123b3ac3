/* The code of functions as text, with their lines. */
#include "fixture.h"

#include "symbols/internal.h"
#include "symbols/listing.h"

#include <unistd.h>

static struct listing list(struct symbols *symbols, const char *function)
{
    struct listing listing;
    struct error error = {.kind = ERROR_NONE};
    struct location at = must_locate(symbols, function);
    if (!listing_make(symbols, at.low, at.high, &listing, &error))
        fail_msg("%s: %s", function, error.text);
    return listing;
}

static void texts_are(const char *program, const char *function, const char *const *texts, size_t n)
{
    struct symbols *symbols = fixture(program);
    struct listing listing = list(symbols, function);
    for (size_t i = 0; i < listing.n && i < n; i++)
        assert_string_equal(listing.rows[i].text, texts[i]);
    assert_int_equal(listing.n, n);
    listing_free(&listing);
}

/* What is not an instruction takes its place in the IT block: the next one has no condition */
TEST(thumb_of_armv8_m)
{
    static const char *const texts[] = {"itte    eq",
                                        "addeq   r0, #1",
                                        "moveq   r1, r2",
                                        "movne   r3, r4",
                                        "cbz     r0, 0x00008036 <_start+0x36>",
                                        "bl      0x0000803e <called>",
                                        "ldr     r3, [pc, #0x28]",
                                        "sg",
                                        "bxns    lr",
                                        "blxns   r4",
                                        "it      ne",
                                        ".inst.w 0xef000840",
                                        "adds    r0, #1",
                                        "tta     r1, r2",
                                        ".inst.w 0xea519012",
                                        ".inst.w 0xea5121ad",
                                        ".inst.w 0xf040e001",
                                        ".inst.w 0xe89f0003",
                                        "nop",
                                        "bx      lr",
                                        ".word   0x12345678",
                                        ".short  0x0201"};
    texts_are("listing", "_start", texts, COUNT(texts));
}

TEST(arm_state)
{
    struct symbols *symbols = fixture("mixed");
    struct listing listing = list(symbols, "in_arm_state");
    assert_memory_equal(listing.rows[0].text, "movw    r", 9);
    assert_string_equal(listing.rows[listing.n - 1].text, "bx      lr");
    assert_int_equal(listing.rows[listing.n - 1].size, 4);
    listing_free(&listing);
}

TEST(a64_with_constants)
{
    struct symbols *symbols = fixture("writes_a64");
    struct listing listing = list(symbols, "constants");
    assert_string_equal(listing.rows[0].text, ".word   0xd51b9c00");
    assert_true(listing.rows[0].is_data);
    listing_free(&listing);
    listing = list(symbols, "timer");
    assert_string_equal(listing.rows[2].text, "ret");
    assert_int_equal(listing.rows[2].code, 0xD65F03C0);
    assert_int_equal(listing.file_count, 0);
    assert_int_equal(listing.rows[2].line, 0);
    listing_free(&listing);
}

/* The end of the path, and the line that the address itself has by DWARF. */
static void lines_are_those_of_addresses(const char *program)
{
    struct symbols *symbols = fixture(program);
    char name[128];
    unsigned lines = 0;
    for (size_t i = 0; symbols_function_name(symbols, i, name, sizeof name); i++) {
        struct location at;
        struct error error = {.kind = ERROR_NONE};
        if (!symbols_locate(symbols, name, &at, &error))
            continue;
        struct listing listing = list(symbols, name);
        for (size_t k = 0; k < listing.n; k++) {
            const struct listing_row *row = &listing.rows[k];
            char text[300] = "";
            assert_int_equal(listing_row_at(&listing, row->address), k);
            if (row->line > 0)
                snprintf(text, sizeof text, "%s:%u", name_of_file(listing.files[row->file]), row->line);
            symbols_describe(symbols, row->address, &at);
            assert_string_equal(text, at.source);
            lines += row->line > 0;
        }
        listing_free(&listing);
    }
    assert_true(lines > 20);
}

TEST(each_line_of_each_function)
{
    static const char *const programs[] = {"blink", "blink4", "blink0", "blinkz", "flash", "shapes", "names"};
    for (size_t i = 0; i < COUNT(programs); i++)
        lines_are_those_of_addresses(programs[i]);
}

TEST(the_path_is_whole)
{
    struct symbols *symbols = fixture("blink");
    struct listing listing = list(symbols, "main");
    assert_fixture_path(listing.files[listing.rows[0].file], "blink.c");
    listing_free(&listing);
}

TEST(rows_by_address)
{
    struct symbols *symbols = fixture("blink");
    struct listing listing = list(symbols, "fir_filter");
    assert_int_equal(listing_row_at(&listing, listing.rows[0].address - 1), listing.n);
    assert_int_equal(listing_row_at(&listing, listing.rows[1].address + 1), 1);
    assert_int_equal(listing_row_at(&listing, UINT64_MAX), listing.n - 1);
    listing_free(&listing);
}

static void must_refuse_to_list(const char *program, uint64_t low, uint64_t high, const char *words)
{
    struct symbols *symbols = fixture(program);
    struct listing listing;
    struct error error = {.kind = ERROR_NONE};
    assert_fails(listing_make(symbols, low, high, &listing, &error), &error, ERROR_ELF, words);
    assert_null(listing.rows);
}

TEST(what_cannot_be_listed)
{
    must_refuse_to_list("host", 0x401000, 0x401010, "x86-64");
    must_refuse_to_list("blink", 0x40, 0x40, "0 bytes");
    must_refuse_to_list("blink", 0x40, 0x30, "0 bytes");
    must_refuse_to_list("blink", 0, UINT64_MAX, "bytes: code of up to");
    must_refuse_to_list("blink", 0x60000000, 0x60000010, "no code");
}

/* BE8: the file and its data are big-endian. The compiler is free in the order: the last two are enough. */
TEST(code_is_little_endian_in_a_big_endian_program)
{
    static const char *const last[][2] = {{"str     r2, [r3]", "bx      lr"},
                                          {"str     r2, [r3]", "bx      lr"}};
    static const char *const functions[] = {"in_arm_state", "in_thumb_state"};
    struct symbols *symbols = fixture("be8");
    struct symbols_machine machine;
    symbols_machine(symbols, &machine);
    assert_false(machine.big_endian_words);
    for (size_t i = 0; i < 2; i++) {
        struct listing listing = list(symbols, functions[i]);
        size_t at = 0;
        while (at < listing.n && strncmp(listing.rows[at].text, "str", 3) != 0)
            at++;
        assert_true(at + 1 < listing.n);
        assert_string_equal(listing.rows[at].text, last[i][0]);
        assert_string_equal(listing.rows[at + 1].text, last[i][1]);
        listing_free(&listing);
    }
}
