/*
 * Armv8-A cores: the steps that stop, start and read them. Who they are: test_armv8_identity.c; what the
 * steps do to a core: test_armv8_runs.c. The architecture's numbers are written out: a shared name would let
 * a slip agree with itself.
 */
#include "rig_armv8.h"

enum { STEPS_BASE = 0x410000, STEPS_UNIT = 0, STEPS_CONTROL = 0xC04000 };

static void halt_by_request(struct model *m)
{
    m->status = 0x13;
    m->x[0] = m->program_x0 = 0x1234567887654321;
}

static bool has_its_r0(const struct model *m)
{
    return m->x[0] == 0x1234567887654321;
}

#include "steps_arm.h"

static struct core a53(void)
{
    return rig_identify(&rig_fresh(plain, COUNT(plain))->model);
}

TEST(moves_write_what_changes)
{
    struct core core = a53();
    static const struct {
        uint64_t from, to;
        size_t n;
        uint32_t offset[3], value[3];
    } moves[] = {
        {UINT64_MAX, 0x80000, 3, {0x420, 0x424, 0x428}, {0x80000, 0, 0x21E7}},
        {UINT64_MAX, KERNEL + 0x80000, 3, {0x420, 0x424, 0x428}, {0x80000, 0xFFFF8000, 0x21E7}},
        {0x80000, 0x80104, 1, {0x420}, {0x80104}},
        {0x80000, KERNEL + 0x80000, 1, {0x424}, {0xFFFF8000}},
        {KERNEL + 0x80104, 0x80000, 2, {0x420, 0x424}, {0x80000, 0}},
        {0x80000, UINT64_MAX, 1, {0x428}, {0}},
    };
    for (size_t i = 0; i < COUNT(moves); i++) {
        fresh();
        core_add_comparator(&core, &(struct breakpoint_setup){0}, &list, 2, moves[i].from, moves[i].to);
        assert_int_equal(list.n, moves[i].n);
        for (size_t k = 0; k < list.n; k++)
            assert_write(k, moves[i].offset[k], moves[i].value[k]);
    }
    uint64_t on[] = {0x21E7, 0x80000, 0xFFFF8000}, off[] = {0x21E6, 0x80000, 0}, address;
    assert_true(core_comparator_used(&core, on, &address));
    assert_true(address == KERNEL + 0x80000);
    assert_false(core_comparator_used(&core, off, &address));
    assert_int_equal(core_comparator(&core, 5, 0).offset, 0x410458);
    assert_int_equal(core_comparator(&core, 5, 1).offset, 0x410450);
    assert_int_equal(core_comparator(&core, 5, 2).offset, 0x410454);
    assert_true(core_can_compare(&core, UINT64_MAX - 3));
}

/* And says at once that it may run on; MA must have been cleared by this stop. */
/* What an instruction shows of a register, proved: its low half by one read only, which may be repeated by a
 * probe and then sets ERR, so ERR is cleared. `later`: where no read is repeated, TXfull need not be seen. */
static size_t assert_shown(size_t at, unsigned number, uint64_t value, bool later)
{
    static const size_t n = 6;
    assert_step(at, OP_WRITE, 0x084, 0, 0xD5130400 | number);
    assert_step(at + 1, OP_UNTIL, 0x088, 0x1004000, 0x1004000);
    assert_step(at + 2, OP_EXPECT, 0x088, 0x20000040, 0x20000000);
    assert_step(at + 3, OP_EXPECT, 0x08C, UINT32_MAX, value & UINT32_MAX);
    assert_true(items[at + 3].once);
    assert_step(at + 4, OP_EXPECT, 0x080, UINT32_MAX, value >> 32);
    assert_write(at + 5, 0x090, 4);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(items[at + i].reread, i == 3                                    ? REREAD_HARMS
                                               : i == 5 || (later && (i == 1 || i == 2)) ? REREAD_MENDS
                                                                                         : REREAD_FREE);
    return at + n;
}

