/* A program on an x86-64 processor: where a function returns to, and what it does not have. */
#include "cores/architectures.h"
#include "knc/knc.h"

#include "test.h"

TEST(test_returns_to_what_call_has_pushed)
{
    /* Words as they are read from the stack, on which the upper half of a result counts for nothing */
    const uint64_t words[FRAME_WORDS] = {UINT64_C(0xFFFFFFFF89ABCDE1), 0x7FFF, 1, 2, 3, 4, 5, 6};
    const uint64_t sp = UINT64_C(0x7FFFFFFFE3F8);
    struct core core;
    x86_64_describe(0, &core);
    assert_true(core_returns_by_frame(&core, 0));
    struct return_place place = core_frame_return(&core, sp, words);
    assert_int_equal(place.pc, UINT64_C(0x7FFF89ABCDE1));
    assert_int_equal(place.sp, sp + 8);
}

/* Instructions begin anywhere: no bit of an address is another instruction set. */
TEST(test_every_bit_of_a_place_counts)
{
    struct core core, arm = {.ops = &armv7_ops};
    x86_64_describe(0, &core);
    assert_int_equal(core_place(&core, 0x401001), 0x401001);
    assert_int_equal(core_code(&core, 0x401001, false), 0x401001);
    assert_int_equal(core_code_of_lr(&core, 0x401001), 0x401001);
    assert_int_equal(core_place(&arm, 0x401001), 0x401000);
    assert_int_equal(core_code(&arm, 0x401000, true), 0x401001);
}

TEST(test_has_nothing_that_only_a_debugger_has)
{
    struct core core;
    struct setting settings[CORE_SETTINGS];
    struct address commands[1];
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    x86_64_describe(3, &core);
    assert_ptr_equal(core.ops, &x86_64_ops);
    assert_int_equal(core.memory_unit, 3);
    assert_string_equal(core.name, "x86-64");
    assert_int_equal(core.comparators, 0);
    assert_non_null(core.unstoppable);
    assert_int_equal(core_settings(&core, settings, CORE_SETTINGS), 0);
    assert_int_equal(core_commands(&core, commands, 1), 0);
    assert_int_equal(core_add_pending(&core, &list), SIZE_MAX);
    assert_int_equal(list.n, 0);
    assert_false(core_has_run_control(&core));
}
