/*
 * System registers of an Armv8-A core that runs, and memory as it sees it: as test_halted_access.c has it for
 * CP15, and what is different there: a level at which nothing can be done, and a status that shows it late.
 */
#include "../cores/rig_armv8.h"

#include "cores/armv8_transfer.h"

enum { LOOKED_AT = 3 };

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
static bool go(struct rig *rig, uint64_t *control, uint64_t *words)
{
    const struct restore pair = {.how = RESTORE_PAIR, .clear = armv8_own_pmu(12, 2)};
    struct ledger *ledger = rig->device.ledger;
    return device_access_by_core(&rig->device, &rig->deadline, &rig->error) &&
           halted_access_look(rig->device.halted_access, V8_RAM + 4, words, LOOKED_AT, &rig->deadline,
                              &rig->error) &&
           ledger_read(ledger, armv8_own_pmu(12, 0), control, &rig->deadline, &rig->error) &&
           ledger_write(ledger, armv8_own_pmu(14, 0), 1, (struct restore){0}, &rig->deadline, &rig->error) &&
           ledger_write(ledger, armv8_own_pmu(12, 1), 0x80000000, pair, &rig->deadline, &rig->error) &&
           ledger_release_core(ledger, &rig->deadline, &rig->error);
}

/* As a command does at its end, which tries again once. NULL: all is as it was. */
static const char *end(struct rig *rig)
{
    const struct v8_system *now = &rig->model.system, *had = &rig->before.system;
    bool undone = false;
    for (int tries = 0; tries < 2 && !undone; tries++) {
        struct error error = {0};
        struct deadline deadline = deadline_in_ms(5000, NULL);
        undone = device_undo(&rig->device, &deadline, &error);
    }
    rig_free(rig);
    if (rig->model.going > 0)
        model_leave(&rig->model); /* as the test wants */
    const char *wrong = rig->model.hung ? "it hangs"
                        : undone        ? model_difference(&rig->model, &rig->before)
                                        : "the end failed";
    bool same = now->control == had->control && now->enabled == had->enabled && now->user == had->user;
    return wrong == NULL && !same ? "the monitor" : wrong;
}

static void check_end(struct rig *rig, const char *what, long at)
{
    const char *wrong = end(rig);
    if (wrong != NULL)
        fail_msg("%s at %ld: %s (%s)", what, at, wrong, rig->error.text);
}

RIG_TEST(a_core_that_runs_is_halted_for_it_and_let_go)
{
    for (unsigned slow = 0; slow < 8; slow += 7) {
        uint64_t control = 0, words[LOOKED_AT] = {0};
        struct rig *rig = set_up(slow);
        assert_true(go(rig, &control, words));
        assert_int_equal(rig->model.entries, 1); /* for all of it */
        assert_true(!rig->model.halted || rig->model.going > 0);
        assert_int_equal(control, 0x41033000);
        for (size_t i = 0; i < LOOKED_AT; i++)
            assert_int_equal(words[i], V8_RAM_VALUE + 1 + i);
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
    uint64_t control = 0, words[LOOKED_AT];
    model_enter(&rig->model, 0x13);
    rig->model.x[0] = rig->model.program_x0;
    rig->before.halted = true;
    assert_true(go(rig, &control, words));
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
        uint64_t control = 0, words[LOOKED_AT];
        rig->model.user = 5;
        rig->model.left = 10 + 150 * (uint64_t)in;
        assert_true(go(rig, &control, words));
        more += rig->model.entries > 1;
        check_end(rig, "in and out", in);
    }
    assert_true(more > 3);
}

RIG_TEST(a_program_that_stays_in_user_mode)
{
    struct rig *rig = set_up_script(always_user, COUNT(always_user), 0);
    uint64_t control, words[LOOKED_AT];
    rig->model.left = 10;
    impatience = 50000;
    assert_false(go(rig, &control, words));
    impatience = 0;
    assert_int_equal(rig->error.kind, ERROR_STATE);
    assert_non_null(strstr(rig->error.text, "it is in user mode (EL0) whenever it is halted"));
    assert_in_range(rig->model.entries, 2, 100);
    check_end(rig, "user mode", 0);
}

RIG_TEST(what_the_core_refuses)
{
    struct rig *rig = set_up(0);
    uint64_t words[LOOKED_AT];
    assert_true(device_access_by_core(&rig->device, &rig->deadline, &rig->error));
    assert_false(halted_access_look(rig->device.halted_access, V8_RAM - 4, words, LOOKED_AT, &rig->deadline,
                                    &rig->error));
    assert_int_equal(rig->error.kind, ERROR_FAULT);
    check_end(rig, "refused", 0);
}