/* X0 has arrived before it is changed, and is given back after it was checked: two round trips. */
TEST(proofs_through_x0)
{
    struct core core = a53();
    const struct core_proof proof = {.which = CORE_SP, .value = KERNEL + 0x9F00};
    fresh();
    core_add_proofs(&core, &list, &proof, 1, NULL, false);
    size_t first = 0, looks = 0;
    while (first < list.n && items[first].op != OP_CHECK)
        first++;
    assert_int_equal(items[first].mask, 0);
    assert_step(first + 1, OP_WRITE, 0x088, 0, 0x204000);
    for (first++; first < list.n && items[first].op != OP_CHECK;)
        first++;
    while (first + looks < list.n && items[first + looks].op == OP_CHECK)
        looks++;
    assert_int_equal(looks, 2);
    static const uint32_t halves[] = {0x9F00, 0xFFFF8000};
    for (size_t i = 0; i < 2; i++) {
        const struct step *look = &items[first + i], *shown = look - look->back;
        assert_int_equal(look->value, halves[i]);
        assert_int_equal(look->mask, 0xFFFFFFFF);
        assert_int_equal(shown->op, OP_READ);
        assert_int_equal(shown->at.offset, 0x410000 + (i % 2 == 0 ? 0x08C : 0x080));
    }
    for (size_t i = 0; i < list.n; i++)
        assert_true(items[i].op != OP_COPY || i >= first + looks);
    assert_step(first + looks, OP_COPY, 0x08C, 0, 0);
    assert_step(list.n - 1, OP_COPY, 0x088, 0, 0);
}

/* What a register holds is proved before it is borrowed: no step needs the result of another. LR of a call is
 * proved anyway; otherwise it is the spare register. Without an upper half it is given back by one word. */
TEST(proofs_through_another_register)
{
    struct core core = a53();
    const struct core_proof proofs[] = {{.which = CORE_LR, .value = KERNEL + 0x80804},
                                        {.which = CORE_SP, .value = KERNEL + 0x9F00}};
    for (unsigned way = 0; way < 8; way++) {
        bool call = way & 1, wait = way & 2, wide = way & 4;
        struct core_spare spare = {.held = {.value = KERNEL + 0x9F40}};
        struct core_proof lr = proofs[0];
        assert_true(core_spare_register(&core, false, false, &spare.held.which));
        assert_int_equal(spare.held.which, CORE_R0 + 29);
        assert_true(core_spare_register(&core, false, true, &spare.held.which));
        assert_int_equal(spare.held.which, CORE_LR);
        struct core_proof lent =
            call ? lr : (struct core_proof){.which = CORE_R0 + 29, .value = spare.held.value};
        if (!wide)
            lent.value &= UINT32_MAX;
        const struct core_proof both[] = {lent, proofs[1]};
        unsigned number = call ? 30 : 29;
        fresh();
        core_add_proofs(&core, &list, call ? both : both + 1, call ? 2 : 1,
                        call ? &spare : &(struct core_spare){.held = lent}, wait);
        for (size_t i = 0; i < list.n; i++)
            assert_true(items[i].op != OP_CHECK && items[i].op != OP_COPY);
        size_t since = assert_shown(2, number, lent.value, false), at = since;
        assert_write(at++, 0x088, 0x204000);
        assert_write(at++, 0x084, 0x910003E0 | number); /* MOV Xn, SP */
        if (wait)
            assert_step(at++, OP_UNTIL, 0x088, 0x1000000, 0x1000000);
        size_t given = at = assert_shown(at, number, KERNEL + 0x9F00, !wait);
        struct loan loan;
        if (wide)
            assert_write(at++, 0x08C, 0xFFFF8000);
        assert_write(at++, 0x080, lent.value & UINT32_MAX);
        assert_write(at++, 0x084, (wide ? 0xD5330400 : 0xD5330500) | number); /* MRS Xn, DBGDTR_EL0 or -RX */
        assert_step(at++, OP_UNTIL, 0x088, 0x1000000, 0x1000000);
        assert_step(at++, OP_EXPECT, 0x088, 0x41000040, 0x1000000);
        assert_write(at++, 0x088, 0x4000);
        assert_int_equal(list.n, at);
        for (size_t done = 0; done <= list.n; done++) {
            bool borrowed = steps_loan(items, list.n, done, &loan);
            assert_int_equal(borrowed, done > since && done < list.n);
            if (borrowed)
                assert_true(loan.from == given && loan.end == list.n && loan.known);
        }
        assert_int_equal(steps_next_loan(items, list.n, 0), since);
        size_t n = list.n;
        core_add_recover_instruction(&core, &list, &items[given]);
        assert_write(list.n - 2, 0x084, 0xD5330500 | number); /* MRS Xn, DBGDTRRX_EL0 */
        assert_true(list.n > n);
    }
}

