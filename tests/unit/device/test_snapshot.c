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

struct rig {
    struct fake_link fake;
    struct device_core core;
    struct device device;
    struct counter_block block;
    struct deadline deadline;
    struct error error;
};

static struct address word(uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .offset = offset};
}

static void set_up(struct rig *rig, uint64_t cpuid)
{
    const uint64_t identity[CORTEX_M_IDENTITY] = {[CORTEX_M_CPUID] = cpuid, [CORTEX_M_FP_CTRL] = 0x260};
    *rig = (struct rig){.block.n = 1, .block.counters[0].low = word(CYCCNT)};
    fake_init(&rig->fake);
    rig->device =
        (struct device){.link = &rig->fake.link, .ledger = ledger_new(&rig->fake.link), .chosen = &rig->core};
    rig->deadline = deadline_in_ms(1000, NULL);
    assert_true(cortex_m_identify(0, identity, &rig->core.core));
}

static void tear_down(struct rig *rig)
{
    ledger_free(rig->device.ledger);
}

static enum snapshot_finding finding_of(const struct snapshot *before, const struct snapshot *after,
                                        uint64_t at)
{
    for (size_t i = 0; i < before->n; i++)
        if (before->items[i].at.offset == at)
            return snapshot_compare(before, after, i);
    fail();
    return SNAPSHOT_UNKNOWN;
}

TEST(a_forgotten_register_is_found)
{
    struct rig rig;
    struct snapshot before, after;
    set_up(&rig, 0x410FC241);
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
    tear_down(&rig);
}

TEST(what_refuses_is_unknown)
{
    struct rig rig;
    struct snapshot snapshot;
    set_up(&rig, 0x410FC241);
    snapshot_list(&snapshot, &rig.device, NULL);
    rig.fake.fail_after = 0;
    rig.fake.fail_with = TARGET_FAULT;
    assert_true(snapshot_read(&snapshot, rig.device.ledger, &rig.deadline, &rig.error));
    assert_false(snapshot_is_complete(&snapshot));
    assert_int_equal(snapshot_compare(&snapshot, &snapshot, 0), SNAPSHOT_UNKNOWN);
    rig.fake.fail_with = LINK_LOST;
    assert_false(snapshot_read(&snapshot, rig.device.ledger, &rig.deadline, &rig.error));
    tear_down(&rig);
}

/* --- how resets are seen -------------------------------------------------------------------------------- */

static uint64_t control_after(struct rig *rig, uint64_t before)
{
    *fake_at(&rig->fake, CONTROL) = before;
    assert_true(settings_watch_resets(rig->device.ledger, &rig->core.core, &rig->deadline, &rig->error));
    return *fake_at(&rig->fake, CONTROL);
}

TEST(a_mark_tells_of_resets)
{
    struct rig rig;
    set_up(&rig, 0x410FC241);
    assert_int_equal(control_after(&rig, TRACE), TRACE | MON_REQ);
    assert_int_equal(rig.core.core.resets, RESETS_NOTICED);
    assert_false(settings_catch_is_left(rig.device.ledger, &rig.core.core));
    assert_true(settings_watch_resets(rig.device.ledger, &rig.core.core, &rig.deadline, &rig.error));
    *fake_at(&rig.fake, CONTROL) = TRACE; /* a reset, between two runs */
    assert_false(settings_watch_resets(rig.device.ledger, &rig.core.core, &rig.deadline, &rig.error));
    assert_int_equal(rig.error.kind, ERROR_RESET);
    tear_down(&rig);
}

TEST(a_program_with_a_debug_monitor_keeps_its_mark)
{
    struct rig rig;
    set_up(&rig, 0x410FC241);
    assert_int_equal(control_after(&rig, MON_EN), MON_EN | CATCH);
    assert_int_equal(rig.core.core.resets, RESETS_CAUGHT);
    assert_true(settings_catch_is_left(rig.device.ledger, &rig.core.core));
    tear_down(&rig);
}

TEST(a_core_without_a_mark_catches_resets)
{
    struct rig rig;
    set_up(&rig, 0x410CC601);
    assert_int_equal(control_after(&rig, 0), CATCH);
    assert_int_equal(rig.core.core.resets, RESETS_CAUGHT);
    assert_true(settings_catch_is_left(rig.device.ledger, &rig.core.core));
    assert_true(ledger_undo(rig.device.ledger, &rig.deadline, &rig.error));
    assert_false(settings_catch_is_left(rig.device.ledger, &rig.core.core));
    tear_down(&rig);
}

/* The Secure state has the DebugMonitor: the bit reads as zero. */
TEST(a_mark_that_does_not_hold_is_no_witness)
{
    struct rig rig;
    set_up(&rig, 0x411FD221);
    rig.fake.zeroes = MON_REQ;
    assert_int_equal(control_after(&rig, TRACE), TRACE | CATCH);
    assert_int_equal(rig.core.core.resets, RESETS_CAUGHT);
    tear_down(&rig);
}
