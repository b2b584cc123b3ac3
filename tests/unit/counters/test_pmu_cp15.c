/*
 * The PMU of Cortex-R4, R5 and A8: each access is the MRC or MCR that the core would execute.
 */
#include "../cores/model_armv7_cp15.h"
#include "cores/architectures.h"
#include "test.h"

#include "counters/counter.h"
#include "links/ledger.h"

enum { A8 = 0x413FC082, A9 = 0x413FC090, R4 = 0x411FC144, R5 = 0x411FC153 };
static const uint32_t CYCLES = 0x80000000;

static struct fake {
    struct link link;
    struct v7_monitor monitor;
    uint32_t cycles;
    unsigned careless, writes;
    struct ledger *ledger;
    struct deadline deadline;
    struct error error;
} f;

static struct core core_of(uint32_t midr)
{
    return (struct core){.ops = &armv7_ops, .id = midr};
}

/* The instruction that `at` stands for; what it is selected by is in PMSELR by then. */
static void do_access(const struct step *step, uint64_t *result)
{
    assert_int_equal(step->at.space, SPACE_CORE);
    assert_int_equal(step->at.size, 4);
    assert_true(step->op == OP_READ || step->op == OP_WRITE);
    bool write = step->op == OP_WRITE;
    uint64_t selected = step->at.offset >> 32;
    uint32_t op = 0xEE000F10 | (write ? 0 : 0x00100000) | (uint32_t)step->at.offset,
             r = (uint32_t)step->value;
    assert_true(v7_is_of_monitor(op));
    f.monitor.select = selected > 0 ? (uint32_t)selected - 1 : 0xFF;
    f.writes += write;
    if (write && (op & 0xEF) == 0x0C) {
        assert_int_equal(r & 6, 0); /* nothing is ever reset */
        r = (r & 0x7FF) | (f.monitor.control & 0xFFFFF800);
    }
    if (write && (op & 0xEF) == 0x2D)
        assert_int_not_equal(r, 0xFF);
    assert_true(v7_monitor_access(&f.monitor, &f.cycles, op, false, &r, &f.careless));
    f.monitor.select_is_new = false;
    if (!write)
        *result = r;
}

static struct outcome execute(struct link *link, const struct step *steps, size_t n, uint64_t *results,
                              const struct deadline *deadline, struct error *error)
{
    (void)link;
    (void)deadline;
    (void)error;
    for (size_t i = 0; i < n; i++)
        do_access(&steps[i], &results[i]);
    return (struct outcome){.why = DONE, .done = n};
}

static void set_up(void)
{
    static const struct link_ops ops = {.execute = execute, .exact_faults = true};
    f = (struct fake){.link.ops = &ops, .monitor = {.control = 0x41151800}};
    f.ledger = ledger_new(&f.link);
    f.deadline = deadline_in_ms(60000, NULL);
    assert_non_null(f.ledger);
}

static void tear_down(void)
{
    ledger_free(f.ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static bool identify(const struct core *core, struct counter_block *block)
{
    struct step items[BLOCK_IDENTITY];
    uint64_t values[BLOCK_IDENTITY] = {0};
    struct steps list = {.items = items, .room = BLOCK_IDENTITY};
    pmu_cp15_kind.add_identity(core, &list);
    execute(&f.link, items, list.n, values, NULL, NULL);
    return pmu_cp15_kind.identify(core, values, block);
}

static void take(const struct counter_block *block)
{
    for (size_t i = 0; i < block->n_settings; i++)
        assert_true(ledger_apply(f.ledger, &block->settings[i], &f.deadline, &f.error));
}

static void program(const struct core *core, const struct counter_block *block, struct counter_pick pick)
{
    struct setting settings[BLOCK_PASS_SETTINGS];
    size_t n = pmu_cp15_kind.program(core, block, &pick, 1, settings, BLOCK_PASS_SETTINGS);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        assert_true(ledger_apply(f.ledger, &settings[i], &f.deadline, &f.error));
}

FRESH_TEST(every_core_is_known)
{
    static const struct {
        uint32_t midr, pmcr;
        const char *text, *events;
        unsigned n;
    } cores[] = {{A8, 0x41002000, "PMUv1 in CP15, 4 counters", "cortex-a8", 4},
                 {R4, 0x41141800, "PMUv1 in CP15, 3 counters", "cortex-r4", 3},
                 {R5, 0x41151800, "PMUv1 in CP15, 3 counters", "cortex-r5", 3},
                 {R5, 0x41151000, "PMUv1 in CP15, 2 counters", "cortex-r5", 2}};
    for (size_t i = 0; i < COUNT(cores); i++) {
        struct core core = core_of(cores[i].midr);
        struct counter_block block;
        f.monitor.control = cores[i].pmcr;
        assert_true(identify(&core, &block));
        assert_string_equal(block.text, cores[i].text);
        assert_string_equal(block.events, cores[i].events);
        assert_string_equal(block.state, "free");
        assert_has(block.note, "the core is halted briefly");
        assert_int_equal(block.n, cores[i].n + 1);
        assert_int_equal(block.counters[0].low.offset, 0x0009000D); /* PMCCNTR */
        assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x11), 1);
        assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x03), (1U << (cores[i].n + 1)) - 2);
    }
    assert_int_equal(f.writes, 0);
}

