#include "cores/architectures.h"
#include "counters/counter.h"
#include "fake_pmu.h"
#include "measure/plan.h"

enum { M55 = 0x411FD221 };
enum { DEMCR = 0xE000EDFC };
static const uint64_t BASE = 0xE0003000;
static const uint32_t TRCENA = 0x01000000;

static void place(uint32_t cpuid)
{
    f.base = BASE;
    f.traced_only = true;
    f.type_mask = 0xFFFF;
    *fake_word(0xE00) = 0x00A05F08;
    *fake_word(0xFBC) = 0x47700A06;
    core = (struct core){.ops = &cortex_m_ops, .unit = 2, .memory_unit = 2, .id = cpuid};
}

FAKE_TEST(every_core_is_known)
{
    static const struct {
        uint32_t cpuid;
        const char *events;
    } cores[] = {{0x630FD240, "cortex-m52"}, {M55, "cortex-m55"}, {0x410FD230, "cortex-m85"}};
    for (size_t i = 0; i < COUNT(cores); i++) {
        place(cores[i].cpuid);
        f.demcr = TRCENA;
        assert_true(fake_identify(&pmu_v81m_kind));
        assert_string_equal(block.text, "Armv8.1-M PMU, 8 counters of 16 bits");
        assert_string_equal(block.events, cores[i].events);
        assert_string_equal(block.state, "free");
        assert_int_equal(block.n, 9);
        assert_true(block.counts_cycles);
        assert_true(block.counters[0].low.offset == BASE + 0x07C);
        assert_int_equal(block.counters[0].low.unit, 2);
        assert_int_equal(block.counters[0].bits, 32);
        for (uint64_t k = 0; k < 8; k++) {
            assert_true(block.counters[k + 1].low.offset == BASE + 4 * k);
            assert_int_equal(block.counters[k + 1].bits, 16);
            assert_int_equal(block.counters[k + 1].per_cycle, 8);
        }
        FAKE_COUNTS({0x11, 1}, {0x08, 0x1FE}, {0xC000, 0x1FE}, {0xFF, 0}, {0x10008, 0});
    }
    assert_int_equal(f.n_writes, 0);
}

/* What lies at these addresses of another core may fault. */
FAKE_TEST(others_are_not_touched)
{
    static const uint32_t ids[] = {0x410CC601, 0x410FC241, 0x411FC272, 0x410FD214};
    for (size_t i = 0; i < COUNT(ids); i++) {
        const struct core other = {.ops = &cortex_m_ops, .id = ids[i]};
        fake_must_not_read(&pmu_v81m_kind, &other);
    }
    struct core a = {.ops = &armv8_ops, .pmu_base = 0x1000, .id = 0x410FD034};
    fake_must_not_read(&pmu_v81m_kind, &a);
    place(M55);
    *fake_word(0xFBC) = 0;
    assert_false(fake_identify(&pmu_v81m_kind));
    *fake_word(0xFBC) = 0x47702A16;
    assert_false(fake_identify(&pmu_v81m_kind));
}

