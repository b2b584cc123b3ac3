/*
 * The engine on a core of either architecture: hits of every kind of region, and stops that are not ours. For
 * test_armv7_runs.c and test_armv8_runs.c, each of which has further tests.
 */
#pragma once

#include "engine/direct.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

/* What the architectures do not share; of the ways 4 is locked, 8 another debugger, 16 the file's own. */
static void set_way(struct model *m, unsigned way);
static void lose_catch(struct model *m);
static void set_messages(struct model *m, unsigned way);

static void assert_nothing(const char *wrong, const char *name)
{
    if (wrong != NULL)
        fail_msg("%s: %s", name, wrong);
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
            (hit->after_us - hit->before_us) * MODEL_MHZ + (uint64_t)hit->pairs * MODEL_COST)
            fail_msg("%s: hit %zu took longer than it says", scene->name, i);
    }
    assert_nothing(rig_wrong(rig), scene->name);
}

static bool has_sole_breakpoint(const struct rig *rig)
{
    return ((const struct direct_engine *)rig->engine)->breakpoints.setup.sole;
}

RIG_TEST(every_kind_of_region_is_measured)
{
    for (unsigned way = 0; way < 32; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
            rig->model.slow_exit = way & 1 ? 5 : 0;
            rig->model.slow_itr = way & 2 ? 7 : 0;
            set_way(&rig->model, way);
            rig_begin(rig);
            if (!rig_go(rig, &scenes[i]))
                fail_msg("%s, way %u: %s", scenes[i].name, way, rig->error.text);
            assert_int_equal(has_sole_breakpoint(rig), !(way & 8));
            check_hits(rig, &scenes[i]);
            const char *left = rig_end(rig);
            if (left != NULL)
                fail_msg("%s, way %u: %s", scenes[i].name, way, left);
        }
}

RIG_TEST(what_somebody_takes_from_us_is_an_error)
{
    for (int comparators = 0; comparators < 2; comparators++) {
        struct rig *rig = rig_armed(plain, COUNT(plain), &scenes[0].region);
        assert_true(rig_run(rig, 1, 0));
        if (comparators)
            memset(rig->model.bcr, 0, sizeof rig->model.bcr);
        else
            rig->model.control &= ~0x4000U;
        assert_fails(rig_run(rig, 1, 0), &rig->error, ERROR_CLEARED, comparators ? "" : "halting debug");
        assert_null(rig_end(rig));
    }
}

RIG_TEST(a_plain_hit_costs_few_accesses)
{
    struct rig *rig = rig_armed(plain, COUNT(plain), &scenes[0].region);
    assert_true(rig_run(rig, 1, 0));
    long writes = rig->model.writes;
    assert_true(rig_run(rig, 40, 0));
    assert_int_equal(rig->model.writes - writes, WRITES_FOR_40);
    assert_null(rig_end(rig));
}

/* The second scene's. */
static void check_registers(uint64_t pc, uint64_t sp, uint64_t status, uint64_t (*r0)(size_t hit))
{
    static const struct at_end wanted = {.words = {{.is_register = true, .which = CORE_PC},
                                                   {.is_register = true, .which = CORE_R0},
                                                   {.is_register = true, .which = CORE_SP},
                                                   {.is_register = true, .which = CORE_STATUS}},
                                         .n = 4};
    struct rig *rig = rig_fresh(scenes[1].script, scenes[1].n);
    rig_begin(rig);
    rig->at_end = &wanted;
    assert_true(rig_go(rig, &scenes[1]));
    assert_int_equal(rig->n_hits, HITS);
    for (size_t i = 0; i < rig->n_hits; i++) {
        assert_true(rig->hits[i].words[0] == pc);
        assert_true(rig->hits[i].words[1] == r0(i));
        assert_true(rig->hits[i].words[2] == sp);
        assert_true(rig->hits[i].words[3] == status);
    }
    assert_null(rig_wrong(rig));
    assert_null(rig_end(rig));
}

/* Or another one's for the program, which it did not take. */
RIG_TEST(a_message_of_the_program_is_not_taken_for_a_register)
{
    for (unsigned way = 0; way < MESSAGES; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
            rig->model.dtr_tx = 0x8888;
            set_messages(&rig->model, way);
            rig_begin(rig);
            assert_true(rig_go(rig, &scenes[i]));
            check_hits(rig, &scenes[i]);
            assert_nothing(rig_end(rig), scenes[i].name);
        }
}

RIG_TEST(all_comparators_may_be_taken)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    model_add_theirs(&rig->model);
    for (uint64_t i = 1; i < MODEL_COMPARATORS; i++) {
        rig->model.bvr[i] = rig->model.bvr[0] + 4 * i;
        rig->model.bcr[i] = TAKEN;
    }
    rig_begin(rig);
    assert_fails(rig_arm(rig, &scenes[0].region), &rig->error, ERROR_NO_COMPARATOR, WORDS_OF_TAKEN);
    assert_null(rig_end(rig));
    rig = rig_fresh(plain, COUNT(plain));
    rig_begin(rig);
    rig->device.chosen->core.comparators = 0; /* it may not be halted */
    assert_fails(rig_arm(rig, &scenes[0].region), &rig->error, ERROR_NO_COMPARATOR, "");
    assert_null(rig_end(rig));
}

RIG_TEST(breakpoints_left_over_do_not_wake_up)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig->model.bvr[1] = START;
    rig->model.bcr[1] = MODEL_ON;
    rig->model.bvr[3] = END;
    rig->model.bcr[3] = MODEL_ON;
    rig_begin(rig);
    assert_true(rig_go(rig, &scenes[0]));
    assert_true(has_sole_breakpoint(rig));
    check_hits(rig, &scenes[0]);
    assert_null(rig_end(rig));
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

/* The core is halted at another debugger's stop after the first hit. */
static void stop_at(struct rig *rig, const struct region *region, uint64_t place, const char *words)
{
    rig_begin_armed(rig, region);
    assert_fails(rig_run(rig, 40, 1), &rig->error, ERROR_FOREIGN_STOP, words);
    assert_true(rig->engine->stopped_at == place);
    assert_int_equal(rig->n_hits, 1);
    assert_null(rig_wrong(rig));
}

/* Where the catch is lost with the reset, the core runs on, and may well reach the end. */
RIG_TEST(a_reset_that_stops_nothing_is_seen_as_well)
{
    static const struct model_event in_the_region[] = {
        {.cycles = 3000, .pc = END, .sp = 0x9F00},
        {.cycles = 150, .pc = START, .sp = 0x9F00},
        {.kind = MODEL_RESET, .cycles = 3000},
    };
    struct rig *rig = rig_armed(in_the_region, COUNT(in_the_region), &scenes[0].region);
    lose_catch(&rig->model);
    assert_fails(rig_run(rig, 40, 0), &rig->error, ERROR_RESET, "");
    assert_int_equal(rig->n_hits, 0);
    assert_null(rig_end(rig));
}
