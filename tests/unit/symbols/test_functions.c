/* Functions that DWARF describes better than the symbol table. */
#include "fixture.h"

static void check_source(struct symbols *symbols, const char *function, const char *mark)
{
    struct location location = must_locate(symbols, function), line;
    char text[64];
    fixture_line("unnamed.c", mark, text, sizeof text);
    line = must_locate(symbols, text);
    assert_int_equal(line.low, location.low);
    assert_int_equal(line.high, location.high);
}

TEST(functions_without_a_symbol_have_their_names)
{
    struct symbols *symbols = fixture("unnamed"), *whole = fixture("ranges");
    static const char *const names[] = {"crc", "fir", "second", "_start", "unnamed.c:fir", "crc+0x4"};
    struct location after;
    char name[32];
    for (size_t i = 0; i < COUNT(names); i++) {
        struct location a = must_locate(symbols, names[i]), b = must_locate(whole, names[i]);
        assert_int_equal(a.address, b.address);
        assert_int_equal(a.low, b.low);
        assert_int_equal(a.high, b.high);
        assert_int_equal(a.is_function_entry, b.is_function_entry);
        assert_int_equal(a.isa, ISA_THUMB);
        assert_string_equal(a.source, b.source);
    }
    must_refuse(symbols, "removed", ERROR_SYMBOL, "no symbol");
    symbols_describe(symbols, must_locate(symbols, "fir").address + 2, &after);
    assert_string_equal(after.name, "fir+0x2");
    bool listed = false;
    for (size_t i = 0; symbols_function_name(symbols, i, name, sizeof name); i++)
        listed = listed || strcmp(name, "fir") == 0;
    assert_true(listed);
}

TEST(a_function_without_a_size_ends_where_dwarf_says)
{
    struct symbols *symbols = fixture("sizeless"), *whole = fixture("ranges");
    static const char *const names[] = {"crc", "fir", "second", "loop_of_fir"};
    struct frame_base start, end;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct location a = must_locate(symbols, names[i]), b = must_locate(whole, names[i]);
        assert_int_equal(a.low, b.low);
        assert_int_equal(a.high, b.high);
    }
    struct location fir = must_locate(symbols, "fir"), label = must_locate(symbols, "loop_of_fir"), inside;
    assert_int_equal(label.low, fir.low);
    assert_false(label.is_function_entry);
    symbols_describe(symbols, label.address + 2, &inside);
    assert_string_equal(inside.name, "fir+0x4");
    assert_int_not_equal(symbols_frames(symbols, fir.address, label.address + 4, &start, &end),
                         FRAMES_OF_TWO);
}

TEST(a_function_behind_the_end_of_its_units_ranges_has_lines_and_inlines)
{
    struct symbols *symbols = fixture("ranges");
    struct location second = must_locate(symbols, "second");
    struct inlined_frame frames[4];
    size_t inlined = 0;
    assert_memory_equal(second.source, "unnamed.c:", 10);
    check_source(symbols, "second", "in second");
    check_source(symbols, "second", "in helper");
    for (uint64_t at = second.low; at < second.high; at += 2)
        inlined += symbols_inlined(symbols, at, frames, 4);
    assert_true(inlined > 0);
}

TEST(calls_to_a_function_are_found)
{
    struct symbols *symbols = fixture("unnamed");
    struct location fir = must_locate(symbols, "fir"), start = must_locate(symbols, "_start");
    const struct extent function = {fir.low, fir.high}, outermost = {start.low, start.high};
    uint64_t at[2] = {0, 0};
    assert_int_equal(symbols_callers(symbols, &function, at, 2), 1);
    assert_in_range(at[0], start.low, start.high - 1);
    assert_int_equal(symbols_callers(symbols, &function, NULL, 0), 1);
    /* its loop does not call it */
    assert_int_equal(symbols_callers(symbols, &outermost, at, 2), 0);
}

TEST(functions_that_an_array_names)
{
    struct symbols *symbols = fixture("arrays_m");
    assert_true(symbols_pointers_reach(symbols, address_of(symbols, "constructor")));
    assert_true(symbols_pointers_reach(symbols, address_of(symbols, "fast")));
    assert_false(symbols_pointers_reach(symbols, address_of(symbols, "slow")));
}

TEST(an_indirect_function_has_the_state_of_its_address)
{
    struct symbols *symbols = fixture("arrays_a");
    struct location location;
    symbols_describe(symbols, address_of(symbols, "indirect"), &location);
    assert_int_equal(location.isa, ISA_ARM);
}
