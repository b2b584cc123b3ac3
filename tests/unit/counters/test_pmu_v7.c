#include "cores/architectures.h"
#include "counters/counter.h"
#include "fake_pmu.h"

enum { BASE = 0x80091000, A5 = 0x410FC051, A7 = 0x410FC075, A9 = 0x413FC090 };
static const uint32_t CYCLES = 0x80000000;

static struct core core_of(uint32_t midr)
{
    return (struct core){.ops = &armv7_ops, .pmu_unit = 3, .pmu_base = BASE, .id = midr};
}

static void place(uint32_t midr, uint32_t pmcr)
{
    f.base = BASE;
    *fake_word(0xE04) = pmcr;
    f.type_mask = midr == A9 ? 0xFF : midr == A5 ? 0xF00000FF : 0xF80000FF;
    core = core_of(midr);
}

FAKE_TEST(every_core_is_known)
{
    static const struct {
        uint32_t midr, pmcr;
        const char *text, *events;
        unsigned n;
    } cores[] = {
        {A5, 0x41051000, "PMUv2, 2 counters", "cortex-a5", 2},
        {A7, 0x41072000, "PMUv2, 4 counters", "cortex-a7", 4},
        {A9, 0x41093000, "PMUv1, 6 counters", "cortex-a9", 6},
        {0x412FC0F1, 0x410F3000, "PMUv2, 6 counters", "cortex-a15", 6},
        {0x411FC0E1, 0x410E3000, "PMUv2, 6 counters", "cortex-a17", 6},
        {0x410FC170, 0x41174000, "PMUv1, 8 counters", "cortex-r7", 8},
        {0x410FC180, 0x41184000, "PMUv1, 8 counters", "cortex-r8", 8},
        {0x410FC230, 0x41002000, "PMUv1, 4 counters", "armv7-common", 4},
        {0x510FC090, 0x51003000, "PMUv1, 6 counters", "armv7-common", 6}, /* nobody's Cortex-A9 */
    };
    for (size_t i = 0; i < COUNT(cores); i++) {
        place(cores[i].midr, cores[i].pmcr);
        assert_true(fake_identify(&pmu_v7_kind));
        assert_string_equal(block.text, cores[i].text);
        assert_string_equal(block.events, cores[i].events);
        assert_string_equal(block.state, "free");
        assert_int_equal(block.n, cores[i].n + 1);
        assert_true(block.counts_cycles);
        assert_string_equal(block.counters[0].name, "CPU_CYCLES");
        assert_int_equal(block.counters[0].low.offset, BASE + 0x07C);
        assert_int_equal(block.counters[0].low.unit, 3);
        assert_int_equal(block.counters[0].bits, 32);
        assert_int_equal(block.counters[0].high.size, 0);
        for (unsigned k = 0; k < cores[i].n; k++) {
            assert_int_equal(block.counters[k + 1].low.offset, BASE + 4 * k);
            assert_int_equal(block.counters[k + 1].bits, 32);
            assert_string_equal(block.counters[k + 1].name, "");
        }
        assert_int_equal(pmu_v7_kind.counters_for(&block, 0x03), (1U << (cores[i].n + 1)) - 2);
        assert_int_equal(pmu_v7_kind.counters_for(&block, 0x11), 1);
    }
    assert_int_equal(f.n_writes, 0);
}

FAKE_TEST(others_are_not_touched)
{
    struct core none = core_of(A9), v8 = core_of(0x410FD034), m = core_of(0x410FC241), a9 = core_of(A9);
    none.pmu_base = 0;
    v8.ops = &armv8_ops;
    m.ops = &cortex_m_ops;
    const struct core *others[3] = {&none, &v8, &m};
    for (size_t i = 0; i < 3; i++) {
        fake_must_not_read(&pmu_v7_kind, others[i]);
    }
    fake_must_not_read(&dwt_kind, &a9);
    fake_must_not_read(&systick_kind, &a9);
}

/* Version 1 has none of these, and nothing says what a read there does. */
FAKE_TEST(version_1_has_no_filters)
{
    place(A9, 0x41093000);
    memcpy(f.missing, (const uint64_t[]){0x47C, 0xE20, 0xE24, 0xE00}, sizeof f.missing);
    fake_take(&pmu_v7_kind);
    struct counter_pick pick = {.counter = 1, .code = 0x68};
    assert_true(fake_program(&pick, 1));
    assert_int_equal(*fake_word(0x400), 0x68);
    fake_undo();
    FAKE_COUNTS({0x08, 0}, {0x0E, 0}, {0x13, 0}, {0x12, 0x7E}, {0x68, 0x7E});
}

