/*
 * The unwinder's rules one by one, on stacks that are made here; test_unwind_truth.c has those of programs.
 */
#include "fixture.h"

#include "base/arm_debug.h"
#include "symbols/internal.h"
#include "symbols/unwind.h"

enum { BASE = 0x20000000, WORDS = 128, STATUS = 1 << 24, EXC_TO_PSP = 0xFFFFFFFD, EXC_TO_MSP = 0xFFFFFFF9 };

static struct symbols *m4;
static struct unwind *unwind;

static void set_up(void)
{
    m4 = fixture("stacks_m4");
    unwind = unwind_open(m4);
    assert_non_null(unwind);
}

static void tear_down(void)
{
    unwind_close(unwind);
}

#define UNWIND_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

/* The words from BASE on; after `end` nothing can be read. */
struct memory {
    uint32_t words[WORDS];
    size_t end;
};

static bool read_words(void *context, uint64_t address, void *out, size_t size)
{
    const struct memory *memory = context;
    if (address < BASE || address + size > BASE + 4 * memory->end)
        return false;
    memcpy(out, (const uint8_t *)memory->words + (address - BASE), size);
    return true;
}

static uint32_t in_m4(const char *name)
{
    return (uint32_t)address_of(m4, name);
}

/* Where the first call of the callee in the caller returns to. */
static uint32_t return_to(const char *caller, const char *callee)
{
    struct location from = must_locate(m4, caller);
    struct instruction call;
    for (uint64_t at = from.low + 4; at <= from.high; at += 2)
        if (call_before(m4, at, ISA_THUMB, &call) && call.kind == GOES_CALL && call.target == in_m4(callee))
            return (uint32_t)at;
    fail_msg("%s does not call %s", caller, callee);
    return 0;
}

/* At the first instruction of a function, nothing of it done. */
static struct unwind_core core_at(const char *function, uint32_t back)
{
    struct unwind_core core = {.known = UNWIND_NEEDS_ARM, .is_m = true, .status = STATUS};
    core.value[UNWIND_ARM_PC] = in_m4(function);
    core.value[UNWIND_ARM_LR] = back;
    core.value[UNWIND_ARM_SP] = BASE;
    return core;
}

static struct unwind_stack find(const struct unwind_core *core, struct memory *memory)
{
    struct unwind_stack found;
    unwind_find(unwind, core, read_words, memory, &found);
    return found;
}

/* An exception's frame at a place, of code that was interrupted in `library` and was called by main. */
static void put_frame(struct memory *memory, size_t at)
{
    memory->words[at + 5] = return_to("main", "library") | 1;
    memory->words[at + 6] = in_m4("library");
    memory->words[at + 7] = STATUS;
}

static void must_be_interrupted(const struct unwind_stack *found)
{
    assert_int_equal(found->count, 3);
    assert_true(found->at[1].has_taken);
    assert_true(found->at[1].is_exact);
    assert_false(found->at[1].is_guess);
    assert_int_equal(found->at[1].pc, in_m4("library"));
    assert_int_equal(found->at[2].pc, return_to("main", "library"));
    assert_int_equal(unwind_place(&found->at[1]), found->at[1].pc);
    assert_int_equal(unwind_place(&found->at[2]), found->at[2].pc - 1);
}

UNWIND_TEST(an_exception_frame_on_the_process_stack)
{
    struct memory memory = {.end = WORDS};
    struct unwind_core core = core_at("handler", EXC_TO_PSP);
    core.psp = BASE + 4 * 32;
    put_frame(&memory, 32);
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_VALUE);
    core.knows_psp = true;
    struct unwind_stack found = find(&core, &memory);
    must_be_interrupted(&found);
}

