/*
 * The engine on an Armv8-A core when the same thing goes wrong at any access: whatever it is, the numbers
 * that come are right, and the core is left as it was.
 */
#include "rig_armv8.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* What the core is like: another debugger's breakpoint, everything slow, a server on the triggers, a program
 * that sends messages. */
enum { THEIRS = 1, SLOW = 2, SERVED = 4, TALKS = 8 };

/* In `make soak` at every so many-th access. */
static const struct way {
    unsigned what;
    long stride;
} ways[] = {{0, 1}, {THEIRS, 2}, {SLOW, 3}, {SERVED | TALKS, 3}, {THEIRS | SLOW | SERVED, 7}};

static void set_up(struct rig *rig, unsigned way)
{
    rig->model.slow_itr = way & SLOW ? 3 : 0;
    rig->model.slow_exit = way & SLOW ? 3 : 0;
    rig->model.talks = way & TALKS;
    if (way & THEIRS)
        v8_add_theirs(&rig->model);
    if (way & SERVED)
        v8_serve(&rig->model);
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

static void at_every_access(enum v8_trouble what, judge_run *judge)
{
    for (const struct way *way = ways; way < ways + COUNT(ways); way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            long begun, accesses;
            count_accesses(&scenes[i], way->what, &begun, &accesses);
            struct test_sweep sweep = test_sweep(way->stride, 12 * way->stride, "%d, way %u, %s", (int)what,
                                                 way->what, scenes[i].name);
            for (long at = begun; at < accesses; at++) {
                if (!test_takes(&sweep, at - begun))
                    continue;
                struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
                set_up(rig, way->what);
                rig->model.what = what;
                rig->model.trouble_at = at;
                bool ran = rig_go(rig, &scenes[i]);
                rig->n_rehits = ran ? rig->n_rehits : 0; /* a failed run prints none */
                const char *wrong = rig_wrong(rig);
                const char *judged = judge(rig, ran);
                rig_free(rig);
                if (wrong != NULL || judged != NULL)
                    fail_msg("%s, way %u, at access %ld of %ld: %s (%s)", scenes[i].name, way->what, at,
                             accesses, wrong != NULL ? wrong : judged, rig->error.text);
            }
        }
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

/* After a reset nobody's X0 is there any more, and instructions may meet a core that runs. */
static const char *reset_told(struct rig *rig, bool ran)
{
    bool told = rig->error.kind == ERROR_RESET;
    const char *ended = rig_end(rig);
    rig->model.corrupted = rig->model.careless = 0;
    rig->model.x[0] = rig->model.program_x0;
    if (ended != NULL && strcmp(ended, "the end failed") != 0 && strcmp(ended, "it hangs") != 0)
        ended = v8_difference(&rig->model, &rig->before);
    return ended != NULL ? ended : ran || told || rig->n_hits == 0 ? NULL : "the reset is not told";
}

/* It may be left halted, and then with debug on. */
static const char *foreign_told(struct rig *rig, bool ran)
{
    bool told = ran || rig->error.kind == ERROR_FOREIGN_STOP;
    const char *ended = rig_end(rig);
    if (ended != NULL && rig->model.halted) {
        rig->model.control = rig->before.control;
        rig->model.asked = rig->model.halted = false;
        ended = rig->model.hung ? "it hangs" : v8_difference(&rig->model, &rig->before);
    }
    return ended != NULL ? ended : told ? NULL : "the foreign stop is not told";
}

RIG_TEST(cancelled_anywhere)
{
    at_every_access(V8_CANCEL, nothing_left);
}

RIG_TEST(asked_to_wait_anywhere)
{
    at_every_access(V8_WAIT, all_and_nothing_left);
}

RIG_TEST(a_read_made_again_anywhere)
{
    at_every_access(V8_TWICE, all_and_nothing_left);
}

RIG_TEST(the_link_lost_anywhere)
{
    at_every_access(V8_LOSE, nothing_left);
    at_every_access(V8_LOSE_AFTER, nothing_left);
}

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(V8_DO_PEND, all_and_nothing_left);
}

RIG_TEST(reset_anywhere)
{
    at_every_access(V8_DO_RESET, reset_told);
}

RIG_TEST(halted_by_others_anywhere)
{
    at_every_access(V8_DO_HALT, foreign_told);
}
