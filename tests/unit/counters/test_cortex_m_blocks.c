/*
 * What is made of a Cortex-M's registers: DWT and SysTick.
 */
#include "../test.h"

#include "cores/architectures.h"
#include "counters/counter.h"

static struct core core_of(uint32_t cpuid)
{
    struct core core;
    uint64_t values[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = cpuid};
    assert_true(cortex_m_identify(0, values, &core));
    return core;
}

/* The block that these values are of, as add_identity reads them. */
static struct counter_block block_of(const struct block_kind *kind, const struct core *core,
                                     const uint64_t *values, size_t n)
{
    struct step items[BLOCK_IDENTITY];
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    struct counter_block block = {0};
    kind->add_identity(core, &list);
    assert_int_equal(list.n, n);
    assert_true(kind->identify(core, values, &block));
    return block;
}

static struct counter_block dwt_of(uint32_t cpuid, uint64_t demcr, uint64_t ctrl)
{
    struct core core = core_of(cpuid);
    return block_of(&dwt_kind, &core, (uint64_t[]){demcr, ctrl}, 2);
}

TEST(a_dwt_is_looked_at_again_with_trace_on)
{
    struct counter_block block = dwt_of(0x410FD214, 0, 0);
    assert_true(block.look_again);
    assert_string_equal(block.unusable, "");
    assert_int_equal(block.settings[0].at.offset, 0xE000EDFC);
    /* CYCCNTENA was set, but nothing counted: the count is put back as that of one that was off */
    struct core m4 = core_of(0x410FC241);
    assert_true(dwt_kind.identify(&m4, (uint64_t[]){0x01000000, 0x40000001}, &block));
    assert_string_equal(block.state, "idle");
    assert_false(block.look_again);
    block = dwt_of(0x410FD214, 0x01000000, 0x41000000);
    assert_false(block.look_again);
    assert_int_equal(block.n, 1);
    block = dwt_of(0x410FD214, 0x01000000, 0x03000000);
    assert_string_not_equal(block.unusable, "");
    block = dwt_of(0x411CD200, 0, 0); /* Cortex-M23 */
    assert_string_equal(block.unusable, "Armv8-M Baseline has a DWT without counters");
    block = dwt_of(0x410CC601, 0, 0);
    assert_string_equal(block.unusable, "Armv6-M has a DWT without counters");
}

/* DWT_CTRL.CYCDISS, which is cleared only where that is allowed, and where the count is nobody else's. */
TEST(cycles_of_the_secure_state)
{
    enum { CYCDISS = 1 << 23, OPEN = 0xFF, HIDDEN = 0xAF, TRACE = 0x01000000, V8 = 0x41000000 };
    static const struct {
        uint64_t authentication, ctrl;
        bool clears;
        const char *says;
    } cases[] = {
        {OPEN, V8, false, "CYCCNT was off; enabled for this measurement"},
        {OPEN, V8 | CYCDISS, true,
         "CYCCNT was off; enabled for this measurement, in Secure state too (DWT_CTRL.CYCDISS)"},
        {HIDDEN, V8 | CYCDISS, false,
         "CYCCNT was off; enabled for this measurement; Secure cycles are not counted (DWT_CTRL.CYCDISS is "
         "set)"},
        {OPEN, V8 | CYCDISS | 1, false, "Secure cycles are not counted (DWT_CTRL.CYCDISS is set)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct core m33 = core_of(0x410FD214);
        cortex_m_take_authentication(&m33, cases[i].authentication);
        struct counter_block block = block_of(&dwt_kind, &m33, (uint64_t[]){TRACE, cases[i].ctrl}, 2);
        const struct setting *ctrl = &block.settings[block.n_settings - 1];
        assert_string_equal(block.note, cases[i].says);
        assert_int_equal(ctrl->at.offset, 0xE0001000);
        assert_int_equal((ctrl->test & CYCDISS) != 0, cases[i].clears);
        assert_int_equal((ctrl->keep & CYCDISS) == 0, cases[i].clears);
        assert_int_equal((ctrl->restore.exact & CYCDISS) != 0, cases[i].clears);
    }
}

TEST(all_but_cyccnt_are_8_bits_wide)
{
    struct counter_block block = dwt_of(0x410FC241, 0x01000000, 0x40000000);
    assert_int_equal(block.n, 6);
    for (size_t i = 0; i < block.n; i++) {
        assert_int_equal(block.counters[i].bits, i == 0 ? 32 : 8);
        assert_int_equal(block.counters[i].low.offset, 0xE0001004 + 4 * i);
    }
}

TEST(the_lock_of_an_m7_is_opened_behind_trace)
{
    struct counter_block block = dwt_of(0x411FC271, 0, 0x40000000);
    assert_int_equal(block.settings[0].at.offset, 0xE000EDFC);
    assert_int_equal(block.settings[1].at.offset, 0xE0001FB0);
    assert_int_equal(block.settings[1].test_at.offset, 0xE0001FB4);
    assert_int_equal(block.settings[1].key, 0xC5ACCE55);
    assert_true(block.settings[1].lock);
    block = dwt_of(0x410FC241, 0, 0x40000000);
    for (size_t i = 0; i < block.n_settings; i++)
        assert_int_not_equal(block.settings[i].at.offset, 0xE0001FB0);
}

TEST(a_banked_systick_is_that_of_the_state_it_was_found_in)
{
    struct core core = core_of(0x410FD214);
    cortex_m_take_authentication(&core, 0xFF);
    struct counter_block secure = block_of(&systick_kind, &core, (uint64_t[]){0, 0, 0x10000}, 3);
    assert_string_equal(secure.text, "Secure SysTick, 24 bits, reload 0xFFFFFE");
    assert_true(secure.look_again);
    assert_int_equal(secure.settings[0].at.offset, 0xE000EE08);
    assert_int_equal(secure.settings[0].set | secure.settings[0].key, 0x20003); /* CDS is left alone */
    assert_int_equal(secure.settings[0].test, 3);
    struct counter_block other = block_of(&systick_kind, &core, (uint64_t[]){7, 999, 0}, 3);
    assert_string_equal(other.text, "Non-secure SysTick, 24 bits, reload 0x0003E7");
    assert_int_equal(other.settings[0].set | other.settings[0].key, 0x20001);
    assert_int_equal(other.settings[0].test, 0); /* it may read as zero */
    /* Selected already: whatever state the core is in by now */
    struct counter_block again = block_of(&systick_kind, &core, (uint64_t[]){7, 999, 0x10001}, 3);
    assert_false(again.look_again);
    assert_string_equal(again.text, "Non-secure SysTick, 24 bits, reload 0x0003E7");
    cortex_m_take_authentication(&core, 0xAF);
    struct counter_block only = block_of(&systick_kind, &core, (uint64_t[]){7, 999}, 2);
    assert_string_equal(only.text, "SysTick, 24 bits, reload 0x0003E7");
    assert_false(only.look_again);
}