FAKE_TEST(a_free_pmu_is_borrowed_and_given_back)
{
    place(A7, 0x41072038); /* D, X and DP are set */
    f.locked = true;
    *fake_word(0x004) = 0x1111;
    *fake_word(0x07C) = 0x7777;
    *fake_word(0x404) = 0x40000010;
    *fake_word(0x47C) = 0x80000000;
    *fake_word(0xC80) = 0x4;
    struct fake_pmu before = f;
    fake_take(&pmu_v7_kind);
    FAKE_WROTE({0xFB0, 0xC5ACCE55}, {0x000, 0}, {0x004, 0x1111}, {0x008, 0}, {0x00C, 0}, {0x07C, 0x7777},
               {0x47C, 0x08000000}, {0xC80, 0}, {0xC00, 0x80000000}, {0xE04, 0x41072011});
    struct counter_pick picks[] = {
        {.counter = 0}, {.counter = 2, .code = 0x03}, {.counter = 4, .code = 0xC9}};
    assert_true(fake_program(picks, 3));
    FAKE_WROTE({0x404, 0x08000003}, {0x40C, 0x080000C9}, {0xC00, 0x8000000A});
    *fake_word(0x004) += 99;
    *fake_word(0x07C) += 5000;
    *fake_word(0xC80) |= 0x80000008; /* two of ours wrapped */
    struct counter_pick other = {.counter = 2, .code = 0x04};
    assert_true(fake_program(&other, 1));
    FAKE_WROTE({0x404, 0x08000004});
    fake_undo();
    FAKE_WROTE({0x40C, 0}, {0x404, 0x40000010}, {0xE04, 0x41072038}, {0xC20, 0x8000000A}, {0xC80, 0x80000008},
               {0x47C, 0x80000000}, {0x07C, 0x7777}, {0x00C, 0}, {0x008, 0}, {0x004, 0x1111}, {0x000, 0},
               {0xFB0, 0});
    assert_memory_equal(f.words, before.words, 0xFB0);
    assert_true(f.locked);
}

/* The Cortex-A5 has no Hyp mode to take in. */
FAKE_TEST(only_a_core_with_hyp_mode_is_told_to_count_it)
{
    place(A5, 0x41051000);
    *fake_word(0x47C) = 0x10000000;
    fake_take(&pmu_v7_kind);
    FAKE_WROTE({0x000, 0}, {0x004, 0}, {0x07C, 0}, {0x47C, 0}, {0xC80, 0}, {0xC00, CYCLES},
               {0xE04, 0x41051001});
    struct counter_pick pick = {.counter = 1, .code = 0x10};
    assert_true(fake_program(&pick, 1));
    FAKE_WROTE({0x400, 0x10}, {0xC00, 1});
}

FAKE_TEST(what_the_program_counts_stays_its_own)
{
    place(A9, 0x41093011);
    *fake_word(0x400) = 0x68;
    *fake_word(0x404) = 0x03;
    *fake_word(0xC00) = 0x80000003;
    *fake_word(0xC40) = 0x80000007;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_string_equal(block.state, "in use: cycles, 0, 1");
    assert_string_equal(block.note, "left to the program, which uses them: cycles, 0, 1");
    assert_true(block.counts_cycles);
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x03), 0x78);
    fake_take_found();
    FAKE_WROTE({0x008, 0}, {0x00C, 0}, {0x010, 0}, {0x014, 0}, {0xC40, 0}, {0xC60, 4}, {0xC80, 0});
    struct counter_pick picks[] = {{.counter = 0}, {.counter = 3, .code = 0x69}};
    assert_true(fake_program(picks, 2));
    FAKE_WROTE({0x408, 0x69}, {0xC00, 0x4});
    *fake_word(0xC80) |= 0x80000006; /* the program's own wrap too */
    fake_undo();
    FAKE_WROTE({0xC20, 0x4}, {0x408, 0}, {0xC80, 0x4}, {0xC40, 0x4}, {0x014, 0}, {0x010, 0}, {0x00C, 0},
               {0x008, 0});
    assert_int_equal(*fake_word(0xC80), 0x80000002);
    assert_int_equal(*fake_word(0xC00), 0x80000003);
}

/* Its bit is taken off by the program while we measure: it is not put on again. */
FAKE_TEST(a_counter_that_goes_stays_gone)
{
    place(A9, 0x41093001);
    *fake_word(0xC00) = 0x1;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_string_equal(block.state, "in use: 0");
    fake_take_found();
    *fake_word(0xC00) = 0x80000000;
    fake_undo();
    assert_int_equal(*fake_word(0xC00), 0);
}

FAKE_TEST(cycles_by_64_on_demand)
{
    place(A9, 0x41093000);
    assert_true(fake_identify(&pmu_v7_kind));
    assert_true(pmu_v7_kind.divide(&core, &block));
    assert_string_equal(block.counters[0].name, "CPU_CYCLES");
    fake_take_found();
    assert_int_equal(*fake_word(0xE04), 0x41093009);
    const struct counter *cycles = &block.counters[0];
    const uint64_t first = 0xFFFFFFFF, second = 2;
    assert_int_equal(
        counter_elapsed(cycles, counter_value(cycles, &first, 0), counter_value(cycles, &second, 0)), 3 * 64);
    assert_int_equal(counter_coarseness(cycles), 63);
    assert_int_equal(counter_coarseness(&block.counters[1]), 0);
    fake_undo();
    assert_int_equal(*fake_word(0xE04), 0x41093000);
    *fake_word(0xE04) = 0x41093001;
    *fake_word(0xC00) = 0x80000000; /* the program's */
    assert_true(fake_identify(&pmu_v7_kind));
    assert_false(pmu_v7_kind.divide(&core, &block));
}

