/*
 * Armv7: programs in user mode, whose addresses mean nothing without the process: refused, or measured in one
 * context only.
 */
#include "rig_armv7.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* Two processes at the same addresses; the second one's hits take 1000 cycles more, and it calls from
 * elsewhere. */
static const struct v7_event processes[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = 7},
    {.cycles = BASE, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .user = 7},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .user = 0x1236},
    {.cycles = BASE + 1000, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .user = 0x1236},
};

static struct region of(bool to_return, int which, uint32_t id)
{
    return (struct region){
        .start = 0x8000, .end = 0x8804, .to_return = to_return, .process = {.which = which, .id = id}};
}

static uint32_t work_of(const struct raw_hit *hit)
{
    return (uint32_t)(hit->to[0] - hit->from[0]) - hit->pairs * V7_COST;
}

RIG_TEST(user_mode_is_refused)
{
    for (int to_return = 0; to_return < 2; to_return++) {
        struct rig *rig = rig_fresh(processes, COUNT(processes));
        const struct region region = of(to_return, PROCESS_NOT_SAID, 0);
        rig_begin(rig);
        assert_true(rig_arm(rig, &region));
        assert_false(rig_run(rig, 1, 0));
        assert_int_equal(rig->error.kind, ERROR_STATE);
        assert_non_null(strstr(rig->error.text, "0x00008000 is run in user mode"));
        assert_non_null(strstr(rig->error.text, "CONTEXTIDR, which tells them apart, was 0x7"));
        assert_non_null(strstr(rig->error.text, "--context"));
        assert_int_equal(rig->n_hits, 0);
        assert_null(rig_end(rig));
    }
}

RIG_TEST(one_context_is_measured_alone)
{
    static const uint32_t contexts[] = {7, 0x1236};
    for (unsigned way = 0; way < 4; way++) {
        uint32_t id = contexts[way & 1], least = BASE + 1000 * (way & 1);
        struct rig *rig = rig_fresh(processes, COUNT(processes));
        const struct region region = of(way & 2, PROCESS_ID, id);
        rig_begin(rig);
        assert_true(rig_arm(rig, &region));
        assert_int_equal(rig->model.bvr[V7_COMPARATORS - 1], id);
        assert_true(rig_run(rig, 1, 2));
        assert_true(rig_run(rig, 8, 0));
        assert_int_equal(rig->n_hits, 9);
        for (size_t i = 0; i < rig->n_hits; i++)
            if (work_of(&rig->hits[i]) < least || work_of(&rig->hits[i]) > least + 500)
                fail_msg("way %u: hit %zu took %u cycles", way, i, work_of(&rig->hits[i]));
        assert_null(rig_end(rig));
    }
}

RIG_TEST(any_context_is_measured_on_demand)
{
    struct rig *rig = rig_fresh(processes, COUNT(processes));
    const struct region region = of(true, PROCESS_ANY, 0);
    rig_begin(rig);
    assert_true(rig_arm(rig, &region));
    assert_true(rig_run(rig, 8, 0));
    size_t slow = 0;
    for (size_t i = 0; i < rig->n_hits; i++)
        slow += work_of(&rig->hits[i]) >= BASE + 1000;
    assert_int_equal(rig->n_hits, 8);
    assert_int_equal(slow, 4);
    assert_null(rig_end(rig));
}

static void occupy(struct v7_model *m, unsigned first, unsigned end)
{
    m->os_locked = false;
    m->control |= 0x4000;
    for (unsigned i = first; i < end; i++) {
        m->bvr[i] = 0xC000 + 4 * i;
        m->bcr[i] = 0x1E7;
    }
}

RIG_TEST(comparators_of_contexts_may_be_taken)
{
    const struct region region = of(true, PROCESS_ID, 7);
    enum { N = V7_COMPARATORS };
    struct rig *rig = rig_fresh(processes, COUNT(processes));
    occupy(&rig->model, N - 2, N);
    rig_begin(rig);
    assert_false(rig_arm(rig, &region));
    assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
    assert_non_null(strstr(rig->error.text, "all 2 breakpoint comparators that can compare contexts"));
    assert_null(rig_end(rig));

    rig = rig_fresh(processes, COUNT(processes));
    occupy(&rig->model, 0, N - 1);
    rig_begin(rig);
    assert_false(rig_arm(rig, &region));
    assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
    assert_non_null(strstr(rig->error.text, "takes two"));
    assert_null(rig_end(rig));

    rig = rig_fresh(processes, COUNT(processes));
    occupy(&rig->model, N - 1, N); /* the one before serves as well */
    rig_begin(rig);
    assert_true(rig_arm(rig, &region));
    assert_true(rig_run(rig, 3, 0));
    assert_int_equal(rig->model.bvr[N - 2], 7);
    assert_null(rig_end(rig));
}

/* What a system does for one process and for another, where the core itself reaches its debug registers. */
static const struct v7_event calls[] = {
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .context = 7},
    {.cycles = BASE, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .context = 7},
    {.cycles = 150, .pc = 0x8000, .sp = 0x9F00, .lr = 0x8804, .context = 0x1236},
    {.cycles = BASE + 1000, .grow = GROW, .pc = 0x8804, .sp = 0x9F00, .lr = 0x8804, .context = 0x1236},
};

