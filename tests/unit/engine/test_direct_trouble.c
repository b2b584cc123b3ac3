/*
 * The direct engine and trouble at any access whatever: for every kind of region and of trouble, at every k,
 * no hit with a wrong value, no hang, and in the end everything as it was found.
 */
#include "scenes.h"

#include "engine/direct.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* How often an interrupt that pended in Debug state ran first without a word. */
static unsigned unseen;

/* Runs every scene with the trouble at every access. */
static void everywhere(enum model_trouble what, long how_long, finish_with *finish)
{
    unsigned wrong = 0, told = 0;
    for (size_t i = 0; i < COUNT(scenes); i++) {
        long n = clean(&scenes[i]).accesses;
        const char *before = NULL;
        struct test_sweep sweep = test_sweep(1, 96, "%d, %s", (int)what, scenes[i].name);
        for (long k = 0; k < n; k++) {
            if (!test_takes(&sweep, k))
                continue;
            struct rig *rig = set_up(&scenes[i]);
            rig->model.what = what;
            rig->model.trouble_at = rig->model.accesses + k;
            rig->model.trouble_for = how_long;
            rig->timeout_ms = 5;
            struct end end = go(rig, &scenes[i]);
            const char *words = judge(rig, &end, finish, &unseen);
            if (words != NULL && words != before && told++ < WORDS)
                print_message("%s, from access %ld of %ld: %s\n", scenes[i].name, k, n, words);
            wrong += words != NULL;
            before = words;
        }
    }
    assert_int_equal(wrong, 0);
}

/* --- what passes by ------------------------------------------------------------------------------------- */

static unsigned gave_up;

static const char *may_give_up(struct rig *rig, const struct end *end)
{
    bool told = end->kind == ERROR_ASLEEP || end->kind == ERROR_FAULT;
    if (!end->armed || end->ran || !told)
        return end->armed ? must_succeed(rig, end) : end_clean(rig);
    gave_up++;
    return end_clean(rig);
}

RIG_TEST(a_slice_may_end_anywhere)
{
    everywhere(TROUBLE_SLICE, 1, must_succeed);
}

RIG_TEST(a_target_may_be_slow_to_answer_anywhere)
{
    gave_up = 0;
    everywhere(TROUBLE_WAIT, 2, may_give_up);
    assert_true(gave_up < 4); /* where a breakpoint instruction for a new return is prepared */
}

RIG_TEST(an_access_may_be_refused_anywhere)
{
    gave_up = 0;
    everywhere(TROUBLE_FAULT, 2, may_give_up);
    assert_true(gave_up < 4);
}

RIG_TEST(an_interrupt_may_come_up_anywhere)
{
    unseen = 0;
    everywhere(TROUBLE_PEND, 1, must_succeed);
    /* Between the read of ICSR and the write that resumes there is one access to each hit. */
    assert_true(unseen <= COUNT(scenes) * 2 * HITS);
}

RIG_TEST(an_interrupt_may_come_up_anywhere_on_an_m7)
{
    unseen = 0;
    scene_core = SCENE_M7;
    everywhere(TROUBLE_PEND, 1, must_succeed);
    scene_core = SCENE_M4;
    assert_true(unseen <= COUNT(scenes) * 2 * HITS);
}

/* --- what ends a run ------------------------------------------------------------------------------------ */

static const char *link_came_back(struct rig *rig, const struct end *end)
{
    const char *words = end->ran || end->kind != ERROR_LINK_LOST ? "the loss was not reported" : NULL;
    rig->model.lost = false;
    const char *ended = end_clean(rig);
    return words != NULL ? words : ended;
}

RIG_TEST(the_link_may_be_lost_before_any_access)
{
    everywhere(TROUBLE_LOST, 1, link_came_back);
}

RIG_TEST(the_link_may_be_lost_after_any_access)
{
    everywhere(TROUBLE_LOST_AFTER, 1, link_came_back);
}

RIG_TEST(the_answer_to_a_list_may_be_lost)
{
    for (long more = 1; more < 16; more += 3)
        everywhere(TROUBLE_UNHEARD, more, link_came_back);
}

