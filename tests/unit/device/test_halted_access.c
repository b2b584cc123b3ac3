/*
 * Coprocessor registers of a core that runs: it is halted for them and let go again, nothing else happens to
 * it, and that at every access at which something can go wrong.
 */
#include "../cores/rig_armv7.h"

#include "cores/armv7_transfer.h"
#include "device/halted_access.h"

/* RESET_KEEPS_REGISTERS: the program that goes on has what it had. */
enum { VALUES = 2, TWICE_FROM = 25, RESET_KEEPS_REGISTERS = true };

#include "halted_arm.h"

enum { PMCR_FOUND = 0x41151800, TYPE = 0x68, ENABLED = 0x80000002, VALUE = 0xB0000002 };

static const struct model_event busy[] = {{.cycles = 400, .grow = GROW, .pc = 0x8000, .sp = 0x9F00},
                                          {.cycles = 90, .pc = 0x8101, .sp = 0x9F00}};

static struct rig *set_up(unsigned slow)
{
    struct rig *rig = rig_fresh(busy, COUNT(busy));
    struct model *m = &rig->model;
    m->slow_itr = m->slow_exit = slow;
    m->monitor =
        (struct v7_monitor){.control = PMCR_FOUND, .select = 7, .type = {1, 2, 3}, .value = {4, VALUE, 6}};
    m->program_select = 7;
    m->vcr = 0x80;
    rig_begin(rig);
    rig->device.halted_access = halted_access_new(rig->device.ledger, &rig->device.chosen->core);
    assert_non_null(rig->device.halted_access);
    rig->device.reading = (struct reading){.n = 2, .counted = 2};
    rig->device.reading.counters[0] = (struct counter){.low = cp15_register(9, 0, 12, 0), .bits = 32};
    rig->device.reading.counters[1] = (struct counter){.low = cp15_selected(1, 9, 0, 13, 2), .bits = 32};
    return rig;
}

static struct setting setting(struct address at, uint32_t set)
{
    return (struct setting){.at = at, .test = UINT32_MAX, .set = set};
}

static bool prepare(struct rig *rig)
{
    return halted_access_prepare(rig->device.halted_access, &rig->deadline, &rig->error);
}

/* As a monitor is set up: some registers are read, some changed, and the core is let go. */
static bool program(struct rig *rig)
{
    const struct setting settings[] = {setting(cp15_register(9, 0, 14, 0), 1),
                                       setting(cp15_selected(1, 9, 0, 13, 1), TYPE)};
    struct restore pair = {.how = RESTORE_PAIR, .clear = cp15_register(9, 0, 12, 2)};
    for (size_t i = 0; i < COUNT(settings); i++)
        if (!ledger_apply(rig->device.ledger, &settings[i], &rig->deadline, &rig->error))
            return false;
    return ledger_write(rig->device.ledger, cp15_register(9, 0, 12, 1), ENABLED, pair, &rig->deadline,
                        &rig->error) &&
           ledger_release_core(rig->device.ledger, &rig->deadline, &rig->error);
}

static bool read_both(struct rig *rig, uint64_t *values)
{
    uint64_t before = 0, after = 0;
    if (!halted_access_read(rig->device.halted_access, &rig->device.reading, values, &before, &after,
                            &rig->deadline, &rig->error))
        return false;
    assert_true(before <= after);
    return true;
}

static bool go(struct rig *rig, uint64_t *values)
{
    return prepare(rig) && program(rig) && read_both(rig, values);
}

static bool are_right(const uint64_t *values)
{
    return values[0] == PMCR_FOUND && values[1] == VALUE;
}

static bool has_its_monitor(const struct rig *rig)
{
    return memcmp(&rig->model.monitor, &rig->before.monitor, sizeof rig->before.monitor) == 0;
}

RIG_TEST(a_core_that_runs_is_halted_for_it_and_let_go)
{
    for (unsigned slow = 0; slow < 8; slow += 7) {
        struct rig *rig = set_up(slow);
        uint64_t values[2] = {0};
        assert_true(prepare(rig));
        assert_false(rig->model.halted);
        assert_int_equal(rig->model.entries, 0);
        assert_true(program(rig));
        assert_int_equal(rig->model.entries, 1); /* for all of it */
        assert_true(!rig->model.halted || rig->model.going > 0);
        assert_int_equal(rig->model.monitor.user, 1);
        assert_int_equal(rig->model.monitor.type[1], TYPE);
        assert_int_equal(rig->model.monitor.type[0], 1);
        assert_int_equal(rig->model.monitor.enabled, ENABLED);
        assert_true(read_both(rig, values));
        assert_int_equal(rig->model.entries, 2);
        assert_int_equal(values[0], PMCR_FOUND);
        assert_int_equal(values[1], VALUE);
        uint64_t stood_at;
        assert_false(halted_access_stood(rig->device.halted_access, &stood_at));
        check_end(rig, "the end", 0);
        assert_int_equal(rig->model.entries, 3);
    }
}

