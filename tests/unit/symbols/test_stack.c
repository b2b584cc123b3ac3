/*
 * What a program does to its stack pointer: whether functions can be left, where handlers return, which call
 * a place belongs to.
 */
#include "fixture.h"

#include "symbols/internal.h"

static struct symbols *exits, *switches;

static void set_up(void)
{
    exits = fixture("exits");
    switches = fixture("switches");
}

#define OPEN_TEST(name) TEST_BETWEEN(name, set_up, test_nothing)

/* As assembled by GNU as; of two halfwords the first is the upper. */
TEST(instructions_that_give_the_stack_pointer_a_value)
{
    enum { POP = 0xBD80, ARM_POP = 0xE8BD8800 };
    static const struct {
        enum instruction_set isa;
        struct stack_code code;
        bool sets;
    } cases[] = {
        {ISA_THUMB, {0, 0x46B5, POP}, true},           /* mov sp, r6 */
        {ISA_THUMB, {0, 0x46BD, POP}, false},          /* mov sp, r7 at a frame's end */
        {ISA_THUMB, {0, 0x46BD, 0xF85D7B04}, false},   /* ... ldr r7, [sp], #4 */
        {ISA_THUMB, {0, 0x46BD, 0x4770}, true},        /* ... bx lr */
        {ISA_THUMB, {0, 0x4685, 0}, true},             /* mov sp, r0 */
        {ISA_THUMB, {0xF3AF8113, 0x4685, 0}, false},   /* ... of a mode just entered */
        {ISA_THUMB, {0, 0xF3808808, 0}, true},         /* msr msp, r0 */
        {ISA_THUMB, {0, 0xF3818809, 0}, true},         /* msr psp, r1 */
        {ISA_THUMB, {0, 0xF3808814, 0}, false},        /* msr control, r0 */
        {ISA_THUMB, {0, 0xF8D0D004, 0}, true},         /* ldr sp, [r0, #4] */
        {ISA_THUMB, {0, 0xEA4F0D03, 0}, true},         /* mov.w sp, r3 */
        {ISA_THUMB, {0, 0xB084, 0}, false},            /* sub sp, #16 */
        {ISA_THUMB, {0, 0xF2AD1D2C, 0}, false},        /* subw sp, sp, #300 */
        {ISA_THUMB, {0, 0x449D, 0}, false},            /* add sp, r3 */
        {ISA_THUMB, {0, 0xEBAD0D03, 0}, false},        /* sub.w sp, sp, r3 */
        {ISA_ARM, {0, 0xE1A0D000, 0}, true},           /* mov sp, r0 */
        {ISA_ARM, {0xF1020013, 0xE1A0D000, 0}, false}, /* ... after a cps */
        {ISA_ARM, {0xE121F000, 0xE1A0D000, 0}, false}, /* ... after a msr cpsr_c */
        {ISA_ARM, {0, 0xE1A0D00B, ARM_POP}, false},    /* mov sp, fp at a frame's end */
        {ISA_ARM, {0, 0xE24BD004, ARM_POP}, false},    /* sub sp, fp, #4 */
        {ISA_ARM, {0, 0xE24BD004, 0xE5910000}, true},  /* the same anywhere else */
        {ISA_ARM, {0, 0xE590D008, 0}, true},           /* ldr sp, [r0, #8] */
        {ISA_ARM, {0, 0xE8906FF0, 0}, true},           /* ldm r0, {r4-r11, sp, lr} */
        {ISA_ARM, {0, 0xE91BA810, 0}, false},          /* ldmdb fp, {r4, fp, sp, pc} */
        {ISA_ARM, {0, 0xE89DA800, 0}, false},          /* ldm sp, {fp, sp, pc} */
        {ISA_ARM, {0, 0xE890AFF0, 0}, true},           /* ldm r0, {r4-fp, sp, pc}, a longjmp */
        {ISA_ARM, {0, 0xE24DD008, 0}, false},          /* sub sp, sp, #8 */
        {ISA_ARM, {0, 0xE301D000, 0}, true},           /* movw sp, #4096 */
        {ISA_ARM, {0, 0xE15D0000, 0}, false},          /* cmp sp, r0 */
        {ISA_A64, {0, 0x9100005F, 0}, true},           /* mov sp, x2 */
        {ISA_A64, {0, 0x910003BF, 0xA8C17BFD}, false}, /* mov sp, x29 at a frame's end */
        {ISA_A64, {0, 0xD10043BF, 0xF9400BF3}, false}, /* sub sp, x29, #16 */
        {ISA_A64, {0, 0x910003BF, 0xD65F03C0}, true},  /* the same, and a return */
        {ISA_A64, {0, 0xD10083FF, 0}, false},          /* sub sp, sp, #32 */
        {ISA_A64, {0, 0xCB2A613F, 0}, true},           /* sub sp, x9, x10 */
        {ISA_A64, {0, 0x927CED3F, 0}, true},           /* and sp, x9, #-16 */
        {ISA_A64, {0, 0x910003FD, 0}, false},          /* mov x29, sp */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (stack_is_set(cases[i].isa, &cases[i].code, 0) != cases[i].sets)
            fail_msg("%08x", cases[i].code.here);
}

TEST(a_frame_pointer_that_the_function_has_not_made_of_the_stack_pointer)
{
    enum { R7 = 1 << 7, FP = 1 << 11, X29 = 1 << 29 };
    static const struct {
        enum instruction_set isa;
        struct stack_code code;
        uint32_t foreign;
        bool sets;
    } cases[] = {
        {ISA_THUMB, {0, 0x46BD, 0xBD80}, R7, true},        /* mov sp, r7; pop {r7, pc} */
        {ISA_THUMB, {0, 0x46BD, 0xBD80}, FP, false},       /* ... of another one */
        {ISA_ARM, {0, 0xE91BA810, 0}, FP, true},           /* ldmdb fp, {r4, fp, sp, pc} */
        {ISA_ARM, {0, 0xE89DA800, 0}, FP, false},          /* ldm sp, {fp, sp, pc} */
        {ISA_ARM, {0, 0xE24BD004, 0xE8BD8800}, FP, true},  /* sub sp, fp, #4; pop {fp, pc} */
        {ISA_A64, {0, 0x910003BF, 0xA8C17BFD}, X29, true}, /* mov sp, x29; ldp x29, x30, [sp], #16 */
        {ISA_A64, {0, 0x910003BF, 0xA8C17BFD}, FP, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (stack_is_set(cases[i].isa, &cases[i].code, cases[i].foreign) != cases[i].sets)
            fail_msg("%08x", cases[i].code.here);
}

OPEN_TEST(a_program_that_switches_stacks_may_leave_functions)
{
    struct symbols *host = fixture("host");
    assert_false(symbols_may_leave(exits));
    assert_true(symbols_may_leave(switches));
    assert_true(symbols_may_leave(NULL));
    assert_true(symbols_may_leave(host)); /* of a machine that nothing is known of */
}

OPEN_TEST(what_a_library_does_is_not_known)
{
    struct symbols *needs = fixture("library");
    struct code_at_place places[1];
    assert_true(symbols_may_leave(needs));
    assert_true(symbols_stacks(needs, places, 1) == SIZE_MAX);
    assert_true(symbols_handlers_reach(needs, address_of(needs, "work")));
    assert_true(symbols_stacks(exits, places, 1) == 0);
}

OPEN_TEST(a_call_at_the_end_of_a_function_does_not_return)
{
    uint64_t next = address_of(exits, "comes_next");
    assert_false(symbols_is_return(exits, next));
    assert_true(symbols_is_return(exits, address_of(exits, "_start") + 4));
    assert_false(symbols_is_return(exits, address_of(exits, "many") + 12)); /* constants */
    assert_true(symbols_is_return(NULL, next));
}

OPEN_TEST(exits_of_handlers)
{
    struct handler_exit found[4];
    bool all;
    uint64_t many = address_of(exits, "many"), wide = address_of(exits, "wide");
    assert_int_equal(symbols_exits(exits, many, found, 4, &all), 2);
    assert_int_equal(found[0].at, many + 8);
    assert_int_equal(found[0].popped, 2);
    assert_false(found[0].conditional);
    assert_int_equal(found[1].at, many + 2);
    assert_int_equal(found[1].popped, 0);
    assert_true(found[1].conditional);
    assert_int_equal(symbols_exits(exits, wide, found, 4, &all), 2);
    assert_int_equal(found[0].popped, 6);
    assert_int_equal(found[1].popped, 1);
    assert_int_equal(symbols_exits(exits, address_of(exits, "tail"), found, 4, &all), 2);
    assert_int_equal(found[0].at, many + 8);
    assert_int_equal(symbols_exits(exits, address_of(exits, "endless"), found, 4, &all), 0);
    assert_int_equal(symbols_exits(exits, many, found, 1, &all), 2); /* more than there is room for */
    assert_int_equal(symbols_exits(NULL, many, found, 4, &all), 0);
}

OPEN_TEST(what_is_not_known_of_a_handlers_exits)
{
    static const struct {
        const char *name;
        size_t n;
        uint8_t by; /* of the first */
        bool all;
    } cases[] = {
        {"by_register", 1, 3, true},      {"by_move", 1, 2, true},     {"by_memory", 0, 0, false},
        {"veneer", 2, NO_REGISTER, true}, {"conditional", 3, 0, true}, {"falls", 1, ARM_LR, true},
        {"tail", 2, NO_REGISTER, true},
    };
    struct handler_exit found[4];
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool all = !cases[i].all;
        size_t n = symbols_exits(exits, address_of(exits, cases[i].name), found, 4, &all);
        if (n != cases[i].n || all != cases[i].all ||
            (n > 0 && cases[i].by != 0 && found[0].by != cases[i].by))
            fail_msg("%s: %zu, %d, %u", cases[i].name, n, all, found[0].by);
    }
    bool all = true;
    (void)symbols_exits(exits, address_of(exits, "conditional"), found, 2, &all);
    assert_false(all); /* there is no room for them */
}

OPEN_TEST(the_ways_from_a_place_to_another)
{
    static const struct {
        const char *start, *end;
        struct symbols_ways ways;
    } cases[] = {
        {"straight", "straight_end", {.ends = true}},
        {"early", "early_end", {.ends = true, .leaves = true, .calls = true}},
        {"again", "again_end", {.ends = true, .again = true}},
        {"calls", "calls_end", {.ends = true, .calls = true}},
        {"calls_end", "straight", {.leaves = true, .calls = true}},
        {"again", "again", {.ends = true, .leaves = true, .calls = true}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct symbols_ways ways =
            symbols_ways(exits, address_of(exits, cases[i].start), address_of(exits, cases[i].end));
        const struct symbols_ways *right = &cases[i].ways;
        if (ways.ends != right->ends || ways.again != right->again || ways.leaves != right->leaves ||
            ways.calls != right->calls)
            fail_msg("%s: %d %d %d", cases[i].start, ways.again, ways.leaves, ways.calls);
    }
    assert_true(symbols_ways(NULL, 0, 4).leaves);
    struct extent turns = {address_of(exits, "turns"), address_of(exits, "turns") + 6};
    struct extent many = {address_of(exits, "many"), address_of(exits, "many") + 10};
    assert_true(symbols_jumps_to(exits, &turns));
    assert_false(symbols_jumps_to(exits, &many));
}

static struct extent extent_of(struct symbols *symbols, const char *first, const char *after)
{
    return (struct extent){address_of(symbols, first), address_of(symbols, after)};
}

OPEN_TEST(functions_that_lead_to_their_own_entry)
{
    static const struct {
        const char *function, *after;
        bool leads;
    } cases[] = {
        {"slides", "slides_on", true},     {"comes_back", "comes_on", true},   {"pointed", "stops", true},
        {"stops", "after_stops", false},   {"unpointed", "returns_by", false}, {"never", "unpointed", true},
        {"returns_by", "by_table", false}, {"slides_on", "comes_back", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct extent function = extent_of(exits, cases[i].function, cases[i].after);
        if (symbols_jumps_to(exits, &function) != cases[i].leads)
            fail_msg("%s", cases[i].function);
    }
    struct extent by_table = {address_of(exits, "by_table"), address_of(exits, "by_table") + 8};
    assert_false(symbols_jumps_to(exits, &by_table));
}

TEST(a_far_jump_by_bl_is_no_call)
{
    struct symbols *symbols = fixture("exits");
    struct instruction call;
    assert_false(call_before(symbols, address_of(symbols, "far_after"), ISA_THUMB, &call));
    assert_true(call_before(symbols, address_of(symbols, "inner_after"), ISA_THUMB, &call));
    struct symbols_ways far =
        symbols_ways(symbols, address_of(symbols, "far_after") - 6, address_of(symbols, "far_after"));
    assert_true(far.ends && far.calls && !far.leaves); /* by way of the call before */
}

TEST(what_a_function_runs_is_followed_past_its_end)
{
    size_t which = 0;
    struct symbols *symbols = fixture("exits");
    const struct extent comes = {.low = address_of(symbols, "comes_back")},
                        stops = {.low = address_of(symbols, "stops")};
    const uint64_t on = address_of(symbols, "comes_on"), after = address_of(symbols, "after_stops");
    assert_true(symbols_reach(symbols, &comes, 1, &on, 1, &which));
    assert_false(symbols_reach(symbols, &stops, 1, &after, 1, &which)); /* the callee never returns */
}

OPEN_TEST(places_that_a_jump_leads_to_and_code_that_sets_the_stack_pointer)
{
    struct code_at_place found[2];
    assert_true(symbols_is_joined(exits, address_of(exits, "joined")));
    assert_false(symbols_is_joined(exits, address_of(exits, "alone")));
    assert_true(symbols_is_joined(NULL, 0));
    const struct extent ways = {address_of(exits, "ways"), address_of(exits, "catches")};
    const struct extent many = {address_of(exits, "many"), address_of(exits, "many") + 10};
    assert_true(symbols_is_entered(exits, &ways));
    assert_false(symbols_is_entered(exits, &many)); /* at its entry */
    assert_int_equal(symbols_stacks(exits, found, 2), 0);
    assert_int_equal(symbols_stacks(switches, found, 2), 1); /* and not the write of PSP */
    assert_int_equal(found[0].address, address_of(switches, "leaves"));
    assert_int_equal(found[0].isa, ISA_THUMB);
}

OPEN_TEST(frames_of_two_places)
{
    struct frame_base start, end;
    uint64_t before = address_of(exits, "before_all"), in_frame = address_of(exits, "in_frame");
    assert_int_equal(symbols_frames(exits, before, in_frame, &start, &end), FRAMES_KNOWN);
    assert_true(start.is_sp);
    assert_true(end.is_sp);
    assert_true(end.offset >= start.offset);
    assert_int_equal(symbols_frames(exits, address_of(exits, "frames"), in_frame, &start, &end),
                     FRAMES_KNOWN);
    assert_int_equal(start.offset, 0);
    assert_true(end.offset >= 24);
    uint64_t in = address_of(exits, "in_callee"), out = address_of(exits, "end_of_callee");
    assert_int_equal(symbols_frames(exits, before, in, &start, &end), FRAMES_OF_TWO);
    assert_int_equal(symbols_frames(exits, in, out, &start, &end), FRAMES_KNOWN_ONE);
    in = address_of(switches, "in_callee"), out = address_of(switches, "end_of_callee");
    assert_int_equal(symbols_frames(switches, in, out, &start, &end), FRAMES_KNOWN);
    uint64_t many = address_of(switches, "many");
    assert_int_equal(symbols_frames(switches, many, many + 8, &start, &end), FRAMES_UNKNOWN);
    assert_int_equal(symbols_frames(NULL, 0, 4, &start, &end), FRAMES_OF_TWO);
}

/* As LLVM describes frames: the information of the body holds also where there is no frame. */
TEST(frames_are_where_the_instructions_have_them)
{
    static const struct {
        const char *program, *entry, *place;
        unsigned number;
        int64_t offset;
    } cases[] = {
        {"late_m4", "early", "early_body", ARM_SP, 16}, {"late_m4", "early", "early_ends", ARM_SP, 0},
        {"late_m4", "apart", "apart_body", ARM_SP, 16}, {"late_m4", "apart", "apart_returns", ARM_SP, 16},
        {"late_m4", "apart", "apart_ends", ARM_SP, 0},  {"late_m4", "room", "room_body", 7, 8},
        {"late_m4", "room", "room_ends", ARM_SP, 16},   {"late_m4", "chooses", "case_ends", ARM_SP, 16},
        {"late_m4", "alters", "alters_body", 7, 8},     {"late_a53", "early", "early_body", A64_SP, 32},
        {"late_a53", "early", "early_ends", A64_SP, 0}, {"late_a53", "apart", "apart_returns", A64_SP, 0},
        {"late_a53", "apart", "apart_ends", A64_SP, 0}, {"late_a53", "room", "room_body", A64_FP, 32},
        {"late_a53", "room", "room_ends", A64_SP, 0},   {"late_a53", "chooses", "case_ends", A64_SP, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct symbols *symbols = fixture(cases[i].program);
        uint64_t entry = address_of(symbols, cases[i].entry), place = address_of(symbols, cases[i].place);
        struct frame_base start = {0}, end = {0};
        enum frames frames = symbols_frames(symbols, entry, place, &start, &end);
        if (frames != FRAMES_KNOWN || end.number != cases[i].number || end.offset != cases[i].offset)
            fail_msg("%s: frames %d, r%u%+lld", cases[i].place, frames, end.number, (long long)end.offset);
        assert_true(start.is_sp && start.offset == 0);
    }
}

TEST(a_function_that_is_too_long_to_be_read_proves_no_frame)
{
    struct symbols *symbols = fixture("late_a53");
    struct frame_base start, end;
    assert_int_equal(symbols_frames(symbols, address_of(symbols, "endless_body"),
                                    address_of(symbols, "endless_ends"), &start, &end),
                     FRAMES_UNKNOWN);
}

TEST(code_that_only_goes_back_is_not_followed_for_long)
{
    struct symbols *symbols = fixture("late_a53");
    struct frame_base start, end;
    assert_int_equal(symbols_frames(symbols, address_of(symbols, "backwards"),
                                    address_of(symbols, "backwards_ends"), &start, &end),
                     FRAMES_ONE_ONLY);
}

/* One program at 0, where the linker leaves what it says of functions that it dropped, and elsewhere. */
TEST(functions_that_were_dropped_have_no_frames)
{
    struct symbols *low = fixture("blink"), *high = fixture("flash");
    uint64_t main_low = address_of(low, "main"), main_high = address_of(high, "main"), frames = 0;
    for (uint64_t at = 0; at < 0x60; at += 2) {
        struct frame_base here = {0}, there = {0}, ignored;
        assert_int_equal(symbols_frames(low, main_low + at, main_low, &here, &ignored), FRAMES_KNOWN);
        assert_int_equal(symbols_frames(high, main_high + at, main_high, &there, &ignored), FRAMES_KNOWN);
        assert_int_equal(here.number, there.number);
        assert_int_equal(here.offset, there.offset);
        frames += here.offset > 0;
    }
    assert_true(frames > 0);
}