static const char *cancelled(struct rig *rig, const struct end *end)
{
    const char *words =
        end->armed && !end->ran && end->kind != ERROR_CANCELLED ? "not reported as cancelled" : NULL;
    const char *ended = end_clean(rig);
    return words != NULL ? words : ended;
}

RIG_TEST(it_may_be_cancelled_anywhere)
{
    everywhere(TROUBLE_CANCEL, 1, cancelled);
}

static const char *reset_or_nothing(struct rig *rig, const struct end *end)
{
    const char *words =
        end->armed && !end->ran && end->kind != ERROR_RESET ? "not reported as a reset" : NULL;
    rig->model.careless = 0; /* the reset changed C_MASKINTS */
    const char *ended = end_clean(rig);
    return words != NULL ? words : ended;
}

RIG_TEST(a_reset_may_come_anywhere)
{
    everywhere(TROUBLE_RESET, 1, reset_or_nothing);
}

/* After the last hit, while the core is let go and everything put back. */
static void reset_at_the_end(const struct scene *scene)
{
    struct rig *rig = set_up(scene);
    assert_true(go(rig, scene).ran);
    long before = rig->model.accesses;
    assert_null(end_clean(rig));
    long n = rig->model.accesses - before;
    for (long k = 0; k < n; k++) {
        rig = set_up(scene);
        assert_true(go(rig, scene).ran);
        rig->model.what = TROUBLE_RESET;
        rig->model.trouble_at = rig->model.accesses + k;
        rig->model.trouble_for = 1;
        struct error told = {0}, again = {0};
        assert_true(rig_undo(rig, &told) || (told.kind == ERROR_RESET && rig_undo(rig, &again)));
        rig_free(rig);
        rig->model.careless = 0;
        /* The reset cleared CYCCNT and MON_EN; that it was caught may show */
        rig->model.cyccnt = rig->before.cyccnt;
        rig->model.demcr |= rig->before.demcr & 0x10000;
        rig->model.dfsr &= ~8U;
        const char *words = model_difference(&rig->model, &rig->before);
        if (words != NULL)
            fail_msg("%s, reset at access %ld of %ld of its end: %s", scene->name, k, n, words);
    }
}

RIG_TEST(a_reset_at_the_end_does_not_leave_the_core_halted)
{
    static const enum scene_core kinds[] = {SCENE_M4, SCENE_CATCHES};
    for (size_t kind = 0; kind < COUNT(kinds); kind++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            scene_core = kinds[kind];
            reset_at_the_end(&scenes[i]);
        }
    scene_core = SCENE_M4;
}

/* Fast hits wait until it is known whether there was a reset, from the second list of a long run
 * on; there the core stays at the last one's end until the third list lets it go, which checks no sooner than
 * the fourth. */
enum { LISTS = 3 * HIT_RESULTS_ROOM, FAST = LISTS + 6 };

static long last_round;
static size_t n_fast, most_held, wanted;
static bool wrong_fast;

static bool fast_hit(void *context, const struct raw_hit *hit)
{
    const struct direct_engine *engine = (struct direct_engine *)((struct rig *)context)->engine;
    most_held = engine->hits.n_held > most_held ? engine->hits.n_held : most_held;
    long round = rig_round(rig_work(hit), BASE, GROW);
    wrong_fast = wrong_fast || round <= last_round || round > 2 * (long)wanted;
    last_round = round;
    n_fast++;
    return true;
}

static bool run_fast(struct rig *rig, const struct scene *scene, size_t hits)
{
    const struct engine_sink sink = {.context = rig, .hit = fast_hit};
    const struct engine_request request = {.hits = hits, .timeout_ms = 5};
    wanted = hits;
    last_round = -1;
    rig->model.limit *= 10;
    n_fast = most_held = 0;
    wrong_fast = false;
    return rig_arm(rig, &scene->region) &&
           rig->engine->ops->run(rig->engine, &request, &sink, &rig->deadline, &rig->error);
}