RIG_TEST(another_access_lets_the_core_go_first)
{
    struct rig *rig = set_up(0);
    uint64_t value;
    assert_true(prepare(rig));
    assert_true(
        ledger_read(rig->device.ledger, cp15_register(9, 0, 12, 0), &value, &rig->deadline, &rig->error));
    assert_int_equal(value, PMCR_FOUND);
    assert_true(rig->model.halted); /* for the next one */
    assert_true(ledger_read(rig->device.ledger, core_debug(&rig->device.chosen->core, 0x314), &value,
                            &rig->deadline, &rig->error));
    assert_false(rig->model.halted);
    check_end(rig, "the end", 0);
}

RIG_TEST(comparators_left_over_do_not_wake_up)
{
    struct rig *rig = set_up(0);
    uint64_t values[2];
    rig->model.bvr[2] = rig->before.bvr[2] = 0x8000;
    rig->model.bcr[2] = rig->before.bcr[2] = 0x1E7;
    assert_true(go(rig, values));
    assert_int_equal(rig->model.entries, 2);
    check_end(rig, "the end", 0);
}

RIG_TEST(what_was_halted_stays_so)
{
    struct rig *rig = set_up(0);
    uint64_t values[2] = {0};
    assert_true(prepare(rig));
    model_enter(&rig->model, 3);
    rig->before.halted = true;
    assert_true(program(rig));
    assert_true(rig->model.halted);
    assert_int_equal(rig->model.control & 0x2000, 0);
    uint64_t stood_at = 0;
    assert_true(read_both(rig, values));
    assert_int_equal(values[1], VALUE);
    assert_true(rig->model.halted);
    assert_true(halted_access_stood(rig->device.halted_access, &stood_at));
    assert_int_equal(stood_at, rig->model.pc);
    rig->model.r[0] = rig->model.program_r0;
    check_end(rig, "the end", 0);
    assert_int_equal(rig->model.entries, 1);
    assert_int_equal(rig->model.moe, 3);
}

/* Between our read and our request to halt, the core reaches another debugger's BKPT. */
RIG_TEST(what_stops_for_another_reason_is_left_to_who_waits_for_that)
{
    static const struct model_event bkpt[] = {{.cycles = 1000000, .pc = 0x8000},
                                              {.kind = MODEL_BKPT, .cycles = 5, .pc = 0x8050}};
    unsigned theirs = 0;
    for (uint64_t in = 1; in < 600; in += 9) {
        struct rig *rig = set_up(0);
        uint64_t value;
        assert_true(prepare(rig));
        rig->model.script = bkpt;
        rig->model.next = 1;
        rig->model.left = in;
        rig->model.busy = 0;
        assert_true(
            ledger_read(rig->device.ledger, cp15_register(9, 0, 12, 0), &value, &rig->deadline, &rig->error));
        assert_int_equal(value, PMCR_FOUND);
        assert_true(ledger_release_core(rig->device.ledger, &rig->deadline, &rig->error));
        assert_int_equal(rig->model.halted, rig->model.moe == 3);
        assert_int_equal(rig->model.corrupted + rig->model.careless, 0);
        assert_int_equal(rig->model.r[0], rig->model.program_r0);
        theirs += rig->model.halted;
        rig->before.halted = rig->model.halted;
        rig->model.left = 1000000;
        check_end(rig, "the end", 0);
    }
    assert_in_range(theirs, 2, 60);
}

RIG_TEST(a_message_for_the_program_is_a_reason_to_refuse)
{
    struct rig *rig = set_up(0);
    uint64_t value;
    rig->model.rx_full = true;
    rig->model.dtr_rx = 0x1234;
    assert_true(prepare(rig));
    assert_fails(
        ledger_read(rig->device.ledger, cp15_register(9, 0, 12, 0), &value, &rig->deadline, &rig->error),
        &rig->error, ERROR_NO_COUNTER, "DBGDTRRX");
    check_end(rig, "the end", 0);
    assert_true(rig->model.rx_full && rig->model.dtr_rx == 0x1234);
}

/* What the run saw itself of it is not reported once more. */
RIG_TEST(a_reset_between_two_halts)
{
    struct rig *rig = set_up(0);
    uint64_t values[2] = {0};
    assert_true(go(rig, values));
    model_reset(&rig->model);
    assert_true(rig->model.halted);
    assert_fails(read_both(rig, values), &rig->error, ERROR_RESET, "");
    assert_false(rig->model.halted);
    assert_true(halted_access_check_reset(rig->device.halted_access, &rig->error));
    model_reset(&rig->model);
    model_leave(&rig->model); /* as the engine does with a reset that it sees */
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(5000, NULL);
    assert_true(device_undo(&rig->device, &deadline, &error));
    assert_true(device_check_left(&rig->device, &error));
    assert_false(rig->model.halted);
}
