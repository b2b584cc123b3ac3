/*
 * The engine on an Armv7 core: hits of every kind of region, and whatever can go wrong at any access.
 */
#include "rig_armv7.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

static void assert_nothing(const char *wrong, const char *name)
{
    if (wrong != NULL)
        fail_msg("%s: %s", name, wrong);
}

/* Somebody else's breakpoint, at a place that is never reached: then ours is not the only one. */
static void add_theirs(struct v7_model *m)
{
    m->os_locked = false; /* or it could not be theirs */
    m->control |= 0x4000;
    m->bvr[0] = 0xC000;
    m->bcr[0] = 0x1E7;
}

/* --- as it should go ------------------------------------------------------------------------------------ */

static void check_hits(struct rig *rig, const struct scene *scene)
{
    assert_string_equal(rig->error.text, "");
    assert_int_equal(rig->n_hits, HITS);
    assert_int_equal(rig->n_rehits, 8);
    for (size_t i = 0; i < HITS; i++) {
        const struct raw_hit *hit = &rig->hits[i];
        assert_int_equal(hit->end_address & 1, 0);
        assert_false(hit->tainted);
        if ((hit->to[0] - hit->from[0]) >
            (hit->after_us - hit->before_us) * V7_MHZ + (uint64_t)hit->pairs * V7_COST)
            fail_msg("%s: hit %zu took longer than it says", scene->name, i);
    }
    assert_nothing(rig_wrong(rig), scene->name);
}

RIG_TEST(every_kind_of_region_is_measured)
{
    for (unsigned way = 0; way < 32; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
            rig->model.slow_exit = way & 1 ? 5 : 0;
            rig->model.slow_itr = way & 2 ? 7 : 0;
            rig->model.has_lock = rig->model.locked = rig->model.os_locked = way & 4;
            rig->model.extended = way & 16;
            if (way & 8)
                add_theirs(&rig->model);
            rig_begin(rig);
            bool ran = rig_go(rig, &scenes[i]);
            if (!ran)
                fail_msg("%s: %s", scenes[i].name, rig->error.text);
            assert_int_equal(rig->target.chosen->core.sole_breakpoint, !(way & 8));
            check_hits(rig, &scenes[i]);
            const char *left = rig_end(rig);
            if (left != NULL)
                fail_msg("%s, way %u: %s", scenes[i].name, way, left);
        }
}

RIG_TEST(a_plain_hit_costs_few_accesses)
{
    struct rig *rig = rig_fresh(plain_arm, COUNT(plain_arm));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    assert_true(rig_run(rig, 1, 0));
    long writes = rig->model.writes;
    assert_true(rig_run(rig, 40, 0));
    /* At each end: where the breakpoint goes, and go; DBGDSCR once a list. */
    assert_int_equal(rig->model.writes - writes, 40 * 4 + 1);
    assert_null(rig_end(rig));
}

RIG_TEST(registers_at_the_end_are_delivered)
{
    static const struct at_end wanted = {.words = {{.is_register = true, .which = CORE_PC},
                                                   {.is_register = true, .which = CORE_R0},
                                                   {.is_register = true, .which = CORE_SP},
                                                   {.is_register = true, .which = CORE_STATUS}},
                                         .n = 4};
    struct rig *rig = rig_fresh(plain_thumb, COUNT(plain_thumb));
    rig_begin(rig);
    rig->at_end = &wanted;
    assert_true(rig_go(rig, &scenes[1]));
    for (size_t i = 0; i < rig->n_hits; i++) {
        assert_int_equal(rig->hits[i].words[0], 0x8101);
        assert_int_equal(rig->hits[i].words[1], 0x11111111 * (i + 2));
        assert_int_equal(rig->hits[i].words[2], 0x9F00);
        assert_int_equal(rig->hits[i].words[3], 0x3F);
    }
    assert_null(rig_wrong(rig));
    assert_null(rig_end(rig));
}

RIG_TEST(a_message_of_the_program_is_not_taken_for_a_register)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
        rig->model.tx_full = true;
        rig->model.dtr_tx = 0x8888;
        rig_begin(rig);
        assert_true(rig_go(rig, &scenes[i]));
        check_hits(rig, &scenes[i]);
        assert_nothing(rig_end(rig), scenes[i].name);
    }
}

RIG_TEST(breakpoints_left_over_do_not_wake_up)
{
    struct rig *rig = rig_fresh(plain_arm, COUNT(plain_arm));
    rig->model.bvr[1] = 0x8000;
    rig->model.bcr[1] = 0x1E7;
    rig->model.bvr[3] = 0x8100;
    rig->model.bcr[3] = 0x1E7;
    rig_begin(rig);
    assert_true(rig_go(rig, &scenes[0]));
    assert_true(rig->target.chosen->core.sole_breakpoint);
    check_hits(rig, &scenes[0]);
    assert_null(rig_end(rig));
}