UNWIND_TEST(exceptions_of_v8m)
{
    struct memory memory = {.end = WORDS};
    struct unwind_core core = core_at("handler", 0xFFFFFFBC);
    core.psp = BASE;
    core.knows_psp = true;
    put_frame(&memory, 0);
    struct unwind_stack found = find(&core, &memory); /* Non-secure, from Non-secure */
    must_be_interrupted(&found);
    core.value[UNWIND_ARM_LR] = 0xFFFFFFBD; /* Non-secure, and the handler is Secure */
    assert_int_equal(find(&core, &memory).end, UNWIND_SECURITY);
    core.value[UNWIND_ARM_LR] = 0xFEFFFFFF; /* a function that Secure code called */
    assert_int_equal(find(&core, &memory).end, UNWIND_SECURITY);
    core.value[UNWIND_ARM_LR] = 0xFFFFFFDD; /* Secure, with R4 to R11 below the frame */
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    put_frame(&memory, 10);
    memory.words[0] = 0xFEFA125B;
    found = find(&core, &memory);
    must_be_interrupted(&found);
}

UNWIND_TEST(frames_with_all_floating_point_registers)
{
    enum { SECURE = 0xFFFFFFED, FPCCR_AT = 0xE000EF34, BACK = 0x100 };
    struct memory memory = {.end = WORDS};
    struct unwind_core core = core_at("handler", SECURE);
    core.psp = BASE;
    core.knows_psp = true;
    put_frame(&memory, 0);
    struct unwind_stack found = find(&core, &memory); /* Armv7-M has the same value */
    must_be_interrupted(&found);
    core.has_security = true;
    found = find(&core, &memory);
    assert_int_equal(found.end, UNWIND_NO_MEMORY);
    assert_int_equal(found.unread, FPCCR_AT);
    assert_int_equal(exception_frame_end(BACK, SECURE, 0, 0), BACK + 0x68);
    assert_int_equal(exception_frame_end(BACK, SECURE, 1 << 9, FPCCR_TS), BACK + 0xAC);
    assert_int_equal(exception_frame_end(BACK, 0xFFFFFFAD, 0, FPCCR_TS), BACK + 0x68); /* Non-secure */
    assert_int_equal(exception_frame_end(BACK, 0xFFFFFFFD, 0, FPCCR_TS), BACK + 0x20);
}

UNWIND_TEST(exceptions_that_cannot_be)
{
    struct memory memory = {.end = WORDS};
    struct unwind_core core = core_at("handler", EXC_TO_MSP);
    put_frame(&memory, 0);
    memory.words[7] = 0; /* not Thumb */
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    memory.words[7] = STATUS;
    memory.words[6] = BASE; /* not code */
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    memory.words[6] = in_m4("library");
    memory.words[5] = EXC_TO_MSP; /* a thread is not a handler */
    assert_int_equal(find(&core, &memory).count, 2);
    core.value[UNWIND_ARM_LR] = 0xFFFFFFF5; /* a handler on the process stack */
    assert_int_equal(find(&core, &memory).count, 1);
    core.value[UNWIND_ARM_LR] = EXC_TO_MSP;
    core.is_m = false;
    assert_int_equal(find(&core, &memory).count, 1);
}

/* --- AArch64 -------------------------------------------------------------------------------------------- */

/* In `leaf`, at the bottom of a stack that `thread` begins; the signature is in bits 54 up to the width of
 * virtual addresses: DDI 0487 D8.10. */
static struct unwind_stack find_signed(uint64_t signature)
{
    struct symbols *program = fixture("signed");
    struct unwind *of_a64 = unwind_open(program);
    uint64_t saved[] = {0, address_of(program, "after_inner") | signature, 0,
                        address_of(program, "after_outer") | signature};
    struct memory memory = {.end = sizeof saved / 4};
    struct unwind_core core = {.known = UINT64_C(1) << A64_FP | UINT64_C(1) << UNWIND_A64_LR |
                                        UINT64_C(1) << UNWIND_A64_SP | UINT64_C(1) << UNWIND_A64_PC};
    struct unwind_stack found;
    memcpy(memory.words, saved, sizeof saved);
    core.value[UNWIND_A64_PC] = address_of(program, "leaf");
    core.value[UNWIND_A64_LR] = address_of(program, "after_leaf");
    core.value[UNWIND_A64_SP] = BASE;
    assert_non_null(of_a64);
    unwind_find(of_a64, &core, read_words, &memory, &found);
    unwind_close(of_a64);
    return found;
}