/* Besides the one that it is linked to, two are left for registers, or not. */
RIG_TEST(comparators_of_registers_do_not_collide)
{
    enum { N = V7_COMPARATORS };
    static const struct {
        unsigned taken; /* so many of the first ones */
        bool last;      /* the last one as well */
        int spares;
        unsigned context;
    } cases[] = {{0, false, SPARES_WORK, N - 1},
                 {1, false, SPARES_NONE, N - 1},
                 {2, false, SPARES_NONE, N - 1},
                 {0, true, SPARES_NONE, N - 2},
                 {2, true, -1, N - 2}};
    const struct region region = of(true, PROCESS_ID, 0x1236);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rig *rig = rig_fresh(calls, COUNT(calls));
        rig->model.extended = true;
        occupy(&rig->model, 0, cases[i].taken);
        if (cases[i].last)
            occupy(&rig->model, N - 1, N);
        rig_begin(rig);
        bool armed = rig_arm(rig, &region);
        assert_int_equal(armed, cases[i].spares != -1);
        if (armed) {
            assert_true(rig_run(rig, 1, 2));
            unsigned messages = rig->model.taken;
            assert_true(rig_run(rig, 8, 0));
            const struct core *core = &rig->target.chosen->core;
            assert_int_equal(core->spares.state, cases[i].spares);
            assert_int_equal(rig->model.taken == messages, cases[i].spares == SPARES_WORK);
            assert_int_equal(core->linked_to, cases[i].context);
            assert_int_equal(rig->model.bvr[cases[i].context], 0x1236);
            assert_int_equal(rig->model.bcr[cases[i].context], 0x003001E7);
            for (size_t k = 0; k < rig->n_hits; k++)
                assert_in_range(work_of(&rig->hits[k]), BASE + 1000, BASE + 1500);
        } else {
            assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
        }
        assert_null(rig_end(rig));
    }
}

RIG_TEST(a_real_time_core_has_no_contexts)
{
    struct rig *rig = rig_fresh(processes, COUNT(processes));
    const struct region region = of(true, PROCESS_ID, 7);
    rig_begin(rig);
    rig->target.chosen->core.processes = false;
    assert_false(rig_arm(rig, &region));
    assert_int_equal(rig->error.kind, ERROR_USAGE);
    assert_null(rig_end(rig));
}

/* All comparators were left so by somebody; as a whole they are off. */
RIG_TEST(what_was_left_in_comparators_comes_back)
{
    static const struct {
        uint32_t value, control;
    } held[] = {{0x1237, 0x00200000}, {0x1237, 0x003001E7}, {0xC004, 0x1E7}};
    for (size_t i = 0; i < 2 * COUNT(held); i++) {
        struct rig *rig = rig_fresh(processes, COUNT(processes));
        const struct region region = of(true, i & 1 ? PROCESS_ID : PROCESS_ANY, 7);
        for (unsigned n = V7_COMPARATORS - 2; n < V7_COMPARATORS; n++) {
            rig->model.bvr[n] = held[i / 2].value;
            rig->model.bcr[n] = held[i / 2].control;
        }
        rig_begin(rig);
        assert_true(rig_arm(rig, &region));
        assert_true(rig_run(rig, 3, 1));
        const char *left = rig_end(rig);
        if (left != NULL)
            fail_msg("case %zu: %s", i, left);
    }
}

RIG_TEST(a_real_time_core_is_not_refused)
{
    struct rig *rig = rig_fresh(processes, COUNT(processes));
    const struct region region = of(true, PROCESS_NOT_SAID, 0);
    rig_begin(rig);
    rig->target.chosen->core.processes = false;
    assert_true(rig_arm(rig, &region));
    assert_true(rig_run(rig, 3, 0));
    assert_null(rig_end(rig));
}

/* A link lost at any access, which comes back: everything is put back. */
RIG_TEST(the_link_lost_anywhere)
{
    const struct {
        struct region region;
        const struct v7_event *script;
        bool extended; /* registers are left in comparators as well */
    } ways[] = {{of(true, PROCESS_NOT_SAID, 0), processes, false},
                {of(false, PROCESS_ID, 0x1236), processes, false},
                {of(true, PROCESS_ID, 0x1236), calls, true}};
    for (size_t which = 0; which < COUNT(ways); which++) {
        bool reached = true;
        for (long at = 0; reached; at++) {
            struct rig *rig = rig_fresh(ways[which].script, COUNT(processes));
            rig->model.extended = ways[which].extended;
            rig_begin(rig);
            long from = rig->model.accesses;
            rig->model.trouble_at = from + at;
            rig->model.what = V7_LOSE;
            (void)(rig_arm(rig, &ways[which].region) && rig_run(rig, 3, 1));
            reached = rig->model.accesses > from + at;
            rig->model.trouble_at = -1;
            const char *left = rig_end(rig);
            if (left != NULL)
                fail_msg("way %zu: lost at access %ld: %s", which, at, left);
        }
    }
}
