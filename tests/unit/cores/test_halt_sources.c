#include "cores/architectures.h"
#include "test.h"

/* Which of a core's stops a register with this value sets, by name; and what clears them. */
static const struct core_stop *set_by(const struct core *core, const uint64_t *identity, uint64_t offset,
                                      uint64_t value, size_t *n)
{
    static struct core_stops all;
    const struct core_stop *found = NULL;
    all.n = 0;
    core_add_stops(core, identity, &all);
    *n = 0;
    for (size_t i = 0; i < all.n; i++) {
        uint64_t set = value & all.items[i].field;
        bool is = all.items[i].at.offset == offset && set >= all.items[i].low && set <= all.items[i].high;
        found = is ? &all.items[i] : found;
        *n += is;
    }
    return found;
}

static void sets(const struct core *core, const uint64_t *identity, uint64_t offset, uint64_t value,
                 const char *name, uint64_t cleared)
{
    size_t n;
    const struct core_stop *stop = set_by(core, identity, offset, value, &n);
    assert_int_equal(n, 1);
    assert_string_equal(stop->name, name);
    assert_int_equal((value & stop->keep) | stop->key, cleared);
}

static void sets_nothing(const struct core *core, const uint64_t *identity, uint64_t offset, uint64_t value)
{
    size_t n;
    (void)set_by(core, identity, offset, value, &n);
    assert_int_equal(n, 0);
}

static const uint64_t TRACED[] = {0x01000000, 0x40000001}, UNTRACED[] = {0, 0x40000001};

TEST(cortex_m_watchpoints_halt_and_do_not_trace)
{
    struct core m4 = {.ops = &cortex_m_ops, .id = 0x410FC241};
    for (uint32_t function = 0; function < 16; function++)
        if (function >= 4 && function <= 7)
            sets(&m4, TRACED, 0xE0001058, 0xA00 | function, "watchpoint", 0xA00);
        else
            sets_nothing(&m4, TRACED, 0xE0001058, 0xA00 | function);
    sets_nothing(&m4, TRACED, 0xE0001068, 5); /* there are four */
    sets_nothing(&m4, UNTRACED, 0xE0001028, 5);
}

TEST(armv8_m_watchpoints_are_those_with_a_debug_action)
{
    struct core m55 = {.ops = &cortex_m_ops, .id = 0x411FD220};
    sets(&m55, TRACED, 0xE0001028, 0x814, "watchpoint", 0x800);
    sets_nothing(&m55, TRACED, 0xE0001028, 0x824); /* traced */
    sets_nothing(&m55, TRACED, 0xE0001028, 0x810); /* matches nothing */
}

TEST(cortex_m_catches)
{
    struct core m0 = {.ops = &cortex_m_ops, .id = 0x410CC601};
    sets(&m0, UNTRACED, 0xE000EDFC, 0x01000001, "catch of a reset (DEMCR.VC_CORERESET)", 0x01000000);
    sets(&m0, UNTRACED, 0xE000EDFC, 0x400, "catch of faults (DEMCR)", 0);
    sets_nothing(&m0, UNTRACED, 0xE000EDFC, 0x01010000); /* of the program's own: MON_EN */
    struct core m33 = {.ops = &cortex_m_ops, .id = 0x411FD211};
    sets(&m33, UNTRACED, 0xE000EDFC, 0x800, "catch of faults (DEMCR)", 0); /* VC_SFERR, DDI 0553 D1.2 */
}

TEST(armv7)
{
    struct core a9 = {.ops = &armv7_ops, .debug_base = 0x80090000};
    const uint64_t four[] = {0x35137030};
    sets(&a9, four, 0x800901CC, 0x1F7, "watchpoint", 0);
    sets_nothing(&a9, four, 0x800901CC, 0x1F6);
    sets_nothing(&a9, four, 0x800901D0, 0x1F7);
    sets(&a9, four, 0x8009001C, 1, "catch of a reset (DBGVCR)", 0);
    sets(&a9, four, 0x8009001C, 0x40, "catch of vectors (DBGVCR)", 0);
}

TEST(armv8)
{
    struct core a53 = {.ops = &armv8_ops, .debug_base = 0x80410000, .cti_base = 0x80420000};
    const uint64_t two[] = {0x00105106};
    sets(&a53, two, 0x80410818, 0x1F, "watchpoint", 0);
    sets_nothing(&a53, two, 0x80410828, 0x1F);
    sets(&a53, two, 0x80410024, 2, "catch of a reset (EDECR.RCE)", 0);
    sets(&a53, two, 0x80410024, 4, "single step (EDECR.SS)", 0);
    struct core a510 = a53;
    a510.catches_by_cti = true;
    sets(&a510, two, 0x80420150, 2, "catch of a reset (CTIDEVCTL.RCE)", 0);
    sets(&a510, two, 0x80420150, 1, "catch of the OS lock (CTIDEVCTL.OSUCE)", 0);
    sets(&a510, two, 0x80410024, 4, "single step (EDECR.SS)", 0);
}

static void triggers(const struct core *core, bool server, size_t n, uint64_t kept)
{
    struct core_stops first = {.n = 0};
    core_add_first_stops(core, server, &first);
    assert_int_equal(first.n, n);
    assert_int_equal(first.items[0].keep & 0xF, kept);
}

TEST(triggers_go_first)
{
    struct core a53 = {.ops = &armv8_ops, .debug_base = 0x80410000, .cti_base = 0x80420000};
    triggers(&a53, false, 2, 0);
    triggers(&a53, true, 2, 3); /* OpenOCD's */
    a53.cti_base = 0;
    triggers(&a53, true, 0, 0);
}

TEST(what_enables_debug_goes_last)
{
    static const struct {
        const struct core_ops *ops;
        uint64_t offset, value, cleared;
    } rows[] = {{&cortex_m_ops, 0xE000EDF0, 0x01010001, 0xA05F0000},
                {&armv7_ops, 0x80090088, 0x0300E003, 0x00008000},
                {&armv8_ops, 0x80090088, 0x03C04013, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core core = {.ops = rows[i].ops, .debug_base = 0x80090000};
        struct core_stops last = {.n = 0};
        core_add_last_stops(&core, &last);
        assert_int_equal(last.n, 1);
        assert_int_equal(last.items[0].at.offset, rows[i].offset);
        assert_true((rows[i].value & last.items[0].field) >= last.items[0].low);
        assert_true((rows[i].cleared & last.items[0].field) < last.items[0].low); /* once is enough */
        assert_int_equal((rows[i].value & last.items[0].keep) | last.items[0].key, rows[i].cleared);
    }
}

TEST(registers_that_were_being_read_may_be_lost)
{
    struct core m4 = {.ops = &cortex_m_ops}, a9 = {.ops = &armv7_ops}, a53 = {.ops = &armv8_ops};
    assert_false(core_may_have_borrowed(&m4, UINT64_MAX));
    assert_true(core_may_have_borrowed(&a9, 0x03006003));
    assert_false(core_may_have_borrowed(&a9, 0x03004003));
    assert_true(core_may_have_borrowed(&a53, 0x23004007));
    assert_true(core_may_have_borrowed(&a53, 0x03004047));
    assert_false(core_may_have_borrowed(&a53, 0x03004007));
}