TEST(stops_are_told_apart)
{
    struct core core = a53();
    static const struct {
        uint32_t status;
        enum stop_cause cause;
    } known[] = {
        {0x07, STOP_BREAKPOINT}, {0x2F, STOP_BREAKPOINT}, {0x13, STOP_REQUEST}, {0x27, STOP_RESET},
        {0x37, STOP_FAULT},      {0x2B, STOP_WATCHPOINT}, {0x1B, STOP_OTHER},   {0x1F, STOP_OTHER},
        {0x3B, STOP_OTHER},      {0x33, STOP_OTHER},      {0x23, STOP_OTHER},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_int_equal(core_cause(&core, 0x1007D00 | known[i].status, 0), known[i].cause);
        assert_int_equal(core_state_of(&core, 0x1007D00 | known[i].status), CORE_HALTED);
    }
    assert_int_equal(core_state_of(&core, 0x02), CORE_RUNNING);
    assert_int_equal(core_state_of(&core, 0x01), CORE_RUNNING); /* on its way out */
    assert_false(core_reset_seen(&core, 0x811));
    assert_true(core_reset_seen(&core, 0x2 | 1));
    assert_true(core_reset_seen(&core, 0x4 | 1));
    assert_true(core_reset_seen(&core, 0x8 | 1));
}

/* The level that it is at, and which of the levels are in AArch32 state: below one that is, the bits mean
 * nothing. */
TEST(another_state_is_not_read)
{
    struct core core = a53();
    for (unsigned way = 0; way < 2; way++) {
        for (uint32_t level = 0; level < 4; level++)
            for (uint32_t wide = 0; wide < 16; wide++) {
                const char *why = core_unreadable(&core, 0x1004007 | level << 8 | wide << 10);
                bool is_wide = wide >> level == 0xFU >> level;
                if (is_wide == (way == 0))
                    assert_null(why);
                else
                    assert_has(why, is_wide ? "AArch64" : "AArch32");
            }
        assert_true(core_take_state(&core, false));
    }
}

/* What an AArch32 stop showed is what the next is compared with, and no bit that is UNKNOWN. */
TEST(the_first_stop_tells_how_the_next_look)
{
    struct core core = a53();
    assert_true(core_take_state(&core, false));
    assert_true(core.state_mask == 1 << 13 && core.state == 0);
    core_note_state(&core, 0x1004107 | 0x5 << 10); /* all levels */
    assert_true(core.state_mask == 1 << 13 && core.state == 0);
    core_note_state(&core, 0x1004107 | 0xB << 10); /* EL2 and below, at EL1 */
    assert_true(core.state_mask == (3 << 12 | 3 << 8) && core.state == (1 << 13 | 1 << 8));
    core_note_state(&core, 0x1004007 | 0xE << 10); /* EL0 alone */
    assert_true(core.state_mask == (0xF << 10 | 3 << 8) && core.state == 0xE << 10);
}

