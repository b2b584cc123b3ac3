/*
 * System registers of an Armv8-A core that runs, and memory as it sees it: as test_halted_access.c has it for
 * CP15, and what is different there: a level at which nothing can be done, and a status that shows it late.
 */
#include "../cores/rig_armv8.h"

#include "cores/armv8_transfer.h"

/* The control register, and words of memory. After a reset the registers are the new program's. */
enum { LOOKED_AT = 3, VALUES = 1 + LOOKED_AT, TWICE_FROM = 60, RESET_KEEPS_REGISTERS = false };

#include "halted_arm.h"

static const struct model_event busy[] = {{.cycles = 400, .grow = GROW, .pc = 0x80000, .sp = 0x9F00},
                                          {.cycles = 90, .pc = 0x80100, .sp = 0x9F00}};
static const struct model_event in_and_out[] = {{.cycles = 3000, .pc = 0x80100, .sp = 0x9F00},
                                                {.cycles = 3000, .pc = 0x8000, .sp = 0x9F00, .user = 5}};
static const struct model_event always_user[] = {{.cycles = 400, .pc = 0x8000, .sp = 0x9F00, .user = 5}};

static struct rig *set_up_script(const struct model_event *script, size_t n, unsigned slow)
{
    struct rig *rig = rig_fresh(script, n);
    struct model *m = &rig->model;
    m->slow_itr = m->slow_exit = m->slow_show = slow;
    m->system =
        (struct v8_system){.elr = 0x80404, .spsr = 0x3C5, .far = KERNEL, .control = 0x41033000, .enabled = 1};
    rig_begin(rig);
    return rig;
}

static struct rig *set_up(unsigned slow)
{
    return set_up_script(busy, COUNT(busy), slow);
}

/* As `stub enable` does, with a read before and after it. */
static bool go(struct rig *rig, uint64_t *values)
{
    const struct restore pair = {.how = RESTORE_PAIR, .clear = armv8_own_pmu(12, 2)};
    struct ledger *ledger = rig->device.ledger;
    return device_access_by_core(&rig->device, &rig->deadline, &rig->error) &&
           halted_access_look(rig->device.halted_access, V8_RAM + 4, values + 1, LOOKED_AT, &rig->deadline,
                              &rig->error) &&
           ledger_read(ledger, armv8_own_pmu(12, 0), values, &rig->deadline, &rig->error) &&
           ledger_write(ledger, armv8_own_pmu(14, 0), 1, (struct restore){0}, &rig->deadline, &rig->error) &&
           ledger_write(ledger, armv8_own_pmu(12, 1), 0x80000000, pair, &rig->deadline, &rig->error) &&
           ledger_release_core(ledger, &rig->deadline, &rig->error);
}

static bool are_right(const uint64_t *values)
{
    for (size_t i = 0; i < LOOKED_AT; i++)
        if (values[1 + i] != V8_RAM_VALUE + 1 + i)
            return false;
    return values[0] == 0x41033000;
}

static bool has_its_monitor(const struct rig *rig)
{
    const struct v8_system *now = &rig->model.system, *had = &rig->before.system;
    return now->control == had->control && now->enabled == had->enabled && now->user == had->user;
}

RIG_TEST(a_core_that_runs_is_halted_for_it_and_let_go)
{
    for (unsigned slow = 0; slow < 8; slow += 7) {
        uint64_t values[VALUES] = {0};
        struct rig *rig = set_up(slow);
        assert_true(go(rig, values));
        assert_int_equal(rig->model.entries, 1); /* for all of it */
        assert_true(!rig->model.halted || rig->model.going > 0);
        assert_true(are_right(values));
        assert_int_equal(rig->model.system.user, 1);
        assert_int_equal(rig->model.system.enabled, 0x80000001);
        check_end(rig, "slow", slow);
        assert_int_equal(rig->model.entries, 2);
    }
}

/* The status shows the old halt for a moment, which is not taken for a new one. */
RIG_TEST(it_is_halted_again_at_once)
{
    for (unsigned slow = 0; slow < 12; slow++) {
        struct rig *rig = set_up(slow);
        uint64_t value = 0;
        assert_true(device_access_by_core(&rig->device, &rig->deadline, &rig->error));
        for (unsigned i = 1; i < 5; i++) {
            assert_true(
                ledger_read(rig->device.ledger, armv8_own_pmu(12, 0), &value, &rig->deadline, &rig->error));
            assert_int_equal(value, 0x41033000);
            assert_int_equal(rig->model.entries, i);
            assert_true(ledger_release_core(rig->device.ledger, &rig->deadline, &rig->error));
        }
        check_end(rig, "slow", slow);
    }
}

RIG_TEST(what_was_halted_stays_so)
{
    struct rig *rig = set_up(0);
    uint64_t values[VALUES] = {0};
    model_enter(&rig->model, 0x13);
    rig->model.x[0] = rig->model.program_x0;
    rig->before.halted = true;
    assert_true(go(rig, values));
    assert_true(rig->model.halted);
    assert_int_equal(rig->model.system.user, 1);
    check_end(rig, "halted", 0);
    assert_int_equal(rig->model.entries, 1);
}

RIG_TEST(a_program_that_comes_to_el1_now_and_then)
{
    unsigned more = 0;
    for (long in = 0; in < 40; in++) {
        struct rig *rig = set_up_script(in_and_out, COUNT(in_and_out), 0);
        uint64_t values[VALUES] = {0};
        rig->model.user = 5;
        rig->model.left = 10 + 150 * (uint64_t)in;
        assert_true(go(rig, values));
        more += rig->model.entries > 1;
        check_end(rig, "in and out", in);
    }
    assert_true(more > 3);
}

RIG_TEST(a_program_that_stays_in_user_mode)
{
    struct rig *rig = set_up_script(always_user, COUNT(always_user), 0);
    uint64_t values[VALUES] = {0};
    rig->model.left = 10;
    impatience = 50000;
    assert_false(go(rig, values));
    impatience = 0;
    assert_error(&rig->error, ERROR_STATE, "it is in user mode (EL0) whenever it is halted");
    assert_in_range(rig->model.entries, 2, 100);
    check_end(rig, "user mode", 0);
}

RIG_TEST(what_the_core_refuses)
{
    struct rig *rig = set_up(0);
    uint64_t words[LOOKED_AT];
    assert_true(device_access_by_core(&rig->device, &rig->deadline, &rig->error));
    assert_fails(halted_access_look(rig->device.halted_access, V8_RAM - 4, words, LOOKED_AT, &rig->deadline,
                                    &rig->error),
                 &rig->error, ERROR_FAULT, "");
    check_end(rig, "refused", 0);
}

RIG_TEST(what_does_not_answer_or_answers_twice_anywhere)
{
    at_every_access(MODEL_WAIT, true);
    at_every_access(MODEL_REFUSE, false);
    at_every_access(MODEL_TWICE, false);
}