TEST(return_addresses_that_are_signed)
{
    static const uint64_t signatures[] = {
        0, UINT64_C(0x7F) << 48, UINT64_C(0x2A) << 48 | UINT64_C(0x155) << 39,
        UINT64_C(0x2A) << 48 | UINT64_C(0x5A5A) << 32, UINT64_C(0x55) << 56 | UINT64_C(0x33) << 48};
    for (size_t i = 0; i < COUNT(signatures); i++) {
        struct unwind_stack found = find_signed(signatures[i]);
        if (found.count != 4 || found.end != UNWIND_OUTERMOST)
            fail_msg("0x%llX: %zu frames, %s", (unsigned long long)signatures[i], found.count,
                     unwind_end_text(found.end));
        assert_int_equal(found.at[3].pc, address_of(fixture("signed"), "after_outer"));
    }
}

/* --- what ends a stack ---------------------------------------------------------------------------------- */

UNWIND_TEST(what_was_not_read_ends_a_stack)
{
    struct memory memory = {.end = 6};
    struct unwind_core core = core_at("handler", EXC_TO_MSP);
    put_frame(&memory, 0);
    struct unwind_stack found = find(&core, &memory);
    assert_int_equal(found.end, UNWIND_NO_MEMORY);
    assert_int_equal(found.unread, BASE + 24);
    assert_int_equal(found.count, 1);
    core.known &= ~(UINT64_C(1) << UNWIND_ARM_SP);
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_VALUE);
    core = core_at("leaf", return_to("recurse", "leaf") | 1);
    core.known &= ~(UINT64_C(1) << UNWIND_ARM_LR);
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_VALUE);
}

/* What is moved out of a register that is not known is not known, whatever was there before. */
TEST(a_stack_pointer_from_an_unknown_register_ends_a_stack)
{
    struct symbols *labels = fixture("labels");
    struct unwind *of = unwind_open(labels);
    struct memory memory = {.end = WORDS};
    struct unwind_stack found;
    struct unwind_core core = {.known = UNWIND_NEEDS_ARM, .is_m = true, .status = STATUS};
    core.value[UNWIND_ARM_PC] = address_of(labels, "moves_sp");
    core.value[UNWIND_ARM_LR] = (address_of(labels, "calls_it") + 4) | 1;
    core.value[UNWIND_ARM_SP] = core.value[2] = core.value[7] = BASE;
    assert_non_null(of);
    unwind_find(of, &core, read_words, &memory, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.end, UNWIND_NO_VALUE);
    core.known |= 1 << 2;
    unwind_find(of, &core, read_words, &memory, &found);
    assert_int_equal(found.at[1].pc, core.value[UNWIND_ARM_LR] & ~UINT64_C(1));
    unwind_close(of);
}

UNWIND_TEST(a_return_address_must_be_behind_a_call_of_the_function)
{
    struct memory memory = {.end = 0};
    struct unwind_core core = core_at("leaf", return_to("recurse", "leaf") | 1);
    assert_int_equal(find(&core, &memory).count, 2);
    core.value[UNWIND_ARM_LR] = return_to("recurse", "leaf"); /* ARM's state */
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    core.value[UNWIND_ARM_LR] = (return_to("recurse", "leaf") + 2) | 1;
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    core.value[UNWIND_ARM_LR] = return_to("library", "leaf") | 1;
    assert_int_equal(find(&core, &memory).count, 2);
    core.value[UNWIND_ARM_LR] = return_to("main", "library") | 1; /* which does not jump to leaf */
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    core.value[UNWIND_ARM_LR] = BASE | 1;
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
}

UNWIND_TEST(a_tail_call_is_allowed_for)
{
    struct instruction call, by_register = {.kind = GOES_CALL_BY};
    uint32_t back = return_to("main", "tail");
    assert_true(call_before(m4, back, ISA_THUMB, &call));
    assert_true(call_leads(m4, &call, in_m4("tail")));
    assert_true(call_leads(m4, &call, in_m4("recurse")));
    call.target = in_m4("leaf");
    assert_false(call_leads(m4, &call, in_m4("recurse")));
    assert_true(call_leads(m4, &by_register, in_m4("recurse")));
    assert_false(call_before(m4, back + 2, ISA_THUMB, &call));
}

