/*
 * Programs in user mode, whose addresses mean nothing without the process: refused, or measured in one
 * context only. For test_armv7_context.c and test_armv8_context.c.
 */
#pragma once

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* Two processes at the same addresses; the second one's hits take 1000 cycles more, and it calls from
 * elsewhere. */
static const struct model_event processes[] = {
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
    return (uint32_t)(hit->to[0] - hit->from[0]) - hit->pairs * MODEL_COST;
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
        assert_non_null(strstr(rig->error.text, WORDS_OF_CONTEXT));
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
        assert_int_equal(rig->model.bvr[MODEL_COMPARATORS - 1], id);
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

static void occupy(struct model *m, unsigned first, unsigned end)
{
    m->os_locked = false;
    m->control |= 0x4000;
    for (unsigned i = first; i < end; i++) {
        m->bvr[i] = 0xC000 + 4 * i;
        m->bcr[i] = MODEL_ON;
    }
}

RIG_TEST(comparators_of_contexts_may_be_taken)
{
    const struct region region = of(true, PROCESS_ID, 7);
    enum { N = MODEL_COMPARATORS };
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

RIG_TEST(a_real_time_core_has_no_contexts)
{
    struct rig *rig = rig_fresh(processes, COUNT(processes));
    const struct region region = of(true, PROCESS_ID, 7);
    rig_begin(rig);
    rig->device.chosen->core.processes = false;
    assert_false(rig_arm(rig, &region));
    assert_int_equal(rig->error.kind, ERROR_USAGE);
    assert_null(rig_end(rig));
}

/* All comparators were left so by another debugger; as a whole they are off. */
RIG_TEST(what_was_left_in_comparators_comes_back)
{
    static const struct {
        uint32_t value, control;
    } held[] = {{0x1237, 0x00200000}, {0x1237, 0x003001E7}, {0xC004, MODEL_ON}};
    for (size_t i = 0; i < 2 * COUNT(held); i++) {
        struct rig *rig = rig_fresh(processes, COUNT(processes));
        const struct region region = of(true, i & 1 ? PROCESS_ID : PROCESS_ANY, 7);
        for (unsigned n = MODEL_COMPARATORS - 2; n < MODEL_COMPARATORS; n++) {
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
    rig->device.chosen->core.processes = false;
    assert_true(rig_arm(rig, &region));
    assert_true(rig_run(rig, 3, 0));
    assert_null(rig_end(rig));
}

/* A link lost at any access, which works again: everything is put back. */
static void lose_anywhere(const struct model_event *script, const struct region *region)
{
    bool reached = true;
    for (long at = 0; reached; at++) {
        struct rig *rig = rig_fresh(script, COUNT(processes));
        rig_begin(rig);
        long from = rig->model.accesses;
        rig->model.trouble_at = from + at;
        rig->model.what = MODEL_LOSE;
        (void)(rig_arm(rig, region) && rig_run(rig, 3, 1));
        reached = rig->model.accesses > from + at;
        rig->model.trouble_at = -1;
        const char *left = rig_end(rig);
        if (left != NULL)
            fail_msg("process %d: lost at access %ld: %s", region->process.which, at, left);
    }
}

RIG_TEST(the_link_lost_anywhere)
{
    const struct region all = of(true, PROCESS_NOT_SAID, 0), one = of(false, PROCESS_ID, 0x1236);
    lose_anywhere(processes, &all);
    lose_anywhere(processes, &one);
}