RIG_TEST(trouble_may_come_while_hits_are_held)
{
    static const enum model_trouble kinds[] = {TROUBLE_RESET, TROUBLE_SLICE,  TROUBLE_FAULT,
                                               TROUBLE_LOST,  TROUBLE_CANCEL, TROUBLE_HALT};
    for (size_t i = 0; i < 2; i++) {
        struct rig *rig = set_up(&scenes[i]);
        long before = rig->model.accesses;
        if (!run_fast(rig, &scenes[i], FAST))
            fail_msg("%s: %s", scenes[i].name, rig->error.text);
        assert_int_equal(n_fast, FAST);
        assert_false(wrong_fast);
        long n = rig->model.accesses - before;
        assert_true(most_held > HIT_RESULTS_ROOM); /* more than one list's */
        assert_null(end_clean(rig));
        for (size_t k = 0; k < COUNT(kinds); k++) {
            struct test_sweep sweep = test_sweep(61, 3989, "held, %d, %s", (int)kinds[k], scenes[i].name);
            for (long at = n * (HIT_RESULTS_ROOM - 2) / FAST; at < n; at++) {
                if (!test_takes(&sweep, at))
                    continue;
                rig = set_up(&scenes[i]);
                rig->model.what = kinds[k];
                rig->model.trouble_at = rig->model.accesses + at;
                rig->model.trouble_for = 1;
                bool ran = run_fast(rig, &scenes[i], FAST);
                bool passes = kinds[k] == TROUBLE_SLICE || kinds[k] == TROUBLE_FAULT;
                if (wrong_fast || (passes && (!ran || n_fast != FAST)))
                    fail_msg("%s, trouble %d at access %ld of %ld: %zu hits, %s", scenes[i].name,
                             (int)kinds[k], at, n, n_fast, wrong_fast ? "one wrong" : rig->error.text);
                rig->model.lost = false;
                rig->model.careless = 0;
                if (kinds[k] == TROUBLE_HALT)
                    (void)rig_end(rig); /* left as it is, see above */
                else
                    assert_null(end_clean(rig));
                rig_tear_down();
            }
        }
    }
}

RIG_TEST(no_more_hits_are_held_than_there_is_room_for)
{
    enum { MANY = 12 * HIT_RESULTS_ROOM };
    for (size_t i = 0; i < 2; i++) {
        struct rig *rig = set_up(&scenes[i]);
        rig->model.limit *= 4;
        if (!run_fast(rig, &scenes[i], MANY))
            fail_msg("%s: %s", scenes[i].name, rig->error.text);
        assert_int_equal(n_fast, MANY);
        assert_int_equal(last_round, MANY - 1); /* each round is a hit */
        assert_in_range(most_held, HIT_RESULTS_ROOM + 1, HIT_RESULTS_HELD);
        assert_null(end_clean(rig));
        rig_tear_down();
    }
}

static const char *left_halted(struct rig *rig, const struct end *end)
{
    const char *words =
        end->armed && !end->ran && end->kind != ERROR_FOREIGN_STOP ? "not reported as foreign" : NULL;
    if (!rig->model.foreign) {
        const char *ended = end_clean(rig);
        return words != NULL ? words : ended;
    }
    (void)rig_end(rig);
    return !rig->model.halted || rig->model.pc != rig->model.foreign_pc ? "a foreign stop was left"
           : !rig->model.debug                                          ? "debug was switched off at it"
                                                                        : words;
}

RIG_TEST(another_debugger_may_halt_the_core_anywhere)
{
    everywhere(TROUBLE_HALT, 1, left_halted);
}

static unsigned taken_for_foreign;

static const char *looked_at(struct rig *rig, const struct end *end)
{
    if (end->kind != ERROR_FOREIGN_STOP)
        return must_succeed(rig, end);
    taken_for_foreign++;
    (void)rig_end(rig);
    return rig->model.halted ? NULL : "a foreign stop was left";
}

/* Its poll of a halted core clears DFSR, by which a stop at a breakpoint is awaited, and a step is proved. */
RIG_TEST(another_debugger_may_look_at_the_core_anywhere)
{
    taken_for_foreign = 0;
    everywhere(TROUBLE_LOOK, 1, looked_at);
    assert_true(taken_for_foreign <= 12); /* at single steps */
}

