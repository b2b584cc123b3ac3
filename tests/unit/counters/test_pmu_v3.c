#include "cores/architectures.h"
#include "counters/counter.h"
#include "fake_pmu.h"

enum { BASE = 0x80430000, A53 = 0x410FD034, A55 = 0x412FD050, CFGR_6 = 0x0001FF06 };

static void place(uint32_t midr, uint32_t cfgr)
{
    f.base = BASE;
    *fake_word(0xE00) = cfgr;
    f.type_mask = 0xFC000000 | (midr == A55 ? 0xFFFF : 0x3FF);
    core = (struct core){.ops = &armv8_ops, .pmu_unit = 1, .pmu_base = BASE, .id = midr};
}

FAKE_TEST(every_core_is_known)
{
    static const struct {
        uint32_t midr;
        const char *events;
        unsigned n;
    } cores[] = {
        {A53, "cortex-a53", 6},
        {A55, "cortex-a55", 6},
        {0x411FD072, "cortex-a57", 6},
        {0x410FD083, "cortex-a57", 6},
        {0x414FD0B1, "cortex-a76", 6},
        {0x411FD132, "cortex-r52", 4},
        {0x410FD042, "cortex-a35", 6},
        {0x410FD4B0, "cortex-a78", 6},
        {0x410FD830, "neoverse-v3", 6},
        {0x410FD870, "armv8-pmuv3-common", 6},
        {0x410FFFF0, "armv8-pmuv3-common", 6},
    };
    *fake_word(0xE04) = 0x41033000; /* what the core itself would see; here it says nothing */
    for (size_t i = 0; i < COUNT(cores); i++) {
        char text[32];
        place(cores[i].midr, 0x0001FF00 | cores[i].n);
        assert_true(fake_identify(&pmu_v3_kind));
        snprintf(text, sizeof text, "PMUv3, %u counters", cores[i].n);
        assert_string_equal(block.text, text);
        assert_string_equal(block.events, cores[i].events);
        assert_string_equal(block.state, "free");
        assert_int_equal(block.n, cores[i].n + 1);
        assert_int_equal(block.counters[0].low.offset, BASE + 0x0F8);
        assert_int_equal(block.counters[0].high.offset, BASE + 0x0FC);
        assert_int_equal(block.counters[0].high.size, 4);
        assert_int_equal(block.counters[0].bits, 64);
        assert_int_equal(block.counters[0].per_cycle, 1);
        for (unsigned k = 0; k < cores[i].n; k++) {
            assert_int_equal(block.counters[k + 1].low.offset, BASE + 8 * k);
            assert_int_equal(block.counters[k + 1].high.size, 0);
            assert_int_equal(block.counters[k + 1].bits, 32);
            assert_true(block.counters[k + 1].per_cycle >= 10); /* STALL_SLOT of a Neoverse V3 */
        }
        assert_int_equal(pmu_v3_kind.counters_for(&block, 0x03), (1U << (cores[i].n + 1)) - 2);
        assert_int_equal(pmu_v3_kind.counters_for(&block, 0x11), 1);
    }
    assert_int_equal(f.n_writes, 0);
}

FAKE_TEST(others_are_not_touched)
{
    struct core none = {.ops = &armv8_ops, .id = A53}, v7 = {.ops = &armv7_ops, .pmu_base = BASE},
                m = {.ops = &cortex_m_ops, .pmu_base = BASE};
    const struct core *others[3] = {&none, &v7, &m};
    for (size_t i = 0; i < 3; i++) {
        fake_must_not_read(&pmu_v3_kind, others[i]);
    }
}

/* As many as the architecture can have: all of them fit, and nothing more is believed. */
FAKE_TEST(no_count_of_counters_is_too_large)
{
    place(A53, 0x1F);
    assert_true(fake_identify(&pmu_v3_kind));
    assert_int_equal(block.n, 32);
    assert_int_equal(block.counters[31].low.offset, BASE + 0xF0);
    assert_int_equal(pmu_v3_kind.counters_for(&block, 0x03), 0xFFFFFFFE);
    assert_true(block.n_settings < BLOCK_SETTINGS);
    struct counter_pick picks[32];
    for (uint8_t i = 0; i < 32; i++)
        picks[i] = (struct counter_pick){.counter = i, .code = 0x03};
    fake_take_found();
    assert_true(fake_program(picks, 32));
    assert_int_equal(*fake_word(0xC00), 0xFFFFFFFF);
    assert_int_equal(*fake_word(0x478), 0x08000003);
    fake_undo();
    assert_int_equal(*fake_word(0xC00), 0);
    place(A53, 0xFF);
    assert_true(fake_identify(&pmu_v3_kind));
    assert_int_equal(block.n, 32);
    assert_string_equal(block.text, "PMUv3, 31 counters");
}

