/*
 * The engine on an Armv8-A core: hits of every kind of region, and stops that are not ours. What goes wrong
 * at any access: test_armv8_trouble.c.
 */
#include "rig_armv8.h"

/* Time is the model's, and goes by with accesses only. */
TEST_TIME(rig_clock, test_no_nap)

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
        assert_false(hit->tainted);
        if ((hit->to[0] - hit->from[0]) >
            (hit->after_us - hit->before_us) * V8_MHZ + (uint64_t)hit->pairs * V8_COST)
            fail_msg("%s: hit %zu took longer than it says", scene->name, i);
    }
    assert_nothing(rig_wrong(rig), scene->name);
}

RIG_TEST(every_kind_of_region_is_measured)
{
    for (unsigned way = 0; way < 32; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
            struct v8_model *m = &rig->model;
            m->slow_exit = way & 1 ? 5 : 0;
            m->slow_itr = way & 2 ? 7 : 0;
            m->has_lock = m->locked = m->os_locked = way & 4;
            m->cti.locked = m->locked;
            if (way & 8)
                v8_add_theirs(m);
            if (way & 16)
                v8_serve(m);
            rig_begin(rig);
            if (!rig_go(rig, &scenes[i]))
                fail_msg("%s, way %u: %s", scenes[i].name, way, rig->error.text);
            assert_int_equal(rig->target.chosen->core.sole_breakpoint, !(way & 8));
            check_hits(rig, &scenes[i]);
            const char *left = rig_end(rig);
            if (left != NULL)
                fail_msg("%s, way %u: %s", scenes[i].name, way, left);
        }
}

RIG_TEST(a_plain_hit_costs_few_accesses)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    assert_true(rig_run(rig, 1, 0));
    long writes = rig->model.writes;
    assert_true(rig_run(rig, 40, 0));
    /* At each end: EDSCR.MA, where the breakpoint goes, and go. */
    assert_int_equal(rig->model.writes - writes, 40 * 2 * 3);
    assert_null(rig_end(rig));
}

RIG_TEST(registers_at_the_end_are_delivered)
{
    static const struct at_end wanted = {.words = {{.is_register = true, .which = CORE_PC},
                                                   {.is_register = true, .which = CORE_R0},
                                                   {.is_register = true, .which = CORE_SP},
                                                   {.is_register = true, .which = CORE_STATUS}},
                                         .n = 4};
    struct rig *rig = rig_fresh(far_apart, COUNT(far_apart));
    rig_begin(rig);
    rig->at_end = &wanted;
    assert_true(rig_go(rig, &scenes[1]));
    for (size_t i = 0; i < rig->n_hits; i++) {
        assert_true(rig->hits[i].words[0] == KERNEL + 0x80100);
        assert_true(rig->hits[i].words[1] == v8_x0_in((unsigned)i + 1));
        assert_true(rig->hits[i].words[2] == KERNEL + 0x9F00);
        assert_int_equal(rig->hits[i].words[3], V8_PSTATE);
    }
    assert_null(rig_wrong(rig));
    assert_null(rig_end(rig));
}

RIG_TEST(a_message_of_the_program_is_not_taken_for_a_register)
{
    for (unsigned way = 0; way < 8; way++)
        for (size_t i = 0; i < COUNT(scenes); i++) {
            struct rig *rig = rig_fresh(scenes[i].script, scenes[i].n);
            rig->model.dtr_tx = 0x8888;
            rig->model.tx_full = way & 1;
            rig->model.rx_full = way & 2; /* one for the program, which it did not take */
            rig->model.talks = way & 4;
            rig_begin(rig);
            assert_true(rig_go(rig, &scenes[i]));
            check_hits(rig, &scenes[i]);
            assert_nothing(rig_end(rig), scenes[i].name);
        }
}

RIG_TEST(messages_stay_where_no_register_is_read)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig->model.dtr_tx = 0x8888;
    rig->model.dtr_rx = 0x9999;
    rig->model.tx_full = rig->model.rx_full = true;
    rig_begin(rig);
    assert_true(rig_go(rig, &scenes[0]));
    check_hits(rig, &scenes[0]);
    assert_null(rig_end(rig));
    assert_true(rig->model.tx_full && rig->model.rx_full);
    assert_int_equal(rig->model.dtr_tx, 0x8888);
    assert_int_equal(rig->model.dtr_rx, 0x9999);
}

RIG_TEST(breakpoints_left_over_do_not_wake_up)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig->model.bvr[1] = 0x80000;
    rig->model.bcr[1] = 0x21E7;
    rig->model.bvr[3] = 0x80100;
    rig->model.bcr[3] = 0x21E7;
    rig_begin(rig);
    assert_true(rig_go(rig, &scenes[0]));
    assert_true(rig->target.chosen->core.sole_breakpoint);
    check_hits(rig, &scenes[0]);
    assert_null(rig_end(rig));
}

RIG_TEST(all_comparators_may_be_taken)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    v8_add_theirs(&rig->model);
    for (unsigned i = 1; i < V8_COMPARATORS; i++) {
        rig->model.bvr[i] = KERNEL + 0xC000 + UINT64_C(4) * i;
        rig->model.bcr[i] = 0x21E7;
    }
    rig_begin(rig);
    assert_false(rig_arm(rig, &scenes[0].region));
    assert_int_equal(rig->error.kind, ERROR_NO_COMPARATOR);
    assert_non_null(strstr(rig->error.text, "0xFFFF80000000C008"));
    assert_null(rig_end(rig));
}

