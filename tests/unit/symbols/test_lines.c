#include "fixture.h"

/* -O2 with DWARF 5 and 4, -O0, compressed sections, flash elsewhere than at 0 */
static const char *const builds[] = {"blink", "blink4", "blink0", "blinkz", "flash"};
enum { BUILDS = COUNT(builds) };

TEST(line_in_one_place_is_found)
{
    for (size_t i = 0; i < BUILDS; i++) {
        struct symbols *symbols = fixture(builds[i]);
        char text[64];
        struct location location =
            must_locate(symbols, fixture_line("blink.c", "in once", text, sizeof text));
        struct location caller = must_locate(symbols, "main");
        assert_string_equal(location.source, text);
        assert_true(location.address > caller.low && location.address < caller.high);
        assert_memory_equal(location.name, "main+0x", 7);
        assert_false(location.is_function_entry);
    }
}

/* The rows of a `for` are at its beginning and at its end: it begins where it begins */
TEST(fragments_of_a_line_are_one_place)
{
    struct symbols *symbols = fixture("blink0");
    char text[64];
    struct location loop = must_locate(symbols, fixture_line("blink.c", "the loop", text, sizeof text));
    struct location body = must_locate(symbols, fixture_line("blink.c", "in the loop", text, sizeof text));
    assert_true(loop.address < body.address);
}

TEST(line_that_is_inlined_twice_is_listed)
{
    for (size_t i = 0; i < BUILDS; i++) {
        struct symbols *symbols = fixture(builds[i]);
        char text[64];
        fixture_line("blink.c", "in square", text, sizeof text);
        must_refuse(symbols, text, ERROR_AMBIGUOUS, "is at 2 places:\n  *0x0");
        must_refuse(symbols, text, ERROR_AMBIGUOUS, "  square, inlined in main\n");
    }
}

/* Its first instruction is the callee's, but the line is in the caller, and once */
TEST(line_that_calls_what_is_inlined_is_one_place)
{
    for (size_t i = 0; i < BUILDS; i++) {
        struct symbols *symbols = fixture(builds[i]);
        char text[64];
        struct location caller = must_locate(symbols, "main");
        struct location first =
            must_locate(symbols, fixture_line("blink.c", "= square(led", text, sizeof text));
        assert_true(first.address >= caller.low && first.address < caller.high);
        struct location second =
            must_locate(symbols, fixture_line("blink.c", "= square(ticks", text, sizeof text));
        assert_true(second.address > first.address && second.address < caller.high);
        assert_string_equal(second.source, text);
    }
}

TEST(instances_of_a_template_are_listed)
{
    struct symbols *symbols = fixture("shapes");
    char text[64];
    must_refuse(symbols, fixture_line("shapes.cpp", "in thrice", text, sizeof text), ERROR_AMBIGUOUS,
                "is at 2 places:\n  *0x10000");
    must_refuse(symbols, text, ERROR_AMBIGUOUS, "  thrice<int>");
}

TEST(file_is_named_by_the_end_of_its_path)
{
    for (size_t i = 0; i < BUILDS; i++) {
        struct symbols *symbols = fixture(builds[i]);
        char line[64];
        char text[1024], file[1024];
        fixture_line("blink.c", "in once", line, sizeof line);
        uint64_t address = must_locate(symbols, line).address;
        const char *const before[] = {"fixtures",          "symbols/fixtures",
                                      "./fixtures",        "../../x/../fixtures",
                                      "symbols\\fixtures", "tests/unit/symbols/fixtures"};
        for (size_t j = 0; j < COUNT(before); j++) {
            snprintf(text, sizeof text, "%s/%s", before[j], line);
            assert_int_equal(must_locate(symbols, text).address, address);
            assert_string_equal(must_locate(symbols, text).source, line);
        }
        symbols_file(symbols, address, file, sizeof file);
        assert_fixture_path(file, "blink.c");
        snprintf(text, sizeof text, "%s%s", file, strchr(line, ':'));
        assert_int_equal(must_locate(symbols, text).address, address);
        must_refuse(symbols, "elsewhere/blink.c:42", ERROR_SYMBOL, "no source file `elsewhere/blink.c`");
        must_refuse(symbols, "link.c:42", ERROR_SYMBOL, "no source file `link.c` in");
        must_refuse(symbols, "link.c:42", ERROR_SYMBOL, "did you mean blink.c?");
    }
}

TEST(next_line_with_code_is_named)
{
    struct symbols *symbols = fixture("blink0");
    char next[64];
    char text[128];
    fixture_line("blink.c", "in square", next, sizeof next);
    snprintf(text, sizeof text, "no code for `blink.c:1`; the next line with code is %s", next);
    must_refuse(symbols, "blink.c:1", ERROR_SYMBOL, text);
    must_refuse(symbols, "blink.c:9999", ERROR_SYMBOL,
                "no code for `blink.c:9999`; the last line with code is blink.c:");
    must_refuse(symbols, "blink.c:0", ERROR_SYMBOL, "no symbol");
    must_refuse(symbols, "blink.c:18446744073709551615", ERROR_SYMBOL, "no code for");
    symbols = fixture("nodebug");
    must_refuse(symbols, "blink.c:3", ERROR_SYMBOL, "nodebug.elf has no DWARF line tables");
}

/* Line tables keep what the linker dropped, at address 0, where in this program something else is */
TEST(dropped_code_is_nowhere)
{
    for (size_t i = 0; i < BUILDS; i++) {
        struct symbols *symbols = fixture(builds[i]);
        char text[64];
        must_refuse(symbols, fixture_line("blink.c", "in dropped", text, sizeof text), ERROR_SYMBOL,
                    "no code for");
        must_refuse(symbols, "dropped", ERROR_SYMBOL, "no symbol");
    }
}

/* The same program at 0 and at 0x08000000: every address must give the same */
TEST(code_at_0_is_described_like_any_other)
{
    struct symbols *low = fixture("blink");
    struct symbols *high = fixture("flash");
    uint64_t end = must_locate(low, "main").high;
    unsigned with_source = 0;
    for (uint64_t address = 0; address < end; address += 2) {
        struct location a;
        struct location b;
        symbols_describe(low, address, &a);
        symbols_describe(high, address + 0x08000000, &b);
        assert_string_equal(a.source, b.source);
        if (a.high != 0)
            assert_string_equal(a.name, b.name);
        with_source += a.source[0] != '\0';
    }
    assert_true(with_source > 50);
}

TEST(assembly_has_lines)
{
    struct symbols *symbols = fixture("blink");
    char text[64];
    struct location location =
        must_locate(symbols, fixture_line("startup.S", "call main", text, sizeof text));
    assert_string_equal(location.name, "Reset_Handler");
    assert_true(location.is_function_entry);
}

TEST(ram_function_has_lines)
{
    struct symbols *symbols = fixture("blink");
    char text[64];
    struct location location = must_locate(symbols, fixture_line("blink.c", "ticks = 7", text, sizeof text));
    assert_string_equal(location.source, text);
    assert_int_equal(location.address >> 28, 2);
}