/* While nobody may halt it, its name is all there is. */
FRESH_TEST(a_core_that_is_only_looked_at_is_told_by_its_name)
{
    struct core core = core_of(A8);
    struct counter_block block;
    assert_true(pmu_cp15_kind.by_core);
    assert_true(pmu_cp15_kind.identify(&core, NULL, &block));
    assert_string_equal(block.text, "PMUv1 in CP15, 4 counters");
    assert_string_equal(block.state, "seen only while the core is halted");
    assert_string_equal(block.note, "");
    assert_string_equal(block.unusable, "");
}

FRESH_TEST(others_are_not_touched)
{
    struct core a9 = core_of(A9), mapped = core_of(R5), others_make = core_of(0x511FC153),
                v8 = core_of(0x410FD034);
    const struct core *others[4] = {&a9, &mapped, &others_make, &v8};
    mapped.pmu_base = 0x80091000;
    v8.ops = &armv8_ops;
    for (size_t i = 0; i < 4; i++) {
        struct step items[BLOCK_IDENTITY];
        struct steps list = {.items = items, .room = BLOCK_IDENTITY};
        struct counter_block block;
        pmu_cp15_kind.add_identity(others[i], &list);
        assert_int_equal(list.n, 0);
        assert_false(pmu_cp15_kind.identify(others[i], NULL, &block));
    }
}

FRESH_TEST(a_free_pmu_is_borrowed_and_given_back)
{
    struct core core = core_of(R5);
    struct counter_block block;
    f.cycles = 0x7777;
    f.monitor.overflown = 4;
    memcpy(f.monitor.type, (const uint32_t[]){1, 2, 3}, sizeof f.monitor.type);
    memcpy(f.monitor.value, (const uint32_t[]){0x1111, 0x2222, 0x3333}, sizeof f.monitor.value);
    struct v7_monitor before = f.monitor;
    assert_true(identify(&core, &block));
    take(&block);
    assert_int_equal(f.monitor.user, 1);
    assert_int_equal(f.monitor.enabled, CYCLES);
    assert_int_equal(f.monitor.control, 0x41151801);
    program(&core, &block, (struct counter_pick){.counter = 2, .code = 0x08});
    assert_int_equal(f.monitor.enabled, CYCLES | 2);
    assert_int_equal(f.monitor.type[1], 0x08);
    assert_int_equal(f.monitor.type[0], 1);
    f.cycles += 5000;
    f.monitor.value[1] += 99;
    f.monitor.overflown |= CYCLES | 2;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    before.select = f.monitor.select; /* not the ledger's: test_armv7_coprocessor.c */
    assert_memory_equal(&f.monitor, &before, sizeof before);
    assert_int_equal(f.cycles, 0x7777);
    assert_int_equal(f.careless, 0);
}

/* Where user mode may read the counters already, we must not forbid it. */
FRESH_TEST(what_user_mode_may_is_left)
{
    struct core core = core_of(R4);
    struct counter_block block;
    f.monitor.user = 1;
    assert_true(identify(&core, &block));
    take(&block);
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.monitor.user, 1);
}

FRESH_TEST(what_the_program_counts_stays_its_own)
{
    struct core core = core_of(R5);
    struct counter_block block;
    f.monitor.enabled = 1;
    f.monitor.control |= 1;
    f.monitor.type[0] = 0x03;
    assert_true(identify(&core, &block));
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x04) & 2, 0);
    take(&block);
    program(&core, &block, (struct counter_pick){.counter = 3, .code = 0x04});
    f.monitor.value[0] = 12345;
    assert_true(ledger_undo(f.ledger, &f.deadline, &f.error));
    assert_int_equal(f.monitor.enabled, 1);
    assert_int_equal(f.monitor.type[0], 0x03);
    assert_int_equal(f.monitor.value[0], 12345);
    assert_int_equal(f.monitor.control, 0x41151801);
}

/* Events that the cores' manuals do not have: 0x02 and 0x05 on R4 and R5, which have no TLB; all after 0x12.
 */
FRESH_TEST(events_that_are_not_there_are_refused)
{
    struct core r5 = core_of(R5), a8 = core_of(A8);
    struct counter_block block;
    assert_true(identify(&r5, &block));
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x02), 0);
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x05), 0);
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x13), 0);
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x08), 0xE);
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x40), 0xE);
    assert_true(identify(&a8, &block));
    assert_int_equal(pmu_cp15_kind.counters_for(&block, 0x02), 0xE);
}