/* Without two channels that are free it cannot be halted, and nothing is tried. */
RIG_TEST(all_channels_may_be_taken)
{
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    v8_serve(&rig->model);
    rig->model.cti.in_enable[3] = 0x8;
    rig_begin(rig);
    assert_non_null(rig->target.chosen->core.unstoppable);
    assert_false(rig_arm(rig, &scenes[0].region));
    assert_int_equal(rig->error.kind, ERROR_NO_CORE);
    assert_non_null(strstr(rig->error.text, "channels"));
    assert_null(rig_end(rig));
    assert_int_equal(rig->model.entries, 0);
}

/* --- stops that are not ours ---------------------------------------------------------------------------- */

static const struct region to_return = {.start = 0x80000, .to_return = true};

static void check_foreign(const struct v8_event *script, size_t n, uint64_t place, unsigned way,
                          const char *words)
{
    struct rig *rig = rig_fresh(script, n);
    const struct region *region = way & 4 ? &to_return : &scenes[0].region;
    if (way & 1)
        v8_add_theirs(&rig->model);
    else
        rig->model.os_locked = false;
    if (way & 2)
        v8_serve(&rig->model);
    rig_begin(rig);
    assert_true(rig_arm(rig, region));
    assert_false(rig_run(rig, 40, 1));
    assert_int_equal(rig->error.kind, ERROR_FOREIGN_STOP);
    assert_non_null(strstr(rig->error.text, words));
    assert_true(rig->engine->stopped_at == place);
    assert_int_equal(rig->n_hits, 1);
    assert_null(rig_wrong(rig));
    assert_string_equal(rig_end(rig), "EDSCR"); /* debug stays on, and the core where it was stopped */
    rig->model.control = rig->before.control;
    assert_string_equal(v8_difference(&rig->model, &rig->before), "halted");
    assert_true(rig->model.pc == place);
    rig->model.halted = rig->model.asked = false;
    assert_null(v8_difference(&rig->model, &rig->before));
}

RIG_TEST(foreign_stops_are_left_alone)
{
    const struct v8_event begin = {.cycles = 150, .pc = 0x80000, .sp = 0x9F00, .lr = 0x80100};
    const struct v8_event end = {.cycles = BASE, .pc = 0x80100, .sp = 0x9F00};
    struct v8_event hlt[] = {begin, end, begin, {.kind = V8_HLT, .cycles = 90, .pc = 0x80050}, end};
    struct v8_event request[] = {begin, end, {.kind = V8_HALT, .cycles = 90, .pc = KERNEL + 0x60}};
    struct v8_event breakpoint[] = {begin, end, begin, {.cycles = 90, .pc = V8_THEIRS}, end};
    struct v8_event caught[] = {begin, end, begin, {.kind = V8_CATCH, .cycles = 90, .pc = 0x400}, end};
    for (unsigned way = 0; way < 8; way++) {
        check_foreign(hlt, COUNT(hlt), 0x80050, way, "a breakpoint that is not ours");
        check_foreign(request, COUNT(request), KERNEL + 0x60, way, "a halt request");
        check_foreign(caught, COUNT(caught), 0x400, way, "an exception");
        if (way & 1)
            check_foreign(breakpoint, COUNT(breakpoint), V8_THEIRS, way, "at 0xFFFF80000000C000");
    }
}

/* Nothing can be read of it there, but where our only breakpoint is, it is let go again. */
RIG_TEST(a_stop_in_the_other_state_is_told)
{
    static const struct v8_event other[] = {{.kind = V8_AT32, .cycles = 150, .pc = 0x80000, .sp = 0x9F00}};
    struct rig *rig = rig_fresh(other, COUNT(other));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    assert_false(rig_run(rig, 2, 0));
    assert_int_equal(rig->error.kind, ERROR_STATE);
    assert_non_null(strstr(rig->error.text, "AArch32"));
    assert_null(rig_end(rig));
}

RIG_TEST(a_reset_is_an_error)
{
    static const struct v8_event in_the_region[] = {
        {.cycles = 150, .pc = 0x80000, .sp = 0x9F00},
        {.cycles = BASE, .pc = 0x80100, .sp = 0x9F00},
        {.cycles = 150, .pc = 0x80000, .sp = 0x9F00},
        {.kind = V8_RESET, .cycles = 100},
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
    static const struct v8_event in_the_region[] = {
        {.cycles = 3000, .pc = 0x80100, .sp = 0x9F00},
        {.cycles = 150, .pc = 0x80000, .sp = 0x9F00},
        {.kind = V8_RESET, .cycles = 3000},
    };
    struct rig *rig = rig_fresh(in_the_region, COUNT(in_the_region));
    rig_begin(rig);
    assert_true(rig_arm(rig, &scenes[0].region));
    rig->model.edecr = 0;
    assert_false(rig_run(rig, 40, 0));
    assert_int_equal(rig->error.kind, ERROR_RESET);
    assert_int_equal(rig->n_hits, 0);
    assert_null(rig_end(rig));
}

RIG_TEST(what_is_not_reached_is_said)
{
    struct region never = {.start = 0xE0000, .end = 0x80100}, no_end = {.start = 0x80000, .end = 0xE0000};
    struct rig *rig = rig_fresh(plain, COUNT(plain));
    rig_begin(rig);
    assert_true(rig_arm(rig, &never));
    assert_false(rig_run(rig, 1, 0));
    assert_int_equal(rig->error.kind, ERROR_START);
    assert_null(rig_end(rig));
    rig = rig_fresh(plain, COUNT(plain));
    rig_begin(rig);
    assert_true(rig_arm(rig, &no_end));
    assert_false(rig_run(rig, 1, 0));
    assert_int_equal(rig->error.kind, ERROR_END);
    assert_null(rig_end(rig));
}
