/* What `stub` changes of a Cortex-M's trace system: its own bit, and no clock that something else needs. */
#include "stub/stub.h"

#include "base/arm_debug.h"
#include "cores/architectures.h"
#include "fake_link.h"
#include "test.h"

enum { M4 = 0x410FC241, CYCCNTENA = 1 << 0, EXCEVTENA = 1 << 18, COMPARATORS = 4U << 28 };

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

static void change(bool on)
{
    struct stub_state before, after;
    if (!stub_open(&f.stub, &f.device, &f.deadline, &f.error) ||
        !stub_change(&f.stub, on, &before, &after, &f.error))
        fail_msg("%s", f.error.text);
    assert_int_equal(after.cycles, on);
    assert_true(ledger_undo(f.device.ledger, &f.deadline, &f.error));
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