FAKE_TEST(a_free_pmu_is_borrowed_and_given_back)
{
    place(M55);
    f.demcr = 0x400;
    *fake_word(0xE00) = 0x00A05F02;
    *fake_word(0xE04) = 0xA20; /* DP, FRZ_ON_OV, TRACE_ON_OV */
    *fake_word(0xC40) = 0x1;
    *fake_word(0x004) = 0x2222;
    struct fake_pmu before = f;
    assert_true(fake_identify(&pmu_v81m_kind));
    assert_string_equal(block.state, "free");
    fake_take_found();
    FAKE_WROTE({DEMCR, 0x01000400}, {0x000, 0}, {0x004, 0x2222}, {0x07C, 0}, {0xC40, 0}, {0xC60, 0x80000003},
               {0xC80, 0}, {0xC00, 0x80000000}, {0xE04, 0x801});
    struct counter_pick picks[] = {
        {.counter = 0}, {.counter = 1, .code = 0x06}, {.counter = 2, .code = 0x1E}};
    assert_true(fake_program(picks, 3));
    FAKE_WROTE({0x400, 0x06}, {0x404, 0x1E}, {0xC00, 0x80000003});
    *fake_word(0x000) = 1;
    *fake_word(0x004) = 2;
    *fake_word(0x07C) = 3;
    *fake_word(0xC80) = 0x1;
    fake_undo();
    FAKE_WROTE({0x404, 0}, {0x400, 0}, {0xE04, 0xA20}, {0xC20, 0x80000003}, {0xC80, 0x1}, {0xC40, 0x1},
               {0x07C, 0}, {0x004, 0x2222}, {0x000, 0}, {DEMCR, 0x400});
    assert_memory_equal(f.words, before.words, sizeof before.words);
    assert_int_equal(f.demcr, before.demcr);
}

/* Trace off: whatever the registers show, none of it counts. */
FAKE_TEST(nothing_is_believed_while_trace_is_off)
{
    place(M55);
    *fake_word(0xE00) = 0;
    *fake_word(0xE04) = 0x1;
    *fake_word(0xC00) = 0x80000003;
    assert_true(fake_identify(&pmu_v81m_kind));
    assert_string_equal(block.state, "free");
    assert_int_equal(block.n, 9);
    assert_int_equal(pmu_v81m_kind.counters_for(&block, 0x08), 0x1FE);
    *fake_word(0xE00) = 4;
    assert_true(fake_identify(&pmu_v81m_kind));
    assert_int_equal(block.n, 5);
}

FAKE_TEST(what_the_program_counts_stays_its_own)
{
    place(M55);
    f.demcr = TRCENA;
    *fake_word(0xE04) = 0x001;
    *fake_word(0xC00) = 0x80000003;
    *fake_word(0xC40) = 0x80000001;
    assert_true(fake_identify(&pmu_v81m_kind));
    assert_string_equal(block.state, "in use: cycles, 0, 1");
    assert_int_equal(pmu_v81m_kind.counters_for(&block, 0x08), 0x1F8);
    fake_take_found();
    FAKE_WROTE({0x008, 0}, {0x00C, 0}, {0x010, 0}, {0x014, 0}, {0x018, 0}, {0x01C, 0}, {0xC80, 0});
    *fake_word(0xE04) = 0x201; /* all stop at an overflow: one of ours would stop the program's */
    assert_true(fake_identify(&pmu_v81m_kind));
    assert_int_not_equal(block.unusable[0], 0);
}

/* However the events are asked for, the chain ends up above the first of them. */
FAKE_TEST(a_chain_goes_with_the_first_event)
{
    place(M55);
    f.demcr = TRCENA;
    *fake_word(0xE04) = 1;
    *fake_word(0xC00) = 0x3;
    assert_true(fake_identify(&pmu_v81m_kind));
    static const uint32_t codes[][3] = {{0x06, 0x07, 0x1E}, {0x06, 0x1E, 0x07}, {0x1E, 0x06, 0x07}};
    for (size_t i = 0; i < 3; i++) {
        struct placement_request requests[3];
        struct placement_pass pass;
        struct error error = {0};
        size_t passes = 0, which = 0;
        for (size_t k = 0; k < 3; k++)
            requests[k] = (struct placement_request){
                .counters = pmu_v81m_kind.counters_for(&block, codes[i][k]), .group = 1};
        assert_true(placement_make(requests, 3, 0x1FF, 1, &pass, 1, &passes, &which, &error));
        assert_int_equal(pass.n, 3);
        for (size_t k = 0; k < 3; k++) {
            if (codes[i][pass.request[k]] == 0x06)
                assert_int_equal(pass.counter[k], 3); /* event counter 2 */
            if (codes[i][pass.request[k]] == 0x1E)
                assert_int_equal(pass.counter[k], 4);
        }
    }
}