UNWIND_TEST(a_stack_does_not_end_with_a_function_that_is_called)
{
    struct memory memory = {.end = 0};
    struct unwind_core core = core_at("leaf", 0);
    assert_int_equal(find(&core, &memory).end, UNWIND_NO_CALL);
    core = core_at("handler", 0); /* as a thread's first function, which nothing calls by its number */
    assert_int_equal(find(&core, &memory).end, UNWIND_OUTERMOST);
    core = core_at("_start", 0x12345678);
    assert_int_equal(find(&core, &memory).end, UNWIND_OUTERMOST);
}

TEST(inlined_functions_around_an_address)
{
    struct symbols *blink = fixture("blink");
    struct inlined_frame found[4];
    char text[64];
    struct location inside = must_locate(blink, fixture_line("blink.c", "in once", text, sizeof text));
    assert_int_equal(symbols_inlined(blink, inside.address, found, 4), 1);
    assert_string_equal(found[0].name, "once");
    assert_string_equal(found[0].called, fixture_line("blink.c", "= once(", text, sizeof text));
    assert_int_equal(symbols_inlined(blink, inside.address, found, 0), 0);
    assert_int_equal(symbols_inlined(blink, inside.high - 2, found, 4), 0);
    assert_int_equal(symbols_inlined(NULL, inside.low, found, 4), 0);
}

static bool read_always(void *context, uint64_t address, void *out, size_t size)
{
    const uint32_t *word = context;
    (void)address;
    memcpy(out, word, size);
    return true;
}

UNWIND_TEST(a_stack_without_end_is_cut)
{
    struct unwind_stack found;
    uint32_t word = return_to("recurse", "recurse") | 1;
    struct unwind_core core = core_at("recurse", word);
    unwind_find(unwind, &core, read_always, &word, &found);
    assert_int_equal(found.end, UNWIND_TOO_DEEP);
    assert_int_equal(found.count, UNWIND_FRAMES);
}