FAKE_TEST(a_free_pmu_is_borrowed_and_given_back)
{
    place(A53, 0x0001FF02);
    *fake_word(0xE04) = 0x58; /* LC, X, D */
    *fake_word(0x008) = 0x1111;
    *fake_word(0x0F8) = 0x89ABCDEF;
    *fake_word(0x0FC) = 0x01234567;
    *fake_word(0x47C) = 0x04000000;
    struct fake_pmu before = f;
    fake_take(&pmu_v3_kind);
    FAKE_WROTE({0x000, 0}, {0x008, 0x1111}, {0x0F8, 0x89ABCDEF}, {0x0FC, 0x01234567}, {0x47C, 0x08000000},
               {0xC80, 0}, {0xC00, 0x80000000}, {0xE04, 0x51});
    struct counter_pick picks[] = {
        {.counter = 0}, {.counter = 1, .code = 0x00}, {.counter = 2, .code = 0xC0}};
    assert_true(fake_program(picks, 3));
    FAKE_WROTE({0x400, 0x08000000}, {0x404, 0x080000C0}, {0xC00, 0x80000003});
    struct step items[4];
    uint64_t results[4];
    struct steps list = {.items = items, .room = 4};
    size_t at = counter_add_read(&block.counters[0], &list);
    assert_int_equal(fake_execute(&f.link, items, list.n, results, NULL, NULL).why, DONE);
    assert_true(counter_value(&block.counters[0], results, at) == 0x0123456789ABCDEFULL);
    *fake_word(0x0F8) = 7;
    *fake_word(0x0FC) += 1;
    *fake_word(0x008) += 9;
    *fake_word(0xC80) = 2;
    fake_undo();
    FAKE_WROTE({0x404, 0}, {0x400, 0}, {0xE04, 0x58}, {0xC20, 0x80000003}, {0xC80, 2}, {0x47C, 0x04000000},
               {0x0FC, 0x01234567}, {0x0F8, 0x89ABCDEF}, {0x008, 0x1111}, {0x000, 0});
    assert_memory_equal(f.words, before.words, sizeof before.words);
}

/* Linux and TF-A set PMCR_EL0.LP (bit 7): then the low word of a counter, which is what is read and armed,
 * wraps unseen. */
FAKE_TEST(long_events_are_switched_off_unless_the_program_counts)
{
    place(A55, CFGR_6);
    *fake_word(0xE04) = 0xC0;
    fake_take(&pmu_v3_kind);
    assert_false(pmu_keeps_long_events(&block.pmu));
    assert_int_equal(*fake_word(0xE04), 0x41);
    fake_undo();
    assert_int_equal(*fake_word(0xE04), 0xC0);
    *fake_word(0xE04) = 0xC1;
    *fake_word(0xC00) = 1;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_true(pmu_keeps_long_events(&block.pmu));
    fake_take_found();
    assert_int_equal(*fake_word(0xE04), 0xC1);
    fake_undo();
}

FAKE_TEST(what_the_program_counts_stays_its_own)
{
    place(A55, CFGR_6);
    *fake_word(0xE04) = 0x49; /* D is set, but LC has it ignored */
    *fake_word(0xC00) = 0x80000021;
    struct fake_pmu before = f;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_string_equal(block.state, "in use: cycles, 0, 5");
    assert_true(block.counts_cycles);
    assert_int_equal(pmu_v3_kind.counters_for(&block, 0x03), 0x3C);
    fake_take_found();
    FAKE_WROTE({0x008, 0}, {0x010, 0}, {0x018, 0}, {0x020, 0}, {0xC80, 0});
    struct counter_pick picks[] = {{.counter = 0}, {.counter = 3, .code = 0x4005}};
    assert_true(fake_program(picks, 2));
    FAKE_WROTE({0x408, 0x08004005}, {0xC00, 0x4});
    fake_undo();
    FAKE_WROTE({0xC20, 0x4}, {0x408, 0}, {0x020, 0}, {0x018, 0}, {0x010, 0}, {0x008, 0});
    assert_memory_equal(f.words, before.words, sizeof before.words);
    *fake_word(0xE04) = 0x09;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_true(block.counts_cycles && block.counters[0].shift == 6);
    *fake_word(0xE04) = 0x01;
    *fake_word(0x47C) = 0x04000000; /* not at EL3 */
    assert_true(fake_identify(&pmu_v3_kind));
    assert_false(block.counts_cycles);
}

