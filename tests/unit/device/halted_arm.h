/*
 * Accesses that a halted core makes, on a core that runs: whatever goes wrong at any access, what was read is
 * right, and all is given back. For test_halted_access.c and test_halted_access_v8.c, which have what is read
 * and how, and further tests.
 */
#pragma once

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

/* Of the file: a rig with a core as it is found; a run that reads and writes; what it reads; the core's
 * monitor. */
static struct rig *set_up(unsigned slow);
static bool go(struct rig *rig, uint64_t *values);
static bool are_right(const uint64_t *values);
static bool has_its_monitor(const struct rig *rig);

static bool undo(struct rig *rig, struct error *error)
{
    bool undone = false;
    struct deadline deadline = deadline_in_ms(5000, NULL);
    for (int tries = 0; tries < 2 && !undone; tries++) {
        error_clear(error);
        undone = device_undo(&rig->device, &deadline, error);
    }
    return undone;
}

/* As a command does at its end, which tries again once: all is as it was. */
static void check_end(struct rig *rig, const char *what, long at)
{
    struct error error = {0};
    struct model *m = &rig->model;
    bool undone = undo(rig, &error);
    rig_free(rig);
    if (m->going > 0)
        model_leave(m); /* as the test wants */
    const char *wrong = m->hung                 ? "it hangs"
                        : !undone               ? "the end failed"
                        : !has_its_monitor(rig) ? "the monitor"
                                                : model_difference(m, &rig->before);
    if (wrong != NULL)
        fail_msg("%s at %ld: %s (%s)", what, at, wrong, rig->error.text);
}

static bool go_with(struct rig *rig, enum model_trouble what, long at, uint64_t *values)
{
    rig->model.what = what;
    rig->model.trouble_at = rig->model.accesses + at;
    return go(rig, values);
}

static void at_every_access(enum model_trouble what, bool survives)
{
    for (unsigned slow = 0; slow < 4; slow += 3) {
        struct test_sweep sweep = test_sweep(slow > 0 ? 3 : 1, 10, "%d, slow %u", (int)what, slow);
        long at = 0;
        for (bool struck = true; struck; at++) {
            if (!test_takes(&sweep, at))
                continue;
            struct rig *rig = set_up(slow);
            uint64_t values[VALUES] = {0};
            bool done = go_with(rig, what, at, values);
            if (done ? !are_right(values) : survives || rig->error.kind == ERROR_NONE)
                fail_msg("%d at %ld: %s", (int)what, at, rig->error.text);
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

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(MODEL_DO_PEND, true);
}

/* Again while it is being given back. */
RIG_TEST(the_link_lost_twice)
{
    for (long at = TWICE_FROM; at < 400; at += 11) {
        struct test_sweep sweep = test_sweep(2, 10, "later than %ld", at);
        for (long later = 1; later < 120; later++) {
            if (!test_takes(&sweep, later - 1))
                continue;
            struct rig *rig = set_up(0);
            uint64_t values[VALUES];
            rig->model.trouble_again = rig->model.accesses + at + later;
            assert_false(go_with(rig, at % 2 ? MODEL_LOSE_AFTER : MODEL_LOSE, at, values));
            check_end(rig, "lost twice", at * 1000 + later);
        }
    }
}

/* A core that was given registers of before must not go on, and that is reported; one that was caught before
 * it was halted for anything goes on, and no number is made of it. */
RIG_TEST(a_reset_anywhere)
{
    long at = 0, left = 0, went_on = 0;
    for (bool struck = true; struck; at++) {
        struct rig *rig = set_up(at % 2 ? 3 : 0);
        struct model *m = &rig->model;
        uint64_t values[VALUES] = {0};
        struct error undoing = {0}, leaving = {0};
        rig->deadline = deadline_in_ms(2000, NULL);
        impatience = 5000;
        bool done = go_with(rig, MODEL_DO_RESET, at, values);
        impatience = 0;
        struck = m->accesses > m->trouble_at;
        bool undone = undo(rig, &undoing);
        bool stays = !device_check_left(&rig->device, &leaving);
        if (!undone || m->hung || (RESET_KEEPS_REGISTERS && m->corrupted))
            fail_msg("at %ld: %s; %s", at, rig->error.text, undoing.text);
        if (m->halted != stays || (stays && leaving.kind != ERROR_RESET))
            fail_msg("at %ld: halted %d, %s", at, m->halted, leaving.text);
        if (struck && done && !stays && !are_right(values))
            fail_msg("at %ld: a wrong value", at);
        if (!done && rig->error.kind != ERROR_RESET)
            fail_msg("at %ld: %s", at, rig->error.text);
        struck = struck || m->accesses > m->trouble_at;
        left += stays;
        went_on += struck && !stays;
        rig_free(rig);
    }
    if (at < 500 || left < 300 || went_on < 20)
        fail_msg("%ld resets, %ld left halted, %ld went on", at, left, went_on);
}
