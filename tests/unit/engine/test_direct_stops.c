/*
 * The direct engine and unplanned stops: foreign ones, resets, lockup, sleep, and a
 * core that is slow to leave Debug state.
 */
#include "rig.h"

/* Time is the model's, also while the engine naps. */
TEST_TIME(rig_clock, rig_nap)

enum { SOMEWHERE = 0x1048 };

/* --- foreign stops -------------------------------------------------------------------------------------- */

static const struct model_event halted_inside[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00},
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_HALT, .cycles = 500, .pc = SOMEWHERE},
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1100, .sp = 0x20007F00},
};
static const struct model_event halted_outside[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00},
    {.kind = MODEL_HALT, .cycles = 500, .pc = SOMEWHERE},
};

static void end_at_foreign_stop(struct rig *rig)
{
    assert_true(rig_end(rig));
    assert_true(rig->model.halted);
    assert_int_equal(rig->model.pc, SOMEWHERE);
    assert_true(rig->model.debug);
    assert_true(rig->model.dfsr & 0x3); /* the reason of the stop is still there */
    assert_memory_equal(rig->model.comparators, rig->before.comparators, sizeof rig->model.comparators);
    assert_int_equal(rig->model.demcr, rig->before.demcr);
}

static void check_foreign(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_armed(script, n, &part);
    assert_fails(rig_run(rig, 10, 3), &rig->error, ERROR_FOREIGN_STOP, "");
    assert_int_equal(rig->engine->stopped_at, SOMEWHERE);
    rig_check_hits(rig, 1, 1000, 7);
    end_at_foreign_stop(rig);
}

RIG_TEST(a_foreign_stop_is_named_and_left_alone)
{
    check_foreign(halted_inside, COUNT(halted_inside));
    check_foreign(halted_outside, COUNT(halted_outside));
    static const struct model_event theirs[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 500, .pc = SOMEWHERE, .sp = 0x20007F00},
    };
    struct rig *rig = rig_fresh(theirs, COUNT(theirs));
    rig->model.debug = true;
    rig->model.fp_ctrl |= 1;
    rig->model.comparators[0] = 0x40000000 | SOMEWHERE | 1; /* their breakpoint */
    rig_begin_armed(rig, &whole);
    assert_fails(rig_run(rig, 10, 0), &rig->error, ERROR_FOREIGN_STOP, "");
    end_at_foreign_stop(rig);
}

RIG_TEST(a_foreign_stop_after_the_sink_has_enough_is_left_alone)
{
    struct rig *rig = rig_fresh(halted_outside, COUNT(halted_outside));
    rig_begin(rig);
    rig->enough_after = 1;
    assert_true(rig_arm(rig, &part));
    assert_true(rig_run(rig, 10, 0));
    model_advance(&rig->model, 1000);
    end_at_foreign_stop(rig);
}

RIG_TEST(a_foreign_stop_after_arming_failed_is_left_alone)
{
    struct rig *rig = rig_fresh(halted_outside, COUNT(halted_outside));
    rig_occupy(rig, 6);
    rig_begin(rig);
    assert_fails(rig_arm(rig, &part), &rig->error, ERROR_NO_COMPARATOR, "");
    model_advance(&rig->model, 5000);
    assert_true(rig->model.halted);
    end_at_foreign_stop(rig);
}

RIG_TEST(a_foreign_stop_after_waiting_for_a_sleeper_is_left_alone)
{
    static const struct model_event sleeper[] = {
        {.kind = MODEL_SLEEP, .cycles = 400, .length = 200000000},
        {.kind = MODEL_HALT, .cycles = 400, .pc = SOMEWHERE},
    };
    struct rig *rig = rig_fresh(sleeper, COUNT(sleeper));
    rig->model.deep_sleep = true;
    rig_begin(rig);
    rig->timeout_ms = 0;
    assert_true(rig_arm(rig, &part));
    assert_fails(rig_run(rig, 10, 0), &rig->error, ERROR_ASLEEP, "");
    model_advance(&rig->model, 200001000);
    assert_true(rig->model.halted);
    end_at_foreign_stop(rig);
}

/* --- waiting -------------------------------------------------------------------------------------------- */

/* The timeout is for each stop, not for all. */
RIG_TEST(many_hits_may_take_longer_than_the_timeout)
{
    struct rig *rig = rig_fresh(to_end, COUNT(to_end));
    rig->model.pace = 100;
    rig->model.slice = 1;
    rig->model.left += 10000;
    rig_begin(rig);
    rig->timeout_ms = 1; /* a hit and the way to the next take 15 us */
    uint64_t before = rig->model.wall;
    assert_true(rig_arm(rig, &part));
    assert_true(rig_run(rig, 60, 0));
    assert_true(rig->model.wall - before > (uint64_t)MODEL_MHZ * 1000);
    rig_end_with(rig, 60, 1000, 7);
}

RIG_TEST(a_sleeping_core_is_waited_for)
{
    static const struct model_event sleepy[] = {
        {.kind = MODEL_SLEEP, .cycles = 100, .length = 3000000},
        {.kind = MODEL_AT, .cycles = 400, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_SLEEP, .cycles = 100, .length = 3000000},
        {.kind = MODEL_AT, .cycles = 900, .grow = 7, .pc = 0x1100, .sp = 0x20007F00},
    };
    for (int deep = 0; deep < 2; deep++) {
        struct rig *rig = rig_fresh(sleepy, COUNT(sleepy));
        rig->model.limit = 0;
        rig_begin_armed(rig, &part);
        rig->model.deep_sleep = deep != 0;
        assert_true(rig_run(rig, 3, 0));
        rig_check_hits(rig, 3, 1000, 7);
        rig->model.deep_sleep = false; /* awake, so that the end can clean up */
        rig_end_clean(rig);
    }
}

/* --- resets --------------------------------------------------------------------------------------------- */

RIG_TEST(a_reset_ends_the_run)
{
    static const struct model_event in_region[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_RESET, .cycles = 600},
    };
    static const struct model_event before_start[] = {{.kind = MODEL_RESET, .cycles = 600}};
    for (int i = 0; i < 4; i++) {
        struct rig *rig =
            i < 2 ? rig_fresh(in_region, COUNT(in_region)) : rig_fresh(before_start, COUNT(before_start));
        rig_begin(rig);
        assert_true(rig_arm(rig, i % 2 == 0 ? &part : &whole));
        assert_fails(rig_run(rig, 10, 3), &rig->error, ERROR_RESET, "");
        assert_int_equal(rig->n_hits, 0);
        rig_end_clean(rig); /* and the core runs on */
    }
}

RIG_TEST(lockup_is_an_error_of_its_own)
{
    static const struct model_event dying[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_LOCKUP, .cycles = 100},
    };
    struct rig *rig = rig_armed(dying, COUNT(dying), &part);
    assert_fails(rig_run(rig, 10, 3), &rig->error, ERROR_LOCKUP, "");
    rig_end_clean(rig);
}

/* --- TrustZone ------------------------------------------------------------------------------------------ */

/* A Non-secure function that the Secure state called: LR is FNC_RETURN. */
RIG_TEST(a_return_to_the_secure_state_is_refused)
{
    static const struct model_event script[] = {
        {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0xFEFFFFFF},
        {.cycles = 1000, .pc = 0x2004, .sp = 0x20007F00},
    };
    struct rig *rig = rig_armed(script, COUNT(script), &whole);
    assert_fails(rig_run(rig, 10, 3), &rig->error, ERROR_STATE, "called from the Secure state");
    assert_int_equal(rig->n_hits, 0);
    rig_end_clean(rig);
}