TEST(a_part_without_aarch64_takes_no_such_program)
{
    uint64_t values[ARMV8_IDENTITY] = {[ARMV8_MIDR] = 0x411FD133, [ARMV8_AUTHSTATUS] = 0xFF};
    struct core core;
    armv8_identify(3, 0x80010000, 0, values, &core);
    assert_string_equal(core.name, "Cortex-R52 r1p3");
    assert_false(core_has(&core, WIDE_REGISTERS));
    assert_true(core_take_state(&core, false));
    assert_false(core_take_state(&core, true));
}

/* Of a halted core, as they read there, with nothing left over. */
TEST(registers_are_read_through_the_channel)
{
    for (unsigned way = 0; way < 16; way++) {
        struct rig *rig = rig_fresh(plain, COUNT(plain));
        struct model *m = &rig->model;
        struct core core = rig_identify(m);
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(1000, NULL);
        uint64_t results[COUNT(items)];
        m->locked = m->os_locked = false;
        m->control = 0xC04000;
        m->pc = KERNEL + 0x80000;
        model_enter(m, 0x07);
        m->slow_itr = way % 4;
        m->sp = KERNEL + 0x9F00;
        m->tx_full = way & 4; /* a message that nobody fetched, one way or the other */
        m->rx_full = way & 8;
        for (unsigned i = 0; i < 31; i++)
            m->x[i] = UINT64_C(0x100000001) * (i + 1);
        m->program_x0 = m->x[0];
        static const enum core_register which[] = {CORE_PC, CORE_LR,      CORE_SP,      CORE_PSP,
                                                   CORE_R0, CORE_R0 + 29, CORE_R0 + 30, CORE_STATUS};
        const uint64_t values[] = {m->pc, m->x[30], m->sp, m->sp, m->x[0], m->x[29], m->x[30], MODEL_PSTATE};
        size_t at[COUNT(which)];
        fresh();
        for (size_t i = 0; i < COUNT(which); i++)
            at[i] = core_add_register(&core, &list, which[i]);
        assert_false(list.overflow);
        assert_int_equal(link_execute(&m->link, items, list.n, results, &deadline, &error).why, DONE);
        for (size_t i = 0; i < COUNT(which); i++)
            assert_true(core_register_value(&core, which[i], results, at[i]) == values[i]);
        assert_true(m->x[0] == m->program_x0);
        assert_false(m->tx_full || m->rx_full || m->err);
        assert_int_equal(m->careless, 0);
    }
}

TEST(debug_registers_have_their_names)
{
    static const struct {
        struct address at;
        const char *name;
    } named[] = {{{.size = 4, .offset = 0x80410024}, "EDECR"},
                 {{.size = 4, .offset = 0x80410310}, "EDPRCR"},
                 {{.size = 4, .offset = 0x80410424}, "DBGBVR2_EL1"},
                 {{.size = 4, .offset = 0x80410438}, "DBGBCR3_EL1"},
                 {{.size = 4, .offset = 0x804200A4}, "CTIOUTEN1"}};
    const struct core core = a53();
    char name[32] = "";
    for (size_t i = 0; i < COUNT(named); i++) {
        struct address at = named[i].at;
        at.space = core_debug(&core, 0).space;
        at.unit = core_debug(&core, 0).unit;
        at.offset += named[i].at.offset >= 0x80420000 ? core_cti(&core, 0).offset - 0x80420000
                                                      : core_debug(&core, 0).offset - 0x80410000;
        assert_true(core_debug_name(&core, at, name, sizeof name));
        assert_string_equal(name, named[i].name);
    }
    assert_false(core_debug_name(&core, core_debug(&core, 0xFFC), name, sizeof name));
    struct core alone = core; /* without a trigger interface, whose registers would be others */
    alone.cti_base = 0;
    assert_true(core_debug_name(&alone, core_debug(&core, 0x438), name, sizeof name));
    assert_string_equal(name, "DBGBCR3_EL1");
    assert_false(core_debug_name(&alone, core_cti(&core, 0xA4), name, sizeof name));
}
