/*
 * Armv7 cores: who they are, and the steps that read them. What these do to a core: test_armv7_runs.c. The
 * architecture's numbers are written out: a shared name would let a slip agree with itself.
 */
#include "cores/architectures.h"
#include "rig_armv7.h"

#include "cores/armv7_transfer.h"

static bool identify(uint32_t midr, uint32_t didr, uint32_t authstatus, struct core *core)
{
    uint64_t values[ARMV7_IDENTITY] = {
        [ARMV7_MIDR] = midr, [ARMV7_DIDR] = didr, [ARMV7_AUTHSTATUS] = authstatus};
    return armv7_identify(3, 0x80090000, values, core);
}

static struct core a9(void)
{
    struct core core = {0};
    assert_true(identify(0x413FC090, 0x35141000, 0xAF, &core));
    return core;
}

enum { STEPS_BASE = 0x80090000, STEPS_UNIT = 3, STEPS_CONTROL = 0xC000 };

static void halt_by_request(struct model *m)
{
    m->r[0] = m->program_r0 = 0x12345678;
}

static bool has_its_r0(const struct model *m)
{
    return m->r[0] == 0x12345678;
}

#include "steps_arm.h"

TEST(names_cores)
{
    static const struct {
        uint32_t midr, didr;
        const char *name;
        unsigned comparators;
    } known[] = {
        {0x410FC051, 0x12030000, "Cortex-A5 r0p1", 3},  {0x410FC075, 0x35150000, "Cortex-A7 r0p5", 6},
        {0x413FC082, 0x15141000, "Cortex-A8 r3p2", 6},  {0x413FC090, 0x35141000, "Cortex-A9 r3p0", 6},
        {0x412FC0F1, 0x35150000, "Cortex-A15 r2p1", 6}, {0x411FC0E1, 0x35150000, "Cortex-A17 r1p1", 6},
        {0x411FC144, 0x77040013, "Cortex-R4 r1p4", 8},  {0x411FC153, 0x77040013, "Cortex-R5 r1p3", 8},
        {0x410FC171, 0x77040013, "Cortex-R7 r0p1", 8},  {0x410FC183, 0x77040013, "Cortex-R8 r0p3", 8},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        struct core core = {0};
        assert_true(identify(known[i].midr, known[i].didr, 0xFF, &core));
        assert_string_equal(core.name, known[i].name);
        assert_int_equal(core.comparators, known[i].comparators);
        assert_ptr_equal(core.ops, &armv7_ops);
        assert_int_equal(core.id, known[i].midr);
        assert_int_equal(core.unit, 3);
        assert_int_equal(core.debug_base, 0x80090000);
    }
    struct core other;
    assert_false(identify(0x410FD034, 0x35161000, 0xFF, &other)); /* A53 */
    assert_false(identify(0x413FC090, 0x35161000, 0xFF, &other)); /* Armv8 debug */
    assert_false(identify(0x4107B762, 0x35121000, 0xFF, &other)); /* ARM1176 */
    assert_false(identify(0x410FC241, 0x35141000, 0xFF, &other)); /* Cortex-M4 */
    assert_false(identify(0, 0, 0, &other));
    assert_false(identify(0xFFFFFFFF, 0xFFFFFFFF, 0xFF, &other));
}

TEST(a_core_that_may_not_be_halted_has_no_comparators)
{
    struct core core = {0};
    static const struct {
        uint32_t authstatus;
        unsigned comparators;
    } known[] = {{0xFF, 6}, {0xAF, 6}, {0xFA, 6}, {0x00, 6}, {0x0F, 6},
                 {0xAA, 0}, {0xEE, 0}, {0x0E, 0}, {0xA0, 0}};
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_true(identify(0x413FC090, 0x35141000, known[i].authstatus, &core));
        assert_int_equal(core.comparators, known[i].comparators);
    }
}

TEST(places_in_code_tell_the_instruction_set)
{
    struct core core = a9(), m = {.ops = &cortex_m_ops};
    assert_int_equal(core_code(&core, 0x8000, false), 0x8000);
    assert_int_equal(core_code(&core, 0x8002, true), 0x8003);
    assert_int_equal(core_code_of_lr(&core, 0x8003), 0x8003);
    assert_int_equal(core_code_of_lr(&core, 0x8004), 0x8004);
    assert_int_equal(core_code(&m, 0x8002, true), 0x8002);
    assert_int_equal(core_code_of_lr(&m, 0x8003), 0x8002);
    assert_int_equal(core_code_place(0x8003), 0x8002);
}