FAKE_TEST(a_cycle_counter_that_the_program_divides_counts_by_64)
{
    place(A9, 0x41093009);
    *fake_word(0xC00) = 0x80000000;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_true(block.counts_cycles && block.counters[0].shift == 6);
    assert_string_equal(block.counters[0].name, "CPU_CYCLES");
    assert_string_equal(block.state, "in use: cycles (each 64th: PMCR.D)");
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x11), 1);
    fake_take_found();
    assert_int_equal(*fake_word(0xE04), 0x41093009);
    *fake_word(0xE04) = 0x41093049; /* bit 6 means something in version 3 only */
    assert_true(fake_identify(&pmu_v7_kind));
    assert_true(block.counters[0].shift == 6);
    place(A7, 0x41072001);
    *fake_word(0x47C) = 0x40000000; /* not in user mode */
    *fake_word(0xE20) = 1 << 0x11;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_false(block.counts_cycles);
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x11), 0x1E);
}

/* The R7 and the R8 have no event for cycles (DDI 0458, 100400): where the program has the counter, there are
 * none. */
FAKE_TEST(a_core_may_have_no_event_for_cycles)
{
    static const uint32_t midr[] = {0x411FC170, 0x411FC180};
    for (size_t i = 0; i < 2; i++) {
        place(midr[i], 0x41094001);
        *fake_word(0xC00) = 0x80000000;
        assert_true(fake_identify(&pmu_v7_kind));
        block.counts_cycles = false;
        FAKE_COUNTS({0x11, 0}, {0x12, 0x1FE}, {0x14, 0x1FE});
    }
}

/* Set up by the program and stopped as a whole: it counts on, as PMCR has one bit for all, and gets its value
 * back. */
FAKE_TEST(a_stopped_pmu_gets_its_values_back)
{
    place(A9, 0x41093000);
    *fake_word(0xC00) = 0x80000001;
    *fake_word(0x000) = 17;
    *fake_word(0x07C) = 18;
    struct fake_pmu before = f;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_string_equal(block.state, "set up, but stopped: cycles, 0");
    assert_int_not_equal(block.note[0], 0);
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x03), 0x7C);
    fake_take_found();
    struct counter_pick picks[] = {{.counter = 0}, {.counter = 2, .code = 0x03}};
    assert_true(fake_program(picks, 2));
    *fake_word(0x000) += 5;
    *fake_word(0x07C) += 5;
    *fake_word(0xC80) |= 0x80000001; /* both wrapped, which the program must not see */
    fake_undo();
    assert_memory_equal(f.words, before.words, sizeof before.words);
}

FAKE_TEST(events_that_are_not_there_are_refused)
{
    place(A7, 0x41072000);
    *fake_word(0xE20) = 0x40020018; /* CHAIN is not an event of Armv7, whatever this says */
    assert_true(fake_identify(&pmu_v7_kind));
    FAKE_COUNTS({0x03, 0x1E}, {0x04, 0x1E}, {0x05, 0}, {0x1E, 0}, {0x3F, 0}, {0x40, 0x1E}, {0xFE, 0x1E},
                {0xFF, 0}, {0x103, 0}, {0x4003, 0});
    place(A7, 0x41072000);
    *fake_word(0xE20) = 0;
    *fake_word(0xE24) = 0x1;
    assert_true(fake_identify(&pmu_v7_kind));
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x20), 0x1E);
    assert_int_equal(pmu_v7_kind.counters_for(&block, 0x03), 0);
}

/* P and C read as 0; if they ever do not, they are not written back, neither now nor at the end. */
FAKE_TEST(no_counter_is_ever_reset)
{
    place(A9, 0x4109300E);
    fake_take(&pmu_v7_kind);
    assert_int_equal(f.writes[f.n_writes - 1].offset, 0xE04);
    assert_int_equal(f.writes[f.n_writes - 1].value, 0x41093001);
    fake_undo();
    assert_int_equal(f.writes[0].offset, 0xE04);
    assert_int_equal(f.writes[0].value, 0x41093008);
}

/* Read after it was written: a lock that does not open must not end in counts of 0. */
FAKE_TEST(a_write_that_is_lost_is_seen)
{
    place(A9, 0x41093000);
    fake_take(&pmu_v7_kind);
    f.locked = true;
    struct counter_pick pick = {.counter = 1, .code = 0x03};
    assert_false(fake_program(&pick, 1));
    f.locked = false;
    *fake_word(0xE04) = 0x41093000;
    f.locked = true;
    struct counter_pick cycles = {.counter = 0};
    assert_false(fake_program(&cycles, 1));
    f.locked = false;
}