/* What no instruction ends waits for less long than a region does. */
RIG_TEST(a_halted_core_that_does_not_answer_ends_the_run_early)
{
    enum { REGION_MS = 60000, EARLY_US = 10000000 };
    const struct scene *scene = &scenes[0];
    long n = clean(scene).accesses;
    unsigned early = 0;
    struct test_sweep sweep = test_sweep(1, 5, "%s", scene->name);
    for (long k = 0; k < n; k++) {
        if (!test_takes(&sweep, k))
            continue;
        struct rig *rig = set_up(scene);
        rig->model.what = TROUBLE_SLICE;
        rig->model.trouble_at = rig->model.accesses + k;
        rig->model.trouble_for = 1L << 60;
        rig->model.pace = 4096;
        rig->timeout_ms = REGION_MS;
        int64_t from_us = deadline_now_us();
        struct end end = go(rig, scene);
        int64_t us = deadline_now_us() - from_us;
        bool stuck = end.armed && end.kind == ERROR_ASLEEP; /* a halt may be awaited for longer */
        early += stuck;
        assert_true(!stuck || us < EARLY_US);
        rig->model.trouble_for = 0;
        (void)end_clean(rig);
        rig_tear_down();
    }
    assert_true(early > 0);
}

/* --- trouble at the end --------------------------------------------------------------------------------- */

/* In a run, whatever way it ends, and at every access of the end: what failed is tried again. */
RIG_TEST(the_end_can_be_tried_again)
{
    static const enum model_trouble kinds[] = {TROUBLE_LOST, TROUBLE_LOST_AFTER, TROUBLE_UNHEARD,
                                               TROUBLE_SLICE};
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(scenes) * COUNT(kinds) * 3; i++) {
        const struct scene *scene = &scenes[i % COUNT(scenes)];
        size_t where = i / COUNT(scenes) / COUNT(kinds);
        for (long k = 0; k < 100; k++) {
            struct error error = {0};
            struct rig *rig = set_up(scene);
            rig->model.trouble_at = rig->model.accesses + 160 + (long)where * 7;
            rig->model.what = TROUBLE_LOST;
            rig->model.trouble_for = where < 2 ? 1 : 0; /* else the run succeeds */
            (void)go(rig, scene);
            rig->model.lost = false;
            rig->model.what = kinds[i / COUNT(scenes) % COUNT(kinds)];
            rig->model.trouble_at = rig->model.accesses + k;
            rig->model.trouble_for = 1;
            bool first = rig_undo(rig, &error);
            const char *told = first || error.kind != ERROR_NONE ? NULL : "a failure was not reported";
            bool over = rig->model.accesses <= rig->model.trouble_at;
            rig->model.lost = false;
            rig->model.careless = 0; /* other tests are for the run's ends */
            const char *ended = end_clean(rig);
            told = ended != NULL ? ended : told;
            if (told != NULL && wrong++ < WORDS)
                print_message("%s, trouble %d at access %ld of the end: %s\n", scene->name,
                              (int)rig->model.what, k, told);
            if (over)
                break;
        }
    }
    assert_int_equal(wrong, 0);
}

/* A core that answers late is waited for, as long as there is time. */
RIG_TEST(the_end_waits_for_a_slow_answer)
{
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(scenes); i++)
        for (long k = 0, over = 0; !over; k++) {
            struct error error = {0};
            struct rig *rig = set_up(&scenes[i]);
            assert_true(go(rig, &scenes[i]).ran);
            rig->model.what = TROUBLE_WAIT;
            rig->model.trouble_at = rig->model.accesses + k;
            rig->model.trouble_for = 1;
            if (!rig_undo(rig, &error) && wrong++ < WORDS)
                print_message("%s, at access %ld of the end: %s\n", scenes[i].name, k, error.text);
            over = rig->model.accesses <= rig->model.trouble_at;
            rig_free(rig);
        }
    assert_int_equal(wrong, 0);
}