TEST(moves_write_what_changes)
{
    struct core core = a9();
    static const struct {
        uint64_t from, to;
        size_t n;
        uint32_t offset[2], value[2];
    } moves[] = {
        {UINT64_MAX, 0x8000, 2, {0x108, 0x148}, {0x8000, 0x1E7}},
        {0x8000, 0x8104, 1, {0x108}, {0x8104}},
        {0x8001, 0x8105, 1, {0x108}, {0x8104}},
        {0x8001, 0x8003, 1, {0x148}, {0x187}},
        {0x8003, 0x8106 | 1, 1, {0x108}, {0x8104}},
        {0x8000, 0x8003, 1, {0x148}, {0x187}},
        {0x8000, 0x8105, 2, {0x108, 0x148}, {0x8104, 0x67}},
        {0x8105, 0x8000, 2, {0x108, 0x148}, {0x8000, 0x1E7}},
        {0x8105, UINT64_MAX, 1, {0x148}, {0}},
    };
    for (size_t i = 0; i < COUNT(moves); i++) {
        fresh();
        core_add_comparator(&core, &(struct breakpoint_setup){0}, &list, 2, moves[i].from, moves[i].to);
        assert_int_equal(list.n, moves[i].n);
        for (size_t k = 0; k < list.n; k++)
            assert_write(k, moves[i].offset[k], moves[i].value[k]);
    }
    uint64_t arm[] = {0x1E7, 0x8000}, thumb[] = {0x187, 0x8000}, off[] = {0x1E6, 0x8000}, address;
    assert_true(core_comparator_used(&core, arm, &address));
    assert_int_equal(address, 0x8000);
    assert_true(core_comparator_used(&core, thumb, &address));
    assert_int_equal(address, 0x8002);
    assert_false(core_comparator_used(&core, off, &address));
    assert_int_equal(core_comparator(&core, 5, 0).offset, 0x80090154);
    assert_int_equal(core_comparator(&core, 5, 1).offset, 0x80090114);
}

/* HMC, bit 13, where there is a Hyp mode: for a match and for the mismatch of a step. */
TEST(comparators_match_in_hyp_mode)
{
    static const struct {
        uint32_t midr, hmc;
    } cores[] = {{0x410FC075, 0x2000}, {0x410FC0D1, 0x2000}, {0x410FC0E1, 0x2000}, {0x412FC0F1, 0x2000},
                 {0x413FC090, 0},      {0x410FC051, 0},      {0x411FC153, 0}};
    for (size_t i = 0; i < COUNT(cores); i++) {
        struct core core;
        assert_true(identify(cores[i].midr, 0x35141000, 0xFF, &core));
        fresh();
        core_add_comparator(&core, &(struct breakpoint_setup){0}, &list, 0, UINT64_MAX, 0x8000);
        assert_write(1, 0x140, 0x1E7 | cores[i].hmc);
        fresh();
        core_add_comparator(&core, &(struct breakpoint_setup){.linked = true, .linked_to = 4}, &list, 0,
                            UINT64_MAX, 0x8001);
        assert_write(1, 0x140, 0x140067 | cores[i].hmc);
        fresh();
        core_add_single_step(&core, &list, 1, 0x8000);
        assert_write(1, 0x144, 0x4001E7 | cores[i].hmc);
    }
}

TEST(stops_are_told_apart)
{
    struct core core = a9();
    assert_int_equal(core_cause(&core, 0x03, 0x10), STOP_REQUEST);
    assert_int_equal(core_cause(&core, 0x07, 0x10), STOP_BREAKPOINT);
    assert_int_equal(core_cause(&core, 0x0B, 0x10), STOP_WATCHPOINT);
    assert_int_equal(core_cause(&core, 0x0F, 0x10), STOP_BREAKPOINT);
    assert_int_equal(core_cause(&core, 0x13, 0x10), STOP_REQUEST);
    assert_int_equal(core_cause(&core, 0x17, 0x1D3), STOP_RESET);
    assert_int_equal(core_cause(&core, 0x17, 0x400001F3), STOP_RESET); /* in Thumb, flags set */
    assert_int_equal(core_cause(&core, 0x17, 0x1DB), STOP_FAULT);
    assert_int_equal(core_cause(&core, 0x17, 0x93), STOP_FAULT);
    assert_int_equal(core_cause(&core, 0x23, 0x10), STOP_OTHER);
    assert_int_equal(core_cause(&core, 0x2B, 0x10), STOP_WATCHPOINT);
    assert_int_equal(core_state_of(&core, 0x03), CORE_HALTED);
    assert_int_equal(core_state_of(&core, 0x02), CORE_RUNNING);
    assert_int_equal(core_state_of(&core, 0x01), CORE_RUNNING); /* on its way out */
    assert_false(core_reset_seen(&core, 0x1));
    assert_false(core_reset_seen(&core, 0x31));
    assert_true(core_reset_seen(&core, 0x9));
    assert_true(core_reset_seen(&core, 0x3));
    assert_true(core_reset_seen(&core, 0x5));
}

