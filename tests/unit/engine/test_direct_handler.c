/*
 * The direct engine and a Cortex-M7's erratum 3092511: a breakpoint that is reached just as an interrupt
 * pends halts the core in the handler, which has no breakpoint.
 */
#include "rig.h"

/* Time is the model's, also while the engine naps. */
TEST_TIME(rig_clock, rig_nap)

enum { HANDLER = 90 };

static struct rig *m7(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_fresh(script, n);
    model_be_m7(&rig->model);
    rig_begin(rig);
    return rig;
}

/* At the start it runs before the hit, at the end inside. */
RIG_TEST(it_runs_where_it_pends)
{
    for (int i = 0; i < 4; i++) {
        bool at_end = i & 1;
        const struct model_event script[] = {
            {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005, .pended = !at_end},
            {.cycles = 1000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00, .lr = 0x2005, .pended = at_end},
        };
        struct rig *rig = m7(script, COUNT(script));
        assert_true(rig_arm(rig, i & 2 ? &whole : &(struct region){.start = 0x1000, .end = 0x2004}));
        assert_true(rig_run(rig, 1, 4));
        assert_true(rig_run(rig, 20, 0));
        rig_check_hits(rig, 21, 1000 + (at_end ? HANDLER : 0), 7);
        for (size_t n = 0; n < rig->n_hits; n++)
            assert_true(!rig->hits[n].tainted && rig->hits[n].pairs == (at_end ? 2 : 1));
        assert_true(at_end || rig->n_rehits == 8);
        for (size_t n = 0; n < rig->n_rehits; n++)
            assert_int_equal(rig->rehits[n], RIG_COST);
        rig_end_clean(rig);
    }
}

RIG_TEST(the_end_of_a_run_finds_it_there)
{
    static const struct model_event script[] = {
        {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005, .pended = true},
        {.cycles = 1000, .pc = 0x1100, .sp = 0x20007F00},
    };
    struct rig *rig = m7(script, COUNT(script));
    assert_true(rig_arm(rig, &part));
    model_advance(&rig->model, 5000);
    assert_true(rig->model.halted && rig->model.in_handler);
    rig_end_clean(rig);
}

static const struct model_event in_handler[] = {
    {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = 1000, .pc = 0x1100, .sp = 0x20007F00, .pended = true},
};

static void check_foreign(struct rig *rig)
{
    assert_true(rig_arm(rig, &part));
    assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_FOREIGN_STOP, "");
    assert_int_equal(rig->engine->stopped_at, MODEL_HANDLER);
    assert_true(rig_end(rig));
    assert_true(rig->model.halted);
}

RIG_TEST(a_breakpoint_in_the_handler_is_foreign)
{
    struct rig *rig = rig_fresh(in_handler, COUNT(in_handler));
    model_be_m7(&rig->model);
    rig->model.comparators[0] = MODEL_HANDLER | 1;
    rig->model.fp_ctrl |= 1;
    rig_begin(rig);
    check_foreign(rig);
    rig = rig_fresh(in_handler, COUNT(in_handler));
    model_be_m7(&rig->model);
    model_poke(&rig->model, MODEL_HANDLER, 0xBF00BE00);
    rig_begin(rig);
    check_foreign(rig);
}

RIG_TEST(no_other_core_stops_so)
{
    struct rig *rig = rig_fresh(in_handler, COUNT(in_handler));
    rig->model.halts_in_handler = true;
    rig_begin(rig);
    check_foreign(rig);
}

/* r0p1, erratum 702596: a round is stepped past its start, and the step enters the handler instead. */
RIG_TEST(a_step_into_a_handler_taints_the_round)
{
    static const struct model_event loop[] = {
        {.cycles = 1000, .grow = 7, .pc = 0x1000, .sp = 0x20007F00},
    };
    unsigned tainted = 0, wrong = 0;
    for (long k = 6; k < 120; k++) { /* from the first stop on */
        struct rig *rig = rig_fresh(loop, COUNT(loop));
        model_be_m7(&rig->model);
        rig->model.cpuid = 0x410FC271;
        rig->model.steps_into_handlers = true;
        rig->model.pace = 200;
        rig_begin_armed(rig, &(struct region){.start = 0x1000, .end = 0x1000});
        rig->model.what = TROUBLE_PEND;
        rig->model.trouble_at = rig->model.accesses + k;
        rig->model.trouble_for = 1;
        assert_string_equal(rig_run(rig, 4, 0) ? "" : rig->error.text, "");
        for (size_t i = 0; i < rig->n_hits; i++) {
            tainted += rig->hits[i].tainted;
            wrong += !rig->hits[i].tainted && rig_work(&rig->hits[i]) < 1000;
        }
        rig->model.trouble_at = -1;
        rig_end_clean(rig);
    }
    assert_true(tainted > 10);
    assert_int_equal(wrong, 0);
}
