/* What `stub` changes: of a Cortex-M's trace system its own bit, and no clock that something else needs; of a
 * PMU what the program has not set for itself. */
#include "stub/stub.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "fake_link.h"
#include "test.h"

enum { M4 = 0x410FC241, CYCCNTENA = 1 << 0, EXCEVTENA = 1 << 18, COMPARATORS = 4U << 28 };
enum { DEBUG = 0x80090000, PMU = 0x80091000 };

static struct fixture {
    struct fake_link fake;
    struct device_core core;
    struct device device;
    struct deadline deadline;
    struct error error;
    struct stub stub;
} f;

static void set_up(void)
{
    const uint64_t identity[8] = {M4};
    memset(&f, 0, sizeof f);
    fake_init(&f.fake);
    f.deadline = deadline_in_ms(60000, NULL);
    assert_true(cortex_m_identify(0, identity, &f.core.core));
    f.core.core.ops = &cortex_m_ops;
    f.core.blocks[0].kind = &dwt_kind;
    f.core.n_blocks = 1;
    f.device = (struct device){.link = &f.fake.link, .cores = &f.core, .n_cores = 1, .chosen = &f.core};
    f.device.ledger = ledger_new(&f.fake.link);
    *fake_at(&f.fake, DWT_CTRL) = COMPARATORS;
}

static void tear_down(void)
{
    ledger_free(f.device.ledger);
}

#define FRESH_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static void stub_is(bool on, struct stub_state *after)
{
    struct stub_state before;
    if (!stub_open(&f.stub, &f.device, &f.deadline, &f.error) ||
        !stub_change(&f.stub, on, &before, after, &f.error))
        fail_msg("%s", f.error.text);
    assert_true(ledger_undo(f.device.ledger, &f.deadline, &f.error));
}

static void change(bool on)
{
    struct stub_state after;
    stub_is(on, &after);
    assert_int_equal(after.cycles, on);
}

FRESH_TEST(what_was_switched_on_is_switched_off_again)
{
    change(true);
    assert_int_equal(*fake_at(&f.fake, DWT_CTRL), COMPARATORS | CYCCNTENA);
    assert_int_equal(*fake_at(&f.fake, DEMCR), DEMCR_TRCENA);
    change(false);
    assert_int_equal(*fake_at(&f.fake, DWT_CTRL), COMPARATORS);
    assert_int_equal(*fake_at(&f.fake, DEMCR), 0);
}

FRESH_TEST(what_else_traces_keeps_its_clock)
{
    static const struct {
        uint64_t at, value;
    } used[] = {{DWT_CTRL, COMPARATORS | EXCEVTENA}, {ITM_TCR, ITM_ITMENA}, {DWT_FUNCTION0 + 16 * 3, 4}};
    for (size_t i = 0; i < COUNT(used); i++) {
        tear_down();
        set_up();
        *fake_at(&f.fake, DEMCR) = DEMCR_TRCENA;
        *fake_at(&f.fake, used[i].at) = used[i].value;
        change(true);
        change(false);
        assert_int_equal(*fake_at(&f.fake, DEMCR), DEMCR_TRCENA);
        assert_int_equal(*fake_at(&f.fake, used[i].at), used[i].value);
        assert_int_equal(*fake_at(&f.fake, DWT_CTRL) & CYCCNTENA, 0);
    }
}

/* --- the PMU of a Cortex-A9 ----------------------------------------------------------------------------- */

static struct outcome execute_set_and_clear(struct link *link, const struct step *steps, size_t n,
                                            uint64_t *results, const struct deadline *deadline,
                                            struct error *error)
{
    struct outcome out = {.why = DONE};
    for (size_t i = 0; i < n && out.why == DONE; i++) {
        uint64_t *enabled = fake_at(&f.fake, PMU + PMCNTENSET), before = *enabled;
        out = fake_execute(link, steps + i, 1, results + i, deadline, error);
        if (steps[i].op == OP_WRITE && steps[i].at.offset == PMU + PMCNTENSET)
            *enabled |= before;
        if (steps[i].op == OP_WRITE && steps[i].at.offset == PMU + PMCNTENCLR)
            *enabled &= ~steps[i].value;
        out.done += i;
    }
    return out;
}

static void make_a9(uint32_t user, uint32_t enabled, uint32_t control)
{
    static const struct link_ops ops = {.execute = execute_set_and_clear, .exact_faults = true};
    static const uint64_t identity[ARMV7_IDENTITY] = {
        0x413FC090, [ARMV7_DIDR] = 0x35137030, [ARMV7_AUTHSTATUS] = 0xFF};
    tear_down();
    set_up();
    f.fake.link.ops = &ops;
    assert_true(armv7_identify(1, DEBUG, identity, &f.core.core));
    f.core.core.pmu_base = PMU;
    f.core.core.pmu_unit = 1;
    f.core.blocks[0].kind = &pmu_v7_kind;
    *fake_at(&f.fake, PMU + PMUSERENR) = user;
    *fake_at(&f.fake, PMU + PMCNTENSET) = enabled;
    *fake_at(&f.fake, PMU + PMCR) = control;
}

FRESH_TEST(a_monitor_that_is_used_stays_as_it_is)
{
    enum { EN = 1, E = 1, TWO = 0x5 };
    const uint32_t cycles = UINT32_C(1) << 31;
    const struct {
        uint32_t user, enabled, control;
        bool on;
        uint32_t then[3];
    } cases[] = {
        {0, 0, 0, true, {EN, cycles, E}},
        {EN, 0, 0, true, {EN, cycles, E}},
        {EN, cycles, E, true, {EN, cycles, E}},
        {0, TWO, E, true, {EN, cycles | TWO, E}},
        {EN, cycles, E, false, {0, 0, 0}},
        {0, cycles, E, false, {0, 0, 0}},
        {0, 0, 0, false, {0, 0, 0}},
        {EN, cycles | TWO, E, false, {0, cycles | TWO, E}}, /* the program counts by it */
        {0, cycles | TWO, E, false, {0, cycles | TWO, E}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stub_state after;
        make_a9(cases[i].user, cases[i].enabled, cases[i].control);
        stub_is(cases[i].on, &after);
        assert_int_equal(*fake_at(&f.fake, PMU + PMUSERENR), cases[i].then[0]);
        assert_int_equal(*fake_at(&f.fake, PMU + PMCNTENSET), cases[i].then[1]);
        assert_int_equal(*fake_at(&f.fake, PMU + PMCR), cases[i].then[2]);
    }
}
