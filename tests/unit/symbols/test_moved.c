/* A program that runs elsewhere than it was linked for: all is as it was, so far away. */
#include "fixture.h"

static const char *const fixtures[] = {"blink", "unnamed", "ranges",    "sizeless", "shapes",
                                       "exits", "mixed",   "stacks_m4", "stacks_a9"};
static const int64_t offsets[] = {0x130000, -0x1000, 0x7F000000};

static void same_location(const struct location *moved, const struct location *plain, uint64_t by)
{
    assert_string_equal(moved->source, plain->source);
    assert_int_equal(moved->isa, plain->isa);
    assert_int_equal(moved->is_function_entry, plain->is_function_entry);
    assert_int_equal(moved->address, (uint32_t)(plain->address + by));
    if (plain->high != 0) {
        assert_string_equal(moved->name, plain->name);
        assert_int_equal(moved->low, (uint32_t)(plain->low + by));
        assert_int_equal(moved->high - moved->low, plain->high - plain->low);
        assert_int_equal(moved->next - moved->low, plain->next - plain->low);
    }
}

static void compare(const char *name, uint64_t by)
{
    enum { SEGMENTS = 32, CALLERS = 16 };
    struct symbols *plain = fixture_open(name), *moved = fixture_open(name);
    struct segment code[SEGMENTS], there[SEGMENTS];
    symbols_move(moved, by);
    size_t n = symbols_code(plain, code, SEGMENTS);
    assert_int_equal(symbols_code(moved, there, SEGMENTS), n);
    for (size_t i = 0; i < n; i++)
        for (uint64_t at = code[i].address; at < code[i].address + code[i].size; at += 2) {
            struct location a, b;
            struct inlined_frame frames[4], others[4];
            uint64_t far = (uint32_t)(at + by);
            symbols_describe(plain, at, &a);
            symbols_describe(moved, far, &b);
            same_location(&b, &a, by);
            size_t inlined = symbols_inlined(plain, at, frames, 4);
            assert_int_equal(symbols_inlined(moved, far, others, 4), inlined);
            for (size_t k = 0; k < inlined && k < 4; k++)
                assert_string_equal(others[k].name, frames[k].name);
            assert_int_equal(symbols_mapping(moved, far), symbols_mapping(plain, at));
            if (at >= 2) /* no call is before that */
                assert_int_equal(symbols_is_return(moved, far), symbols_is_return(plain, at));
        }
    struct location a, b;
    for (size_t i = 0; symbols_function(plain, i, &a); i++) {
        struct extent function = {a.low, a.high};
        uint64_t callers[CALLERS], others[CALLERS];
        struct frame_base at_start[2], at_end[2];
        symbols_describe(plain, a.address, &a); /* one of its names */
        symbols_describe(moved, (uint32_t)(a.address + by), &b);
        same_location(&b, &a, by);
        size_t calls = symbols_callers(plain, &function, callers, CALLERS);
        function = (struct extent){b.low, b.high};
        assert_int_equal(symbols_callers(moved, &function, others, CALLERS), calls);
        for (size_t k = 0; k < calls && k < CALLERS; k++)
            assert_int_equal(others[k], (uint32_t)(callers[k] + by));
        enum frames found = symbols_frames(plain, a.address, a.address, &at_start[0], &at_end[0]);
        assert_int_equal(symbols_frames(moved, b.address, b.address, &at_start[1], &at_end[1]), found);
        if (found == FRAMES_KNOWN)
            assert_int_equal(at_start[0].offset, at_start[1].offset);
    }
    symbols_close(plain);
    symbols_close(moved);
}

TEST(each_address_of_a_moved_program)
{
    for (size_t i = 0; i < COUNT(fixtures); i++)
        for (size_t k = 0; k < COUNT(offsets); k++)
            compare(fixtures[i], (uint64_t)offsets[k]);
}

TEST(moved_code_is_found_by_its_bytes)
{
    struct symbols *symbols = fixture_open("ranges");
    struct location fir = must_locate(symbols, "fir");
    struct segment code[8];
    uint8_t bytes[16], none[16] = {1, 2, 3};
    uint64_t linked = 0, start = fir.address & ~UINT64_C(3);
    size_t n = symbols_code(symbols, code, 8);
    for (size_t i = 0; i < n; i++)
        if (start >= code[i].address && start + sizeof bytes <= code[i].address + code[i].size)
            memcpy(bytes, code[i].bytes + (start - code[i].address), sizeof bytes);
    assert_true(symbols_find_moved(symbols, 0x130000 + start, bytes, sizeof bytes, &linked));
    assert_int_equal(linked, start);
    bytes[0] ^= 1;
    assert_false(symbols_find_moved(symbols, 0x130000 + start, bytes, sizeof bytes, &linked));
    bytes[0] ^= 1;
    uint32_t word; /* which is an address, and was moved as the code was */
    memcpy(&word, bytes + 4, sizeof word);
    word += 0x130000;
    memcpy(bytes + 4, &word, sizeof word);
    assert_true(symbols_find_moved(symbols, 0x130000 + start, bytes, sizeof bytes, &linked));
    assert_false(symbols_find_moved(symbols, 0x140000 + start, bytes, sizeof bytes, &linked));
    assert_false(symbols_find_moved(symbols, 0, none, sizeof none, &linked));
    symbols_close(symbols);
}