RIG_TEST(all_comparators_may_be_taken)
{
    struct rig *rig = rig_fresh(plain_arm, COUNT(plain_arm));
    add_theirs(&rig->model);
    for (unsigned i = 1; i < V7_COMPARATORS; i++) {
        rig->model.bvr[i] = 0xC000 + 4 * i;
        rig->model.bcr[i] = 0x187;
    }
    rig_begin(rig);
    assert_false(rig_arm(rig, &scenes[0].region));
    assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
    assert_non_null(strstr(rig->error.text, "0x0000C000"));
    assert_non_null(strstr(rig->error.text, "0x0000C006"));
    assert_null(rig_end(rig));

    rig = rig_fresh(plain_arm, COUNT(plain_arm));
    rig_begin(rig);
    rig->target.chosen->core.comparators = 0; /* it may not be halted */
    assert_false(rig_arm(rig, &scenes[0].region));
    assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
    assert_null(rig_end(rig));
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

static void check_foreign(const struct v7_event *script, size_t n, uint64_t place, bool theirs,
                          const char *words)
{
    struct rig *rig = rig_fresh(script, n);
    if (theirs)
        add_theirs(&rig->model);
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    assert_false(rig_run(rig, 40, 1));
    assert_int_equal(rig->error.kind, ERROR_FOREIGN_STOP);
    assert_non_null(strstr(rig->error.text, words));
    assert_int_equal(rig->engine->stopped_at, place);
    assert_int_equal(rig->n_hits, 1);
    assert_null(rig_wrong(rig));
    assert_string_equal(rig_end(rig), "DBGDSCR"); /* debug stays on, and the core where it was stopped */
    assert_true(rig->model.halted);
    assert_int_equal(rig->model.pc, place);
    assert_int_equal(rig->model.r[0], rig->model.program_r0);
    assert_int_equal(rig->model.corrupted + rig->model.careless, 0);
    assert_memory_equal(rig->model.bcr, rig->before.bcr, sizeof rig->before.bcr);
}

RIG_TEST(foreign_stops_are_left_alone)
{
    const struct v7_event begin = {.cycles = 150, .pc = 0x8000, .sp = 0x9F00};
    const struct v7_event end = {.cycles = BASE, .pc = 0x8100, .sp = 0x9F00};
    struct v7_event bkpt[] = {begin, end, begin, {.kind = V7_BKPT, .cycles = 90, .pc = 0x8051}, end};
    struct v7_event request[] = {begin, end, {.kind = V7_HALT, .cycles = 90, .pc = 0x8060}};
    struct v7_event breakpoint[] = {begin, end, begin, {.cycles = 90, .pc = 0xC000}, end};
    check_foreign(bkpt, COUNT(bkpt), 0x8050, false, "a breakpoint that is not ours");
    check_foreign(bkpt, COUNT(bkpt), 0x8050, true, "a breakpoint that is not ours");
    check_foreign(request, COUNT(request), 0x8060, false, "a halt request");
    check_foreign(request, COUNT(request), 0x8060, true, "a halt request");
    check_foreign(breakpoint, COUNT(breakpoint), 0xC000, true, "at 0x0000C000");
}

RIG_TEST(a_reset_is_an_error)
{
    static const struct v7_event in_the_region[] = {
        {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
        {.cycles = BASE, .pc = 0x8100, .sp = 0x9F00},
        {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
        {.kind = V7_RESET, .cycles = 100},
    };
    struct rig *rig = rig_fresh(in_the_region, COUNT(in_the_region));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    assert_false(rig_run(rig, 40, 1));
    assert_int_equal(rig->error.kind, ERROR_RESET);
    assert_int_equal(rig->n_hits, 1);
    assert_true(rig->model.halted && rig->model.pc == 0); /* there and then, not when the end came by again */
    assert_null(rig_end(rig));
}

/* Where the catch is lost with the reset, the core runs on, and may well reach the end. */
RIG_TEST(a_reset_that_stops_nothing_is_seen_as_well)
{
    static const struct v7_event in_the_region[] = {
        {.cycles = 3000, .pc = 0x8100, .sp = 0x9F00},
        {.cycles = 150, .pc = 0x8000, .sp = 0x9F00},
        {.kind = V7_RESET, .cycles = 3000},
    };
    struct rig *rig = rig_fresh(in_the_region, COUNT(in_the_region));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    rig->model.vcr = 0;
    assert_false(rig_run(rig, 40, 0));
    assert_int_equal(rig->error.kind, ERROR_RESET);
    assert_int_equal(rig->n_hits, 0);
    assert_null(rig_end(rig));
}

RIG_TEST(what_is_not_reached_is_said)
{
    struct region never = {.start = 0xE000, .end = 0x8100}, no_end = {.start = 0x8000, .end = 0xE000};
    struct rig *rig = rig_fresh(plain_arm, COUNT(plain_arm));
    rig_begin(rig);
    assert_true(rig_arm(rig, &never));
    assert_false(rig_run(rig, 1, 0));
    assert_int_equal(rig->error.kind, ERROR_START);
    assert_null(rig_end(rig));
    rig = rig_fresh(plain_arm, COUNT(plain_arm));
    rig_begin(rig);
    assert_true(rig_arm(rig, &no_end));
    assert_false(rig_run(rig, 1, 0));
    assert_int_equal(rig->error.kind, ERROR_END);
    assert_null(rig_end(rig));
}

/* --- the same thing wrong at every access --------------------------------------------------------------- */

static void set_up(struct rig *rig, bool theirs, bool extended, unsigned slow)
{
    rig->model.extended = extended;
    rig->model.slow_itr = slow;
    rig->model.slow_exit = slow;
    if (theirs)
        add_theirs(&rig->model);
    rig_begin(rig);
}

static long count_accesses(const struct scene *scene, bool theirs, bool extended, unsigned slow)
{
    struct rig *rig = rig_fresh(scene->script, scene->n);
    set_up(rig, theirs, extended, slow);
    assert_true(rig_go(rig, scene));
    rig_free(rig);
    return rig->model.accesses;
}

typedef const char *judge_run(struct rig *rig, bool ran);

static void at_every_access(enum v7_trouble what, judge_run *judge)
{
    for (unsigned way = 0; way < 8; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            bool theirs = way & 1, extended = way & 4;
            unsigned slow = way & 2 ? 3 : 0;
            long accesses = count_accesses(&scenes[i], theirs, extended, slow);
            struct test_sweep sweep = test_sweep(slow > 0 ? 3 : 1, slow > 0 ? 30 : 20, "%d, way %u, %s",
                                                 (int)what, way, scenes[i].name);
            for (long at = 8; at < accesses; at++) {
                if (!test_takes(&sweep, at - 8))
                    continue;
                struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
                set_up(rig, theirs, extended, slow);
                rig->model.what = what;
                rig->model.trouble_at = at;
                bool ran = rig_go(rig, &scenes[i]);
                rig->n_rehits = ran ? rig->n_rehits : 0; /* a failed run prints none */
                const char *wrong = rig_wrong(rig);
                const char *judged = judge(rig, ran);
                rig_free(rig);
                if (wrong != NULL || judged != NULL)
                    fail_msg("%s, way %u, at access %ld of %ld: %s (%s)", scenes[i].name, way, at, accesses,
                             wrong != NULL ? wrong : judged, rig->error.text);
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

/* After a reset nobody's R0 is there any more, and instructions may meet a core that runs. */
static const char *reset_told(struct rig *rig, bool ran)
{
    bool told = rig->error.kind == ERROR_RESET;
    const char *ended = rig_end(rig);
    rig->model.corrupted = rig->model.careless = 0;
    rig->model.r[0] = rig->model.program_r0;
    if (ended != NULL && strcmp(ended, "the end failed") != 0 && strcmp(ended, "it hangs") != 0)
        ended = v7_difference(&rig->model, &rig->before);
    return ended != NULL ? ended : ran || told || rig->n_hits == 0 ? NULL : "the reset is not told";
}

static const char *foreign_told(struct rig *rig, bool ran)
{
    bool told = ran || rig->error.kind == ERROR_FOREIGN_STOP;
    (void)rig_end(rig); /* it may be left halted */
    return rig->model.hung        ? "it hangs"
           : rig->model.corrupted ? "R0 was changed under the program"
           : rig->model.careless  ? "something unpredictable was done"
                                  : (told ? NULL : "the foreign stop is not told");
}

RIG_TEST(cancelled_anywhere)
{
    at_every_access(V7_CANCEL, nothing_left);
}

RIG_TEST(the_link_lost_anywhere)
{
    at_every_access(V7_LOSE, nothing_left);
    at_every_access(V7_LOSE_AFTER, nothing_left);
}

RIG_TEST(an_interrupt_anywhere)
{
    at_every_access(V7_DO_PEND, all_and_nothing_left);
}

RIG_TEST(reset_anywhere)
{
    at_every_access(V7_DO_RESET, reset_told);
}

RIG_TEST(halted_by_others_anywhere)
{
    at_every_access(V7_DO_HALT, foreign_told);
}
