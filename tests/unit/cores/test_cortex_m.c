#include "cores/architectures.h"
#include "test.h"

/* The architecture's numbers are written out here on purpose: a shared name would let a slip agree with
 * itself. */

static struct core identify(uint32_t cpuid, uint32_t fp_ctrl)
{
    struct core core;
    uint64_t values[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = cpuid, [CORTEX_M_FP_CTRL] = fp_ctrl};
    assert_true(cortex_m_identify(3, values, &core));
    return core;
}

TEST(names_cores)
{
    struct core core = identify(0x410CC601, 0x40);
    assert_string_equal(core.name, "Cortex-M0+ r0p1");
    assert_int_equal(core.comparators, 4);
    assert_true(cortex_m_is_v6(&core));
    core = identify(0x410FC241, 0x00000260);
    assert_string_equal(core.name, "Cortex-M4 r0p1");
    assert_int_equal(core.comparators, 6);
    assert_false(cortex_m_is_v6(&core));
    core = identify(0x411FC271, 0x10001080); /* M7: NUM_CODE in two pieces, revision 1 */
    assert_int_equal(core.comparators, 0x18);
    assert_int_equal(core.comparator_revision, 1);
    struct core other;
    uint64_t not_arm[CORTEX_M_IDENTITY] = {0x12345678}, a9[CORTEX_M_IDENTITY] = {0x413FC090},
             zero[CORTEX_M_IDENTITY] = {0};
    assert_false(cortex_m_identify(0, not_arm, &other));
    assert_false(cortex_m_identify(0, a9, &other));
    assert_false(cortex_m_identify(0, zero, &other));
}

TEST(tells_architectures_and_security)
{
    struct core star = identify(0x631F1320, 0x10000080), m23 = identify(0x411CD200, 0x10000040);
    struct core m33 = identify(0x410FD214, 0x10000080), m4 = identify(0x410FC241, 0x260);
    assert_string_equal(star.name, "Star-MC1 r1p0");
    assert_true(cortex_m_is_v8(&star) && cortex_m_is_v8(&m23) && cortex_m_is_v8(&m33));
    assert_false(cortex_m_is_v8(&m4));
    assert_true(cortex_m_is_baseline(&m23) && !cortex_m_is_v6(&m23));
    assert_false(cortex_m_is_baseline(&star) || cortex_m_is_baseline(&m33) || cortex_m_is_baseline(&m4));
    assert_int_equal(cortex_m_authentication(&m33).offset, 0xE000EFB8);
    cortex_m_take_authentication(&m33, 0xFF);
    assert_int_equal(m33.security, SECURITY_OPEN);
    assert_string_equal(core_may_be_unseen(&m33), "");
    cortex_m_take_authentication(&m33, 0xAF);
    assert_int_equal(m33.security, SECURITY_HIDDEN);
    assert_has(core_may_be_unseen(&m33), "The chip never stops in Secure code");
    cortex_m_take_authentication(&m33, 0x0F);
    assert_int_equal(m33.security, SECURITY_NONE);
}

TEST(interrupts_are_held_off_while_it_stays_halted)
{
    struct core core = identify(0x410FC241, 0x260);
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    static const uint64_t values[] = {0xA05F000B, 0xA05F0009, 0xA05F0003, 0xA05F0001};
    core_add_hold(&core, &list, true);
    core_add_run_held(&core, &list);
    core_add_let_go(&core, &list);
    assert_int_equal(list.n, 4);
    for (size_t i = 0; i < list.n; i++)
        assert_int_equal(items[i].value, values[i]);
    assert_true(core_held_pending(&core, 0x80000000)); /* NMI */
    assert_false(core_held_pending(&core, 0x14C00000));
}

/* What is written to move comparator 3 there. */
static uint64_t moved_to(const struct core *core, uint64_t to)
{
    struct step items[2];
    struct steps list = {.items = items, .room = 2};
    core_add_comparator(core, &(struct breakpoint_setup){0}, &list, 3, 0x10000000, to);
    assert_int_equal(list.n, 1);
    assert_int_equal(items[0].op, OP_WRITE);
    assert_int_equal(items[0].at.offset, 0xE0002014);
    return items[0].value;
}