/* --- the same thing wrong at every access --------------------------------------------------------------- */

static void at_every_access(enum model_trouble what, bool survives)
{
    for (unsigned slow = 0; slow < 4; slow += 3) {
        struct test_sweep sweep = test_sweep(slow > 0 ? 3 : 1, 10, "%d, slow %u", (int)what, slow);
        long at = 0;
        for (bool struck = true; struck; at++) {
            if (!test_takes(&sweep, at))
                continue;
            struct rig *rig = set_up(slow);
            uint64_t control = 0, words[LOOKED_AT] = {0};
            rig->model.what = what;
            rig->model.trouble_at = rig->model.accesses + at;
            bool done = go(rig, &control, words);
            bool right = control == 0x41033000 && words[0] == V8_RAM_VALUE + 1;
            if (done ? !right : survives || rig->error.kind == ERROR_NONE)
                fail_msg("%d at %ld: %s, 0x%lx", (int)what, at, rig->error.text, (unsigned long)control);
            check_end(rig, "trouble", at);
            struck = rig->model.accesses > rig->model.trouble_at;
        }
        assert_true(at > 500);
    }
}

RIG_TEST(cancelled_anywhere)
{
    at_every_access(MODEL_CANCEL, false);
}

RIG_TEST(the_link_lost_anywhere)
{
    at_every_access(MODEL_LOSE, false);
    at_every_access(MODEL_LOSE_AFTER, false);
}

RIG_TEST(a_wait_anywhere)
{
    at_every_access(MODEL_WAIT, true);
}

RIG_TEST(a_refusal_anywhere)
{
    at_every_access(MODEL_REFUSE, false);
}

RIG_TEST(an_answer_lost_anywhere)
{
    at_every_access(MODEL_TWICE, false);
}

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(MODEL_DO_PEND, true);
}

/* Again while it is being given back. */
RIG_TEST(the_link_lost_twice)
{
    for (long at = 60; at < 400; at += 11) {
        struct test_sweep sweep = test_sweep(2, 10, "later than %ld", at);
        for (long later = 1; later < 120; later++) {
            if (!test_takes(&sweep, later - 1))
                continue;
            struct rig *rig = set_up(0);
            uint64_t control, words[LOOKED_AT];
            rig->model.what = at % 2 ? MODEL_LOSE_AFTER : MODEL_LOSE;
            rig->model.trouble_at = rig->model.accesses + at;
            rig->model.trouble_again = rig->model.trouble_at + later;
            (void)go(rig, &control, words);
            check_end(rig, "lost twice", at * 1000 + later);
        }
    }
}

/* A core that was given registers of before must not go on, and that is reported. */
RIG_TEST(a_reset_anywhere)
{
    long at = 0, left = 0, went_on = 0;
    for (bool struck = true; struck; at++) {
        struct rig *rig = set_up(at % 2 ? 3 : 0);
        struct model *m = &rig->model;
        uint64_t control = 0, words[LOOKED_AT];
        struct error undoing = {0}, leaving = {0};
        rig->deadline = deadline_in_ms(2000, NULL);
        m->what = MODEL_DO_RESET;
        m->trouble_at = m->accesses + at;
        impatience = 5000;
        bool done = go(rig, &control, words);
        impatience = 0;
        struct deadline deadline = deadline_in_ms(5000, NULL);
        bool undone = false;
        for (int tries = 0; tries < 2 && !undone; tries++)
            undone = device_undo(&rig->device, &deadline, &undoing);
        bool stays = !device_check_left(&rig->device, &leaving);
        struck = m->accesses > m->trouble_at;
        if (!undone || m->hung)
            fail_msg("at %ld: %s; %s", at, rig->error.text, undoing.text);
        if (m->halted != stays || (stays && leaving.kind != ERROR_RESET))
            fail_msg("at %ld: halted %d, %s", at, m->halted, leaving.text);
        if (!done && rig->error.kind != ERROR_RESET)
            fail_msg("at %ld: %s", at, rig->error.text);
        left += stays;
        went_on += struck && !stays;
        rig_free(rig);
    }
    if (at < 500 || left < 300 || went_on < 20)
        fail_msg("%ld resets, %ld left halted, %ld went on", at, left, went_on);
}