/* Of a halted core, as they read there, with nothing left changed. */
TEST(registers_are_read_in_both_instruction_sets)
{
    for (uint32_t thumb = 0; thumb < 2; thumb++) {
        for (unsigned slow = 0; slow < 4; slow++) {
            struct rig *rig = rig_fresh(plain, COUNT(plain));
            struct model *m = &rig->model;
            struct core core = rig_identify(m);
            struct error error = {0};
            struct deadline deadline = deadline_in_ms(1000, NULL);
            uint64_t results[COUNT(items)];
            m->locked = m->os_locked = false;
            m->control = 0xD000;
            m->halted = true;
            m->slow_itr = slow;
            m->pc = 0x8000 + 2 * thumb;
            m->cpsr = thumb ? 0x3F : 0x1F;
            m->r[14] = 0x8805;
            m->r[13] = 0x9F00;
            m->r[0] = m->program_r0 = 0x12345678;
            m->tx_full = true; /* a message that nobody fetched */
            m->dtr_tx = 0xBAD;
            fresh();
            size_t pc = core_add_register(&core, &list, CORE_PC);
            assert_int_equal(link_execute(&m->link, items, list.n, results, &deadline, &error).why, DONE);
            assert_int_equal(core_register_value(&core, CORE_PC, results, pc), 0x8000 + 3 * thumb);
            assert_int_equal(m->control, 0xD000);
            static const enum core_register which[] = {CORE_LR, CORE_SP, CORE_PSP, CORE_STATUS, CORE_R0};
            const uint64_t values[] = {0x8805, 0x9F00, 0x9F00, m->cpsr, 0x12345678};
            size_t at[COUNT(which)];
            m->tx_full = m->tx_l = true; /* seen by what waited for the halt */
            fresh();
            for (size_t i = 0; i < COUNT(which); i++)
                at[i] = core_add_register(&core, &list, which[i]);
            assert_int_equal(link_execute(&m->link, items, list.n, results, &deadline, &error).why, DONE);
            for (size_t i = 0; i < COUNT(which); i++)
                assert_int_equal(core_register_value(&core, which[i], results, at[i]), values[i]);
            assert_int_equal(m->r[0], 0x12345678);
            assert_int_equal(m->careless, 0);
        }
    }
}

TEST(r0_is_with_us_before_it_is_changed)
{
    struct core core = a9();
    for (int i = 0; i < 2; i++) {
        bool with_us = false;
        fresh();
        armv7_add_register(&core, &list, i == 0 ? CORE_PC : CORE_STATUS);
        for (size_t k = 0; k < list.n; k++) {
            with_us |= items[k].op == OP_CHECK;
            if (items[k].op == OP_WRITE && items[k].at.offset == STEPS_BASE + 0x084)
                assert_true(with_us || items[k].value == 0xEE000E15);
        }
    }
}

TEST(modes_that_exceptions_enter)
{
    struct core core = a9();
    assert_string_equal(core_exception_mode(&core, 0x600001D1), "FIQ");
    assert_string_equal(core_exception_mode(&core, 0x20000192), "IRQ");
    assert_string_equal(core_exception_mode(&core, 0x800001D7), "Abort");
    assert_string_equal(core_exception_mode(&core, 0x1FB), "Undefined");
    static const uint32_t others[] = {0x10, 0x1F, 0x1D3, 0x600001D6, 0x1DA};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_null(core_exception_mode(&core, others[i]));
}

TEST(hyp_mode_makes_no_accesses_for_us)
{
    struct core core = a9();
    assert_has(core_hindrance(&core, 0, 0x600001DA), "Hyp");
    static const uint32_t others[] = {0, 0x10, 0x1D3, 0x1F, 0x3F};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_null(core_hindrance(&core, 0, others[i]));
}

/* Encodings as an assembler gives them. */
TEST(calls)
{
    struct core core = a9();
    static const struct {
        uint32_t lr, before, function;
        bool is_call;
    } entries[] = {
        {0x8004, 0xEB00003E, 0x8100, true},         /* 8000: bl 0x8100 */
        {0x8004, 0x0B00003E, 0x8100, true},         /* bleq */
        {0x8004, 0xEB00003E, 0x8200, false},        /* another function's */
        {0x8204, 0xEBFFFFBE, 0x8100, true},         /* 8200: bl 0x8100, backwards */
        {0x8004, 0xFA00003E, 0x8101, true},         /* blx 0x8100 */
        {0x8004, 0xFB00003E, 0x8103, true},         /* blx 0x8102 */
        {0x8004, 0xFA00003E, 0x8103, false},        /* another one in the same word */
        {0x8004, 0xE12FFF33, 0x8100, true},         /* blx r3: may be anywhere */
        {0x8004, 0xEA00003E, 0x8100, false},        /* b */
        {0x8004, 0xE5900000, 0x8100, false},        /* ldr */
        {0x8004, 0xEF000000, 0x8100, false},        /* svc */
        {0x8006, 0xEB00003E, 0x8100, false},        /* from Thumb code, and no call */
        {0x8005, 0, 0x8100, true},                  /* a call from there */
        {0x00000004, 0xEBFFFFFC, 0xFFFFFFF8, true}, /* round the end of the address space */
    };
    for (size_t i = 0; i < COUNT(entries); i++)
        if (core_called_from(&core, entries[i].lr, entries[i].before, entries[i].function) !=
            entries[i].is_call)
            fail_msg("entry %zu", i);
}