static bool in_use(const struct core *core, uint64_t value, uint64_t *address)
{
    return core_comparator_used(core, &value, address);
}

TEST(comparators_match_halfwords)
{
    uint64_t address;
    struct core v1 = identify(0x410CC601, 0x40), v2 = identify(0x411FC271, 0x10000080);
    assert_int_equal(moved_to(&v1, 0x10000100), 0x50000101);
    assert_int_equal(moved_to(&v1, 0x10000102), 0x90000101);
    assert_int_equal(moved_to(&v2, 0x20000102), 0x20000103);
    assert_int_equal(moved_to(&v2, UINT64_MAX), 0);
    assert_true(in_use(&v1, 0x90000101, &address));
    assert_int_equal(address, 0x10000102);
    assert_false(in_use(&v1, 0x90000100, &address));
    assert_true(core_can_compare(&v1, 0x1FFFFFFE));
    assert_false(core_can_compare(&v1, 0x20000000));
    assert_true(core_can_compare(&v2, 0x60000000));
}

TEST(stops_are_told_apart)
{
    struct core core = identify(0x410FC241, 0x260);
    assert_int_equal(core_cause(&core, 0x2, 0x01000000), STOP_BREAKPOINT);
    assert_int_equal(core_cause(&core, 0x1, 0x01000000), STOP_REQUEST);
    assert_int_equal(core_cause(&core, 0x8, 0x01000000), STOP_RESET);
    assert_int_equal(core_cause(&core, 0x8, 0x01000003), STOP_FAULT);
    assert_int_equal(core_cause(&core, 0x4, 0x01000000), STOP_WATCHPOINT);
    assert_int_equal(core_state_of(&core, 0x00030001), CORE_HALTED);
    assert_int_equal(core_state_of(&core, 0x00050001), CORE_ASLEEP);
    assert_int_equal(core_state_of(&core, 0x00090001), CORE_LOCKUP);
    assert_int_equal(core_state_of(&core, 0x01010001), CORE_RUNNING);
}

TEST(tells_handlers_from_calls)
{
    struct core m4 = identify(0x410FC241, 0x260);
    assert_true(core_returns_by_frame(&m4, 0xFFFFFFF9));
    assert_true(core_returns_by_frame(&m4, 0xFFFFFFE1));
    assert_false(core_returns_by_frame(&m4, 0x08000101));
    assert_null(core_no_return(&m4, 0xFFFFFFF9));
    assert_null(core_no_return(&m4, 0x08000101));
    assert_non_null(core_no_return(&m4, 0xFEFFFFFF));
    assert_non_null(core_no_return(&m4, 0xFEFFFFFE));
    assert_null(core_no_return(&m4, 0x08000100));
    struct core m33 = m4;
    m33.security = SECURITY_OPEN; /* a function that Non-secure code called: SG has cleared the bit */
    assert_non_null(core_no_return(&m33, 0x08000100));
    assert_null(core_no_return(&m33, 0x08000101));
    assert_null(core_no_return(&m33, 0));
    m33.security = SECURITY_HIDDEN; /* it never stops in the Secure state */
    assert_null(core_no_return(&m33, 0x08000100));
}

/* xPSR, and whether what follows is done: EQ and NE, LT and GE, the last but one and the last of a block.
 */
TEST(conditions_of_an_it_block)
{
    static const struct {
        uint32_t xpsr;
        bool holds;
    } cases[] = {
        {0x01000000, true},  {0x41000000, true},  {0x01000800, false}, {0x41000800, true}, /* ITE EQ */
        {0x41001800, false}, {0x01001800, true},                                           /* NE */
        {0x8100B800, true},  {0x0100B800, false}, {0x9100B800, false},                     /* LT */
        {0x8100A800, false}, {0x0100A800, true},                                           /* GE */
        {0x01000400, false}, {0x03000000, false}, {0x0100E800, true},                      /* AL */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (cortex_m_condition_holds(cases[i].xpsr) != cases[i].holds)
            fail_msg("%08x", cases[i].xpsr);
}