/* Nothing is left to program: cycles can still be read. */
FAKE_TEST(a_pmu_that_is_all_in_use_is_only_read)
{
    place(A53, 0x0001FF01);
    *fake_word(0xE04) = 0x41;
    *fake_word(0xC00) = 0x80000001;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_int_equal(pmu_v3_kind.counters_for(&block, 0x03), 0);
    assert_int_equal(pmu_v3_kind.counters_for(&block, 0x11), 1);
    fake_take_found();
    struct counter_pick cycles = {.counter = 0};
    assert_int_equal(f.n_writes, 0);
    assert_true(fake_program(&cycles, 1));
    assert_int_equal(f.n_writes, 0);
    assert_int_equal(ledger_held(f.ledger), 0);
}

FAKE_TEST(a_freeze_at_an_overflow_is_minded)
{
    place(A55, CFGR_6);
    *fake_word(0xE04) = 0x200;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_string_equal(block.unusable, "");
    fake_take_found();
    assert_int_equal(*fake_word(0xE04), 0x001);
    fake_undo();
    assert_int_equal(*fake_word(0xE04), 0x200);
    *fake_word(0xE04) = 0x201;
    *fake_word(0xC00) = 0x1;
    assert_true(fake_identify(&pmu_v3_kind));
    assert_int_not_equal(block.unusable[0], 0);
}

FAKE_TEST(events_that_are_not_there_are_refused)
{
    place(A53, CFGR_6);
    *fake_word(0xE20) = 0x00000108;
    *fake_word(0xE24) = 0x00000002;
    *fake_word(0xE28) = 0x00000020;
    *fake_word(0xE2C) = 0x80000000;
    assert_true(fake_identify(&pmu_v3_kind));
    const struct counter_block a53 = block;
    place(A55, CFGR_6);
    assert_true(fake_identify(&pmu_v3_kind));
    const struct counter_block a55 = block;
    static const struct {
        uint32_t code, on_a53, on_a55;
    } events[] = {
        {0x03, 0x7E, 0x7E}, {0x08, 0x7E, 0x7E}, {0x09, 0, 0},       {0x1E, 0, 0},      {0x21, 0x7E, 0x7E},
        {0x22, 0, 0},       {0x3F, 0, 0},       {0x40, 0x7E, 0x7E}, {0xFF, 0, 0},      {0x3FF, 0x7E, 0x7E},
        {0x400, 0, 0x7E},   {0x4005, 0, 0x7E},  {0x4006, 0, 0},     {0x403F, 0, 0x7E}, {0x4040, 0, 0x7E},
        {0x10003, 0, 0},    {0xFFFFFFFF, 0, 0},
    };
    for (size_t i = 0; i < COUNT(events); i++) {
        assert_int_equal(pmu_v3_kind.counters_for(&a53, events[i].code), events[i].on_a53);
        assert_int_equal(pmu_v3_kind.counters_for(&a55, events[i].code), events[i].on_a55);
    }
}

/* It is of use only above the counter of the event that it goes with. */
FAKE_TEST(a_chain_goes_with_the_first_event)
{
    place(A53, CFGR_6);
    static const struct {
        uint32_t enabled, counters;
    } cases[] = {
        {0x00, 0x04}, /* events go to counter 0: the chain to 1 */
        {0x01, 0},    /* they go to 1, which has none below */
        {0x02, 0},    /* 1 is taken */
        {0x03, 0x10}, /* 2 and 3 */
        {0x1F, 0},    /* only 5 is left */
        {0x3F, 0},
    };
    *fake_word(0xE04) = 1;
    for (size_t i = 0; i < COUNT(cases); i++) {
        *fake_word(0xC00) = cases[i].enabled;
        assert_true(fake_identify(&pmu_v3_kind));
        assert_int_equal(pmu_v3_kind.counters_for(&block, 0x1E), cases[i].counters);
    }
}

/* An unknown core takes 10 bits of a code only: seen, and not counted as another event. */
FAKE_TEST(a_code_that_is_cut_is_seen)
{
    place(0x410FD042, CFGR_6);
    fake_take(&pmu_v3_kind);
    struct counter_pick pick = {.counter = 1, .code = 0x503};
    assert_false(fake_program(&pick, 1));
    pick.code = 0x103;
    assert_true(fake_program(&pick, 1));
}
