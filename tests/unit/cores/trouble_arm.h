/*
 * The engine on a core of either architecture when the same thing goes wrong at any access: whatever it is,
 * the numbers are right, and the core is left as it was. For test_armv7_trouble.c and
 * test_armv8_trouble.c.
 */
#pragma once

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* Of these the file has the `ways`: what the core is like, bits that set_way knows. `make soak` takes every
 * soak-th access, `make check` one of each `check` in a row. */
static void set_way(struct model *m, unsigned way);

static void set_up(struct rig *rig, unsigned way)
{
    set_way(&rig->model, way);
    rig_begin(rig);
}

static void count_accesses(const struct scene *scene, unsigned way, long *begun, long *accesses)
{
    struct rig *rig = rig_fresh(scene->script, scene->n);
    set_up(rig, way);
    *begun = rig->model.accesses;
    assert_true(rig_go(rig, scene));
    *accesses = rig->model.accesses;
    rig_free(rig);
}

typedef const char *judge_run(struct rig *rig, bool ran);

static void in_scene(const struct scene *scene, const struct way *way, enum model_trouble what,
                     judge_run *judge)
{
    long begun, accesses;
    count_accesses(scene, way->what, &begun, &accesses);
    struct test_sweep sweep =
        test_sweep(way->soak, way->check, "%d, way %u, %s", (int)what, way->what, scene->name);
    for (long at = begun; at < accesses; at++) {
        if (!test_takes(&sweep, at - begun))
            continue;
        struct rig *rig = rig_fresh(scene->script, scene->n);
        set_up(rig, way->what);
        rig->model.what = what;
        rig->model.trouble_at = at;
        bool ran = rig_go(rig, scene);
        rig->n_rehits = ran ? rig->n_rehits : 0; /* a failed run prints none */
        const char *wrong = rig_wrong(rig);
        const char *judged = judge(rig, ran);
        rig_free(rig);
        if (wrong != NULL || judged != NULL)
            fail_msg("%s, way %u, at access %ld of %ld: %s (%s)", scene->name, way->what, at, accesses,
                     wrong != NULL ? wrong : judged, rig->error.text);
    }
}

static void at_every_access(enum model_trouble what, judge_run *judge)
{
    for (const struct way *way = ways; way < ways + COUNT(ways); way++)
        for (size_t i = 0; i < COUNT(scenes); i++)
            in_scene(&scenes[i], way, what, judge);
}

/* While it is opened, too, and what was set before that is set again. */
static void in_front_of_a_lock_that_lies(enum model_trouble what)
{
    bool struck = true;
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    (void)rig_identify(&rig->model);
    for (long at = rig->model.accesses; struck; at++) {
        rig = rig_fresh(plain, COUNT(plain));
        set_way(&rig->model, 4);
        rig->model.lies = true;
        rig->model.what = what;
        rig->model.trouble_at = at;
        bool ran = rig_try_begin(rig) && rig_arm(rig, &scenes[0].region);
        struck = rig->model.accesses > at;
        const char *left = rig_end(rig);
        if (left != NULL || (!ran && rig->error.kind == ERROR_NONE))
            fail_msg("%d at access %ld: %s (%s)", (int)what, at, left, rig->error.text);
    }
}

RIG_TEST(whatever_befalls_a_lock_that_lies_it_is_closed_again)
{
    in_front_of_a_lock_that_lies(MODEL_WAIT);
    in_front_of_a_lock_that_lies(MODEL_TWICE);
    in_front_of_a_lock_that_lies(MODEL_CANCEL);
    in_front_of_a_lock_that_lies(MODEL_LOSE);
    in_front_of_a_lock_that_lies(MODEL_LOSE_AFTER);
}

static const char *nothing_left(struct rig *rig, bool ran)
{
    (void)ran;
    return rig_end(rig);
}

static const char *all_and_nothing_left(struct rig *rig, bool ran)
{
    const char *ended = rig_end(rig);
    return !ran ? "the run failed" : rig->n_hits != HITS ? "hits are missing" : ended;
}

/* After a reset nobody's R0 is there any more, and instructions may meet a core that runs. */
static const char *reset_told(struct rig *rig, bool ran)
{
    bool told = rig->error.kind == ERROR_RESET;
    const char *ended = rig_end(rig);
    rig->model.corrupted = rig->model.careless = 0;
    model_forget_r0(&rig->model);
    if (ended != NULL && strcmp(ended, "the end failed") != 0 && strcmp(ended, "it hangs") != 0)
        ended = model_difference(&rig->model, &rig->before);
    return ended != NULL ? ended : ran || told || rig->n_hits == 0 ? NULL : "the reset is not reported";
}

static const char *foreign_told(struct rig *rig, bool ran);

RIG_TEST(cancelled_anywhere)
{
    at_every_access(MODEL_CANCEL, nothing_left);
}

RIG_TEST(the_link_lost_anywhere)
{
    at_every_access(MODEL_LOSE, nothing_left);
    at_every_access(MODEL_LOSE_AFTER, nothing_left);
}

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(MODEL_DO_PEND, all_and_nothing_left);
}

RIG_TEST(reset_anywhere)
{
    at_every_access(MODEL_DO_RESET, reset_told);
}

RIG_TEST(halted_by_others_anywhere)
{
    at_every_access(MODEL_DO_HALT, foreign_told);
}
