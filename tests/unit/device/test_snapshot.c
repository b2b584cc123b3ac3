/* Snapshots: a register that the ledger forgets is found, and what moves by itself is not taken for it. */
#include "../fake_link.h"
#include "../test.h"

#include "cores/architectures.h"
#include "device/doctor.h"
#include "device/settings.h"

enum {
    CYCCNT = 0xE0001004,
    STATUS = 0xE000EDF0,
    CAUSE = 0xE000ED30,
    CONTROL = 0xE000EDFC,
    CODE = 0x20000100
};
enum { MON_EN = 1 << 16, MON_REQ = 1 << 19, CATCH = 1, TRACE = 1 << 24 };

static struct rig {
    struct fake_link fake;
    struct device_core core;
    struct device device;
    struct counter_block block;
    struct deadline deadline;
    struct error error;
} rig;

static struct address word(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static void set_up(uint64_t cpuid)
{
    const uint64_t identity[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = cpuid, [CORTEX_M_FP_CTRL] = 0x260};
    rig = (struct rig){.block.n = 1, .block.counters[0].low = word(CYCCNT)};
    fake_init(&rig.fake);
    rig.device =
        (struct device){.link = &rig.fake.link, .ledger = ledger_new(&rig.fake.link), .chosen = &rig.core};
    rig.deadline = deadline_in_ms(1000, NULL);
    assert_true(cortex_m_identify(0, identity, &rig.core.core));
}

static void tear_down(void)
{
    ledger_free(rig.device.ledger);
    rig.device.ledger = NULL;
}

#define RIG_TEST(name) TEST_BETWEEN(name, test_nothing, tear_down)

static enum snapshot_finding finding_of(const struct snapshot *before, const struct snapshot *after,
                                        uint64_t at)
{
    for (size_t i = 0; i < before->n; i++)
        if (before->items[i].at.offset == at)
            return snapshot_compare(before, after, i);
    fail();
    return SNAPSHOT_UNKNOWN;
}

RIG_TEST(a_forgotten_register_is_found)
{
    struct snapshot before, after;
    set_up(0x410FC241);
    *fake_at(&rig.fake, CODE) = 0x4770;
    snapshot_list(&before, &rig.device, &rig.block);
    assert_true(snapshot_read(&before, rig.device.ledger, &rig.deadline, &rig.error));
    assert_true(settings_apply_core(rig.device.ledger, &rig.core.core, APPLY_ALL, &rig.deadline, &rig.error));
    assert_true(
        ledger_write(rig.device.ledger, word(CODE), 0xBE50, (struct restore){0}, &rig.deadline, &rig.error));
    snapshot_add_held(&before, rig.device.ledger);
    ledger_forget(rig.device.ledger, word(CONTROL));
    ledger_forget(rig.device.ledger, word(CODE));
    assert_true(ledger_undo(rig.device.ledger, &rig.deadline, &rig.error));
    *fake_at(&rig.fake, CYCCNT) += 5;
    *fake_at(&rig.fake, STATUS) |= 1 << 24;
    *fake_at(&rig.fake, CAUSE) ^= 1;
    snapshot_copy_list(&after, &before);
    assert_true(snapshot_read(&after, rig.device.ledger, &rig.deadline, &rig.error));
    assert_true(snapshot_is_complete(&after));
    assert_int_equal(finding_of(&before, &after, CONTROL), SNAPSHOT_LEFT);
    assert_int_equal(finding_of(&before, &after, CODE), SNAPSHOT_LEFT);
    assert_int_equal(finding_of(&before, &after, CYCCNT), SNAPSHOT_MOVED);
    assert_int_equal(finding_of(&before, &after, STATUS), SNAPSHOT_MOVED);
    assert_int_equal(finding_of(&before, &after, CAUSE), SNAPSHOT_MOVED);
    assert_int_equal(finding_of(&before, &after, 0xE0002008), SNAPSHOT_SAME);
}

RIG_TEST(what_refuses_is_unknown)
{
    struct snapshot snapshot;
    set_up(0x410FC241);
    snapshot_list(&snapshot, &rig.device, NULL);
    rig.fake.fail_after = 0;
    rig.fake.fail_with = TARGET_FAULT;
    assert_true(snapshot_read(&snapshot, rig.device.ledger, &rig.deadline, &rig.error));
    assert_false(snapshot_is_complete(&snapshot));
    assert_int_equal(snapshot_compare(&snapshot, &snapshot, 0), SNAPSHOT_UNKNOWN);
    rig.fake.fail_with = LINK_LOST;
    assert_false(snapshot_read(&snapshot, rig.device.ledger, &rig.deadline, &rig.error));
}

/* --- how resets are seen -------------------------------------------------------------------------------- */

static uint64_t control_after(uint64_t before)
{
    *fake_at(&rig.fake, CONTROL) = before;
    assert_true(settings_watch_resets(rig.device.ledger, &rig.core.core, &rig.deadline, &rig.error));
    return *fake_at(&rig.fake, CONTROL);
}

RIG_TEST(a_mark_tells_of_resets)
{
    set_up(0x410FC241);
    assert_int_equal(control_after(TRACE), TRACE | MON_REQ);
    assert_int_equal(rig.core.core.resets, RESETS_NOTICED);
    assert_false(settings_catch_is_left(rig.device.ledger, &rig.core.core));
    assert_true(settings_watch_resets(rig.device.ledger, &rig.core.core, &rig.deadline, &rig.error));
    *fake_at(&rig.fake, CONTROL) = TRACE; /* a reset, between two runs */
    assert_fails(settings_watch_resets(rig.device.ledger, &rig.core.core, &rig.deadline, &rig.error),
                 &rig.error, ERROR_RESET, "");
}

/* A program with a DebugMonitor keeps its mark; one core has none; of another the Secure state has the
 * DebugMonitor, and the bit reads as zero. */
RIG_TEST(without_a_mark_resets_are_caught)
{
    static const struct {
        uint32_t cpuid, zeroes, before, after;
    } rows[] = {{0x410FC241, 0, MON_EN, MON_EN | CATCH},
                {0x410CC601, 0, 0, CATCH},
                {0x411FD221, MON_REQ, TRACE, TRACE | CATCH}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        set_up(rows[i].cpuid);
        rig.fake.zeroes = rows[i].zeroes;
        assert_int_equal(control_after(rows[i].before), rows[i].after);
        assert_int_equal(rig.core.core.resets, RESETS_CAUGHT);
        assert_true(settings_catch_is_left(rig.device.ledger, &rig.core.core));
        assert_true(ledger_undo(rig.device.ledger, &rig.deadline, &rig.error));
        assert_false(settings_catch_is_left(rig.device.ledger, &rig.core.core));
        tear_down();
    }
}