/* As assembled by GNU as; of two halfwords the first is the upper. */
TEST(instructions_that_make_and_end_frames)
{
    static const struct {
        enum instruction_set isa;
        uint32_t code;
        struct frame_op op;
    } cases[] = {
        {ISA_THUMB, 0xB570, {.kind = FRAME_PUSH, .list = 0x4070}},                     /* push {r4-r6, lr} */
        {ISA_THUMB, 0xBD70, {.kind = FRAME_POP, .list = 0x8070}},                      /* pop {r4-r6, pc} */
        {ISA_THUMB, 0xB086, {.kind = FRAME_ADD, .to = 13, .from = 13, .number = -24}}, /* sub sp, #24 */
        {ISA_THUMB, 0xB006, {.kind = FRAME_ADD, .to = 13, .from = 13, .number = 24}},  /* add sp, #24 */
        {ISA_THUMB, 0x46BD, {.kind = FRAME_ADD, .to = 13, .from = 7}},                 /* mov sp, r7 */
        {ISA_THUMB, 0x46A9, {.kind = FRAME_ADD, .to = 9, .from = 5}},                  /* mov r9, r5 */
        {ISA_THUMB, 0x0020, {.kind = FRAME_ADD, .to = 0, .from = 4}},                  /* movs r0, r4 */
        {ISA_THUMB, 0x4718, {.kind = FRAME_RETURN, .from = 3}},                        /* bx r3 */
        {ISA_THUMB, 0x4798, {.kind = FRAME_BRANCH}},                                   /* blx r3 */
        {ISA_THUMB, 0x449D, {.kind = FRAME_LOST}},                                     /* add sp, r3 */
        {ISA_THUMB, 0xE7FE, {.kind = FRAME_JUMP}},                                     /* b . */
        {ISA_THUMB, 0xD0FE, {.kind = FRAME_BRANCH}},                                   /* beq . */
        {ISA_THUMB, 0xB120, {.kind = FRAME_BRANCH}},                                   /* cbz r0, . + 12 */
        {ISA_THUMB, 0x1840, {.kind = FRAME_OTHER}},                                    /* adds r0, r0, r1 */
        {ISA_THUMB, 0xE92D41F0, {.kind = FRAME_PUSH, .list = 0x41F0}},                 /* push {r4-r8, lr} */
        {ISA_THUMB, 0xE8BD81F0, {.kind = FRAME_POP, .list = 0x81F0}},                  /* pop {r4-r8, pc} */
        {ISA_THUMB, 0xF84DED04, {.kind = FRAME_PUSH, .list = 0x4000}},                 /* push {lr} */
        {ISA_THUMB, 0xF85DFB04, {.kind = FRAME_POP, .list = 0x8000}},                  /* pop {pc} */
        {ISA_THUMB, 0xE96D4502, {.kind = FRAME_PUSH, .list = 0x30}}, /* strd r4, r5, [sp, #-8]! */
        {ISA_THUMB, 0xE8FD4502, {.kind = FRAME_POP, .list = 0x30}},  /* ldrd r4, r5, [sp], #8 */
        {ISA_THUMB,
         0xED2D8B04,
         {.kind = FRAME_ADD, .to = 13, .from = 13, .number = -16}}, /* vpush {d8, d9} */
        {ISA_THUMB,
         0xF2AD1D2C,
         {.kind = FRAME_ADD, .to = 13, .from = 13, .number = -300}}, /* subw sp, #300 */
        {ISA_THUMB, 0xF7FFFFFE, {.kind = FRAME_BRANCH}},             /* bl . */
        {ISA_THUMB, 0xF7FFBFFE, {.kind = FRAME_JUMP}},               /* b.w . */
        {ISA_THUMB, 0xEBAD0D03, {.kind = FRAME_LOST}},               /* sub.w sp, sp, r3 */
        {ISA_ARM, 0xE92D4010, {.kind = FRAME_PUSH, .list = 0x4010}}, /* push {r4, lr} */
        {ISA_ARM, 0xE8BD8010, {.kind = FRAME_POP, .list = 0x8010}},  /* pop {r4, pc} */
        {ISA_ARM, 0x08BD8010, {.kind = FRAME_BRANCH}},               /* popeq {r4, pc} */
        {ISA_ARM, 0xE52DE004, {.kind = FRAME_PUSH, .list = 0x4000}}, /* push {lr} */
        {ISA_ARM, 0xE49DF004, {.kind = FRAME_POP, .list = 0x8000}},  /* pop {pc} */
        {ISA_ARM, 0xE16D40F8, {.kind = FRAME_PUSH, .list = 0x30}},   /* strd r4, [sp, #-8]! */
        {ISA_ARM, 0xE0CD40D8, {.kind = FRAME_POP, .list = 0x30}},    /* ldrd r4, [sp], #8 */
        {ISA_ARM, 0xE24DD0AC, {.kind = FRAME_ADD, .to = 13, .from = 13, .number = -172}}, /* sub sp, #172 */
        {ISA_ARM, 0xE28DDC01, {.kind = FRAME_ADD, .to = 13, .from = 13, .number = 256}},  /* add sp, #256 */
        {ISA_ARM, 0xE12FFF1E, {.kind = FRAME_RETURN, .from = 14}},                        /* bx lr */
        {ISA_ARM, 0xE1A0F00E, {.kind = FRAME_RETURN, .from = 14}},                        /* mov pc, lr */
        {ISA_ARM, 0xEAFFFFFE, {.kind = FRAME_JUMP}},                                      /* b . */
        {ISA_ARM, 0xEBFFFFFE, {.kind = FRAME_BRANCH}},                                    /* bl . */
        {ISA_ARM, 0x024DD008, {.kind = FRAME_LOST}},                                      /* subeq sp, #8 */
        {ISA_ARM, 0xE04DD003, {.kind = FRAME_LOST}},                                      /* sub sp, sp, r3 */
        {ISA_ARM, 0xE0800001, {.kind = FRAME_OTHER}},                                     /* add r0, r0, r1 */
        {ISA_A64, 0xD65F03C0, {.kind = FRAME_OTHER}},                                     /* not asked for */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct frame_op op = frame_op_of(cases[i].isa, cases[i].code), ought = cases[i].op;
        if (op.kind != ought.kind || op.list != ought.list || op.to != ought.to || op.from != ought.from ||
            op.number != ought.number)
            fail_msg("%08x", cases[i].code);
    }
}
