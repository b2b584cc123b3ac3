/*
 * Coprocessor registers of a core that runs: it is halted for them and let go again, nothing else happens to
 * it, and that at every access at which something can go wrong.
 */
#include "../cores/rig_armv7.h"

#include "cores/armv7_transfer.h"
#include "device/halted_access.h"

static long impatience; /* microseconds that each read of the clock takes, besides the model's time */

static int clock_of_the_impatient(struct timespec *now)
{
    static long more;
    more += impatience;
    int result = rig_clock(now);
    long us = now->tv_nsec / 1000 + more;
    now->tv_sec += us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return result;
}

TEST_TIME(clock_of_the_impatient, test_no_nap)

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

/* As a command does at its end, which tries again once. NULL: all is as it was. */
static const char *end(struct rig *rig)
{
    bool undone = false;
    struct model *m = &rig->model;
    for (int tries = 0; tries < 2 && !undone; tries++) {
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(5000, NULL);
        undone = device_undo(&rig->device, &deadline, &error);
    }
    rig_free(rig);
    if (m->going > 0)
        model_leave(m);
    bool same = memcmp(&m->monitor, &rig->before.monitor, sizeof m->monitor) == 0;
    return m->hung   ? "it hangs"
           : !undone ? "the end failed"
           : same    ? model_difference(m, &rig->before)
                     : "monitor";
}

static void assert_end(struct rig *rig)
{
    const char *wrong = end(rig);
    if (wrong != NULL)
        fail_msg("%s", wrong);
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
        assert_end(rig);
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
    assert_end(rig);
}

RIG_TEST(comparators_left_over_do_not_wake_up)
{
    struct rig *rig = set_up(0);
    uint64_t values[2];
    rig->model.bvr[2] = rig->before.bvr[2] = 0x8000;
    rig->model.bcr[2] = rig->before.bcr[2] = 0x1E7;
    assert_true(go(rig, values));
    assert_int_equal(rig->model.entries, 2);
    assert_end(rig);
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
    assert_end(rig);
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
        assert_end(rig);
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
    assert_false(
        ledger_read(rig->device.ledger, cp15_register(9, 0, 12, 0), &value, &rig->deadline, &rig->error));
    assert_int_equal(rig->error.kind, ERROR_NO_COUNTER);
    assert_non_null(strstr(rig->error.text, "DBGDTRRX"));
    assert_end(rig);
    assert_true(rig->model.rx_full && rig->model.dtr_rx == 0x1234);
}

/* --- the same thing wrong at every access --------------------------------------------------------------- */

static bool go_with(struct rig *rig, enum model_trouble what, long at, uint64_t *values)
{
    rig->model.what = what;
    rig->model.trouble_at = rig->model.accesses + at;
    return go(rig, values);
}

static void at_every_access(enum model_trouble what)
{
    for (unsigned slow = 0; slow < 4; slow += 3) {
        struct test_sweep sweep = test_sweep(slow > 0 ? 3 : 1, 10, "%d, slow %u", (int)what, slow);
        long at = 0;
        for (bool struck = true; struck; at++) {
            if (!test_takes(&sweep, at))
                continue;
            struct rig *rig = set_up(slow);
            uint64_t values[2] = {PMCR_FOUND, VALUE};
            bool done = go_with(rig, what, at, values);
            bool same = values[0] == PMCR_FOUND && values[1] == VALUE;
            const char *left = end(rig);
            struck = rig->model.accesses > rig->model.trouble_at;
            if (!done && rig->error.kind == ERROR_NONE)
                fail_msg("at %ld: no reason", at);
            if (left != NULL || !same)
                fail_msg("at %ld: %s (%s)", at, left != NULL ? left : "a wrong value", rig->error.text);
        }
        assert_true(at > 500);
    }
}

RIG_TEST(cancelled_anywhere)
{
    at_every_access(MODEL_CANCEL);
}

RIG_TEST(the_link_lost_anywhere)
{
    at_every_access(MODEL_LOSE);
    at_every_access(MODEL_LOSE_AFTER);
}

/* Again while it is being given back. */
RIG_TEST(the_link_lost_twice)
{
    for (long at = 25; at < 400; at += 11) {
        struct test_sweep sweep = test_sweep(2, 10, "later than %ld", at);
        for (long later = 1; later < 90; later++) {
            if (!test_takes(&sweep, later - 1))
                continue;
            struct rig *rig = set_up(0);
            uint64_t values[2];
            rig->model.trouble_again = rig->model.accesses + at + later;
            assert_false(go_with(rig, at % 2 ? MODEL_LOSE_AFTER : MODEL_LOSE, at, values));
            const char *left = end(rig);
            if (left != NULL)
                fail_msg("at %ld and %ld later: %s", at, later, left);
        }
    }
}

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(MODEL_DO_PEND);
}

/* --- resets --------------------------------------------------------------------------------------------- */

/* A core that was given its mode of before must not go on, and that is reported; one that was caught before
 * it was halted for anything goes on, and no number is made of it. */
RIG_TEST(a_reset_anywhere)
{
    long at = 0, left = 0, went_on = 0;
    for (bool struck = true; struck; at++) {
        struct rig *rig = set_up(at % 2 ? 3 : 0);
        struct model *m = &rig->model;
        uint64_t values[2] = {PMCR_FOUND, VALUE};
        struct error undoing = {0}, leaving = {0};
        rig->deadline = deadline_in_ms(2000, NULL);
        impatience = 5000;
        bool done = go_with(rig, MODEL_DO_RESET, at, values);
        impatience = 0;
        struct deadline deadline = deadline_in_ms(5000, NULL);
        struck = m->accesses > m->trouble_at;
        bool undone = false;
        for (int tries = 0; tries < 2 && !undone; tries++)
            undone = device_undo(&rig->device, &deadline, &undoing);
        bool stays = !device_check_left(&rig->device, &leaving);
        struck = struck || m->accesses > m->trouble_at;
        if (!undone || m->hung || m->corrupted)
            fail_msg("at %ld: %s; %s", at, rig->error.text, undoing.text);
        if (m->halted != stays || (stays && leaving.kind != ERROR_RESET))
            fail_msg("at %ld: halted %d, %s", at, m->halted, leaving.text);
        if (struck && done && !stays && (values[0] != PMCR_FOUND || values[1] != VALUE))
            fail_msg("at %ld: a wrong value", at);
        if (!done && rig->error.kind != ERROR_RESET)
            fail_msg("at %ld: %s", at, rig->error.text);
        left += stays;
        went_on += struck && !stays;
        rig_free(rig);
    }
    if (at < 500 || left < 300 || went_on < 20)
        fail_msg("%ld resets, %ld left halted, %ld went on", at, left, went_on);
}

/* What the run saw itself of it is not reported once more. */
RIG_TEST(a_reset_between_two_halts)
{
    struct rig *rig = set_up(0);
    uint64_t values[2] = {0};
    assert_true(go(rig, values));
    model_reset(&rig->model);
    assert_true(rig->model.halted);
    assert_false(read_both(rig, values));
    assert_int_equal(rig->error.kind, ERROR_RESET);
    assert_false(rig->model.halted);
    error_clear(&rig->error);
    assert_true(halted_access_check_reset(rig->device.halted_access, &rig->error));
    model_reset(&rig->model);
    model_leave(&rig->model); /* as the engine does with a reset that it sees */
    struct error error = {0};
    struct deadline deadline = deadline_in_ms(5000, NULL);
    assert_true(device_undo(&rig->device, &deadline, &error));
    assert_true(device_check_left(&rig->device, &error));
    assert_false(rig->model.halted);
}
