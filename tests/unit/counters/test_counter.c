#include "cores/architectures.h"
#include "counters/counter.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

static struct core core_of(uint32_t cpuid)
{
    struct core core;
    uint64_t values[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = cpuid, [CORTEX_M_FP_CTRL] = 0x40};
    assert_true(cortex_m_identify(0, values, &core));
    return core;
}

/* SysTick by DDI 0419, tick by tick: after 0 the reload value follows. */
static uint64_t tick(uint64_t value, uint64_t reload)
{
    return value == 0 ? reload : value - 1;
}

TEST(systick_counts_every_tick)
{
    for (uint64_t reload = 1; reload < 12; reload++) {
        struct counter counter = {.bits = 24, .down = true, .zero_is_top = true, .modulus = reload + 1};
        for (uint64_t from = 0; from <= reload; from++) {
            uint64_t value = from;
            for (uint64_t n = 0; n <= reload; n++, value = tick(value, reload))
                assert_int_equal(counter_elapsed(&counter, from, value), n);
        }
    }
}

TEST(up_counters_wrap)
{
    struct counter cyccnt = {.bits = 32}, eight = {.bits = 8}, wide = {.bits = 64}, forty = {.bits = 40};
    assert_int_equal(counter_elapsed(&cyccnt, 0xFFFFFFF0, 0x10), 0x20);
    assert_int_equal(counter_elapsed(&eight, 250, 5), 11);
    assert_int_equal(counter_elapsed(&forty, 0xFFFFFFFFFF, 1), 2);
    assert_true(counter_elapsed(&wide, UINT64_MAX, 1) == 2);
    assert_int_equal(counter_elapsed(&cyccnt, 7, 7), 0);
    assert_true(counter_modulus(&cyccnt) == 0x100000000ULL);
}

TEST(systick_runs_or_is_borrowed)
{
    struct core core = core_of(0x410CC601);
    struct counter_block block;
    uint64_t runs[] = {0x00010007, 0x0001E847}, idle[] = {0, 0x1234}, slow[] = {0x1, 0x1234},
             stuck[] = {0x5, 0};
    assert_true(systick_kind.identify(&core, runs, &block));
    assert_int_equal(block.counters[0].modulus, 0x1E848);
    assert_int_equal(block.n_settings, 1);
    assert_true(block.settings[0].only_watched && block.settings[0].at.offset == 0xE000E014);
    assert_int_equal(block.settings[0].set, 0x1E847);
    assert_string_equal(block.counters[0].name, "CPU_CYCLES");
    assert_true(systick_kind.identify(&core, idle, &block));
    assert_int_equal(block.counters[0].modulus, 0xFFFFFF);
    assert_int_equal(block.n_settings, 3);
    assert_int_not_equal(block.note[0], 0);
    assert_true(systick_kind.identify(&core, slow, &block));
    assert_false(block.counts_cycles);
    assert_string_equal(block.counters[0].name, "SYSTICK");
    assert_non_null(strstr(block.note, "counts its reference clock"));
    assert_true(systick_kind.identify(&core, stuck, &block));
    assert_int_not_equal(block.unusable[0], 0);
}

/* Of what the program reloads each reading has the reload value, in the upper word. */
TEST(a_reload_value_that_changes_is_read_too)
{
    struct core core = core_of(0x410CC601);
    struct counter_block block;
    uint64_t runs[] = {0x00010007, 999}, idle[] = {0, 0};
    assert_true(systick_kind.identify(&core, idle, &block));
    assert_false(systick_kind.follow_reload(&block, "SYST_RVR")); /* it is ours */
    assert_true(systick_kind.identify(&core, runs, &block));
    assert_false(systick_kind.follow_reload(&block, "SYST_CSR"));
    assert_true(systick_kind.follow_reload(&block, "SYST_RVR"));
    assert_int_equal(block.n_settings, 0);
    assert_false(systick_kind.follow_reload(&block, "SYST_RVR"));

    const struct counter *counter = &block.counters[0];
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    uint64_t at = counter_add_read(counter, &list);
    assert_int_equal(items[0].at.offset, 0xE000E014);
    assert_int_equal(items[1].at.offset, 0xE000E018);
    const uint64_t first[] = {999, 10}, second[] = {999, 990}, longer[] = {9999, 990};
    uint64_t from = counter_value(counter, first, at), to = counter_value(counter, second, at);
    uint64_t later = counter_value(counter, longer, at);
    assert_int_equal(counter_elapsed(counter, from, to), 20);
    assert_int_equal(counter_elapsed(counter, later, counter_value(counter, (uint64_t[]){9999, 90}, at)),
                     900);
    assert_false(counter_leads(counter, from, later));
    assert_int_equal(counter_elapsed(counter, from, later), 0);
    const uint64_t running[] = {999, 10, 999}, torn[] = {999, 10, 9999};
    assert_true(counter_value_running(counter, running, 0) == from);
    assert_false(counter_leads(counter, from, counter_value_running(counter, torn, 0)));
}

TEST(split_counters_are_joined)
{
    struct counter split = {
        .bits = 64, .low = {.size = 4, .offset = 0xF8}, .high = {.size = 4, .offset = 0xFC}};
    struct step items[4];
    struct steps list = {.items = items, .room = 4};
    assert_int_equal(counter_add_read(&split, &list), 0);
    assert_int_equal(list.n, 2);
    uint64_t results[] = {0x89ABCDEF, 0x01234567};
    assert_true(counter_value(&split, results, 0) == 0x0123456789ABCDEFULL);
}

/* Read between the two high words, the low one shows which of them it belongs to. */
TEST(a_low_word_finds_its_high_word)
{
    assert_int_equal(counter_high(7, 0x80000000, 7), 7);
    assert_int_equal(counter_high(7, 5, 7), 7);
    assert_int_equal(counter_high(7, 0xFFFFFFFF, 8), 7);
    assert_int_equal(counter_high(7, 0, 8), 8);
    assert_int_equal(counter_high(UINT32_MAX, 5, 0), 0);
    assert_int_equal(counter_high(UINT32_MAX, 0xFFFFFFF0, 0), UINT32_MAX);
}

/* Arm's Neoverse V3 has 10 slots, and 4 vector units: 4 FMLA of 8 lanes are 64 operations in a cycle. */
TEST(an_event_has_its_own_pace)
{
    static const struct {
        uint32_t code;
        const char *name;
        uint8_t least, most;
    } cases[] = {{0x11, "CPU_CYCLES", 1, 1},
                 {0x09, "EXC_TAKEN", 1, 1},
                 {0x3F, "STALL_SLOT", 10, 16},
                 {0x80BF, "0x80BF", 10, 16},
                 {0x80C0, "FP_SCALE_OPS_SPEC", 64, 255},
                 {0x80C1, "FP_FIXED_OPS_SPEC", 64, 255},
                 {0x80C9, "0x80C9", 64, 255},
                 {0x80DF, "0x80DF", 64, 255},
                 {0x80E0, "0x80E0", 10, 16}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t pace = counter_event_pace(16, cases[i].code, cases[i].name);
        assert_true(pace >= cases[i].least && pace <= cases[i].most);
    }
    assert_int_equal(counter_event_pace(1, 0x04, "CPICNT"), 1);
    assert_int_equal(counter_event_pace(0, 0x11, "CPU_CYCLES"), 0);
    assert_int_equal(counter_pace(&(struct counter){.per_cycle = 3}), 3);
    assert_true(counter_pace(&(struct counter){.per_cycle = 0}) >= 8);
}
