/*
 * The direct engine and a core that is slower than its link: Debug state is left late, so that DHCSR still
 * shows the stop before, and registers are transferred late, so that DCRDR still holds the one before.
 */
#include "scenes.h"

/* Time is the model's, also while the engine naps. */
TEST_TIME(rig_clock, rig_nap)

/* --- a core that is slow to go -------------------------------------------------------------------------- */

static const struct model_event slow_region[] = {
    {.kind = MODEL_AT, .cycles = 2000, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 20000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00},
};
static const struct model_event slow_function[] = {
    {.kind = MODEL_AT, .cycles = 2000, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 20000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00},
};

static void finish_leaving(struct rig *rig)
{
    if (rig->model.going > 0)
        model_go(&rig->model);
    rig->model.going = rig->model.stale = 0;
}

/* DHCSR still shows S_HALT of the stop before. */
RIG_TEST(a_stale_halt_is_not_taken_for_a_new_one)
{
    for (uint32_t stale = 1; stale < 10; stale++)
        for (int i = 0; i < 2; i++) {
            struct rig *rig = i == 0 ? rig_fresh(slow_region, COUNT(slow_region))
                                     : rig_fresh(slow_function, COUNT(slow_function));
            rig->model.stale = stale;
            rig_begin_armed(rig, i == 0 ? &part : &whole);
            (void)rig_run(rig, 5, 0);
            assert_string_equal(rig->error.text, "");
            assert_int_equal(rig->n_hits, 5);
            for (size_t k = 0; k < 5; k++)
                assert_int_equal(rig_work(&rig->hits[k]), 20000 + 7 * k);
            finish_leaving(rig); /* another test is for that */
            rig_end_clean(rig);
        }
}

RIG_TEST(a_stale_halt_in_a_rehit_is_no_sample)
{
    for (uint32_t stale = 1; stale < 10; stale++) {
        struct rig *rig = rig_fresh(slow_region, COUNT(slow_region));
        rig->model.stale = stale;
        rig_begin_armed(rig, &part);
        bool ok = rig_run(rig, 1, 3);
        assert_false(rig->model.hung);
        for (size_t i = 0; i < rig->n_rehits; i++)
            assert_int_equal(rig->rehits[i], RIG_COST);
        if (ok) {
            assert_int_equal(rig->n_hits, 1);
            assert_int_equal(rig_work(&rig->hits[0]), 20000);
        }
        finish_leaving(rig);
        rig_end_clean(rig);
    }
}

RIG_TEST(a_stale_halt_in_a_step_is_not_the_step)
{
    static const struct model_event loop[] = {
        {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1000, .sp = 0x20007F00},
    };
    struct region region = {.start = 0x1000, .end = 0x1000};
    for (uint32_t stale = 1; stale < 10; stale++) {
        struct rig *rig = rig_fresh(loop, COUNT(loop));
        rig->model.stale_step = stale;
        rig_begin_armed(rig, &region);
        (void)rig_run(rig, 5, 0);
        rig_end_with(rig, 5, 1007, 7);
    }
}

/* A proof without a wait, made before the register has its value. */
RIG_TEST(a_late_register_is_not_taken_for_another_value)
{
    for (uint32_t transfer = 0; transfer < 9; transfer++)
        for (int i = 0; i < 2; i++) {
            struct rig *rig = i == 0 ? rig_fresh(slow_region, COUNT(slow_region))
                                     : rig_fresh(slow_function, COUNT(slow_function));
            rig->model.transfer = transfer;
            rig_begin_armed(rig, i == 0 ? &part : &whole);
            assert_true(rig_run(rig, 1, 3));
            assert_true(rig_run(rig, 3, 0));
            rig_end_with(rig, 4, 20000, 7);
        }
}

static struct rig *calibrate_slowly(long slice_at, long *accesses)
{
    struct rig *rig = rig_fresh(slow_region, COUNT(slow_region));
    rig->model.stale = 3;
    rig->model.stale_only = 4; /* two re-hits, the hit, and the first re-hit at the end */
    rig_begin_armed(rig, &part);
    long before = rig->model.accesses;
    rig->model.what = TROUBLE_SLICE;
    rig->model.trouble_at = before + slice_at;
    rig->model.trouble_for = slice_at < 0 ? 0 : 1;
    assert_true(rig_run(rig, 1, 2));
    *accesses = rig->model.accesses - before;
    return rig;
}

/* The re-hit that calibrates the end is slow to go, and the link gives up for now at any access after that.
 */
RIG_TEST(a_hit_that_is_finished_by_hand_is_finished)
{
    long n, ignored;
    rig_free(calibrate_slowly(-1, &n));
    for (long k = n - 20; k < n; k++) {
        struct rig *rig = calibrate_slowly(k, &ignored);
        (void)rig_run(rig, 3, 0);
        rig_end_with(rig, 4, 20000, 7);
    }
}

/* --- once, at any place --------------------------------------------------------------------------------- */

/* The core stays in Debug state for a while, once. */
RIG_TEST(the_core_may_be_slow_to_go_anywhere)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) {
        unsigned n = clean(&scenes[i]).resumes;
        for (unsigned only = 1; only <= n; only++)
            for (unsigned how = 0; how < 6; how++) {
                struct rig *rig = set_up(&scenes[i]);
                rig->model.stale = 2 + how % 3 * 2;
                rig->model.slice = how < 3 ? 1000 : 1;
                rig->model.stale_only = only;
                struct end end = go(rig, &scenes[i]);
                const char *words = judge(rig, &end, must_succeed, NULL);
                if (words != NULL && wrong++ < WORDS)
                    print_message("%s, resume %u of %u, slow by %u, slices of %u: %s\n", scenes[i].name, only,
                                  n, (unsigned)rig->model.stale, (unsigned)rig->model.slice, words);
            }
    }
    assert_int_equal(wrong, 0);
}

/* A register transfer takes a while, once. */
RIG_TEST(a_register_may_come_late_anywhere)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) {
        unsigned n = clean(&scenes[i]).transfers;
        for (unsigned only = 1; only <= n; only++) {
            struct rig *rig = set_up(&scenes[i]);
            rig->model.transfer = 5;
            rig->model.slice = 1;
            rig->model.transfer_only = only;
            struct end end = go(rig, &scenes[i]);
            const char *words = judge(rig, &end, must_succeed, NULL);
            if (words != NULL && wrong++ < WORDS)
                print_message("%s, transfer %u of %u: %s\n", scenes[i].name, only, n, words);
        }
    }
    assert_int_equal(wrong, 0);
}

/* Known to be slow, it is waited for before the next register is asked for. */
RIG_TEST(a_core_of_a_slow_clock_is_not_hurried)
{
    for (size_t i = 0; i < COUNT(scenes); i++)
        for (uint32_t transfer = 1; transfer < 8; transfer += 3) {
            struct rig *rig = set_up(&scenes[i]);
            rig->model.transfer = transfer;
            rig->device.slow_clock = true;
            struct end end = go(rig, &scenes[i]);
            unsigned hasty = rig->model.hasty;
            const char *words = judge(rig, &end, must_succeed, NULL);
            assert_string_equal(words == NULL ? "" : words, "");
            assert_int_equal(hasty, 0);
        }
}
