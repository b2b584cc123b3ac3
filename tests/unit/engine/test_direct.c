/*
 * The direct engine's decisions: what it makes of every kind of stop.
 */
#include "rig.h"

/* The engine's own naps; the model's time goes by with accesses. */
TEST_TIME(NULL, test_no_nap)

static const uint32_t START = 0x1000, END = 0x1100, BACK = 0x2004, RAM_CODE = 0x20000400;
static const uint32_t SP = 0x20007F00;

/* --- from start to end ---------------------------------------------------------------------------------- */

RIG_TEST(hits_are_exact_and_leave_no_trace)
{
    struct region region = {.start = START, .end = END};
    for (unsigned rehits = 0; rehits < 40; rehits += 13) {
        struct rig *rig = rig_fresh(to_end, COUNT(to_end));
        rig->model.comparators[5] = 0x50000ABC; /* off, but with a value */
        rig_begin_armed(rig, &region);
        assert_true(rig_run(rig, 1, rehits));
        size_t kept = rehits < 32 ? rehits : 32;
        assert_int_equal(rig->n_rehits, 2 * kept);
        for (size_t i = 0; i < rig->n_rehits; i++)
            assert_int_equal(rig->rehits[i], RIG_COST);
        assert_true(rig_run(rig, 30, 0));
        assert_int_equal(rig->n_rehits, 2 * kept);
        rig_check_hits(rig, 31, 1000, 7);
        for (size_t i = 0; i < 31; i++) {
            assert_int_equal(rig->hits[i].pairs, 1);
            assert_int_equal(rig->hits[i].end_address, END);
            assert_false(rig->hits[i].tainted);
        }
        rig_end_clean(rig);
    }
}

/* --- functions ------------------------------------------------------------------------------------------ */

static const struct model_event function[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00, .lr = 0x1031},
};
RIG_TEST(a_function_ends_where_it_returns_to)
{
    struct rig *rig = rig_armed(function, COUNT(function), &whole);
    long lists = rig->model.lists;
    assert_true(rig_run(rig, 60, 0));
    rig_check_hits(rig, 60, 1000, 7);
    assert_int_equal(rig->hits[0].end_address, BACK);
    assert_true(rig->model.lists - lists < 8); /* one that learns, then many hits to a list */
    rig_end_clean(rig);
}

RIG_TEST(it_may_return_to_the_instruction_behind_it)
{
    static const struct model_event script[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x1081},
        {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x1080, .sp = 0x20007F00},
    };
    struct rig *rig = rig_armed(script, COUNT(script), &whole);
    assert_string_equal(rig_run(rig, 5, 0) ? "" : rig->error.text, "");
    rig_end_with(rig, 5, 1000, 7);
}

RIG_TEST(callers_may_change_from_hit_to_hit)
{
    static const struct model_event callers[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 1000, .grow = 4000, .pc = 0x2004, .sp = 0x20007F00},
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 2000, .grow = 4000, .pc = 0x2004, .sp = 0x20007F00},
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x3003},
        {.kind = MODEL_AT, .cycles = 3000, .grow = 4000, .pc = 0x3002, .sp = 0x20007F00},
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007E80, .lr = 0x3003},
        {.kind = MODEL_AT, .cycles = 4000, .grow = 4000, .pc = 0x3002, .sp = 0x20007E80},
    };
    struct rig *rig = rig_armed(callers, COUNT(callers), &whole);
    assert_true(rig_run(rig, 40, 3));
    assert_int_equal(rig->n_rehits, 6); /* with the first hit only, however many lists it takes */
    rig_check_hits(rig, 40, 1000, 1000);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(rig->hits[i].end_address, i % 4 < 2 ? 0x2004 : 0x3002);
    rig_end_clean(rig);
}

RIG_TEST(returns_in_deeper_frames_are_stepped_past)
{
    static const struct model_event recursion[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 100, .pc = 0x1000, .sp = 0x20007E80, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 100, .pc = 0x1000, .sp = 0x20007E00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 100, .grow = 7, .pc = 0x2004, .sp = 0x20007E00},
        {.kind = MODEL_AT, .cycles = 100, .pc = 0x2004, .sp = 0x20007E80},
        {.kind = MODEL_AT, .cycles = 100, .pc = 0x2004, .sp = 0x20007F00},
    };
    for (unsigned rehits = 0; rehits < 8; rehits += 4) {
        struct rig *rig = rig_armed(recursion, COUNT(recursion), &whole);
        assert_true(rig_run(rig, 10, rehits));
        assert_int_equal(rig->n_hits, 10);
        for (size_t i = 0; i < 10; i++) {
            assert_int_equal(rig->hits[i].past, 2);
            assert_int_equal(rig->hits[i].pairs, 5); /* two for each stop stepped past */
            assert_int_equal(rig_work(&rig->hits[i]), 500 + 7 * i);
        }
        rig_end_clean(rig);
    }
}

RIG_TEST(recursion_found_in_the_middle_is_left_first)
{
    static const struct model_event inside[] = {
        {.kind = MODEL_AT, .cycles = 50, .pc = 0x1000, .sp = 0x20007E00, .lr = 0x1041},
        {.kind = MODEL_AT, .cycles = 50, .pc = 0x1000, .sp = 0x20007D00, .lr = 0x1041},
        {.kind = MODEL_AT, .cycles = 50, .pc = 0x1040, .sp = 0x20007D00},
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 50, .pc = 0x1000, .sp = 0x20007E00, .lr = 0x1041},
        {.kind = MODEL_AT, .cycles = 950, .grow = 7, .pc = 0x2004, .sp = 0x20007F00},
    };
    struct rig *rig = rig_armed(inside, COUNT(inside), &whole);
    assert_true(rig_run(rig, 12, 0));
    rig_end_with(rig, 12, 1000, 7);
}

/* --- code in RAM ---------------------------------------------------------------------------------------- */

static const struct model_event in_ram[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x20000400, .sp = 0x20007F00, .lr = 0x2005},
    {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x20000440, .sp = 0x20007F00},
};

RIG_TEST(from_ram_to_flash_and_back)
{
    static const struct model_event mixed[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x20000400, .sp = 0x20007F00, .lr = 0x2005},
        {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00},
    };
    static const struct model_event other_way[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x20000441},
        {.kind = MODEL_AT, .cycles = 1000, .grow = 7, .pc = 0x20000440, .sp = 0x20007F00},
    };
    struct region region = {.start = RAM_CODE, .to_return = true};
    struct rig *rig = rig_armed(mixed, COUNT(mixed), &region);
    assert_true(rig_run(rig, 10, 3));
    rig_end_with(rig, 10, 1000, 7);
    rig = rig_armed(other_way, COUNT(other_way), &whole);
    assert_true(rig_run(rig, 10, 3));
    rig_end_with(rig, 10, 1000, 7);
}

RIG_TEST(an_instruction_that_does_not_take_is_an_error)
{
    struct region region = {.start = RAM_CODE, .end = RAM_CODE + 0x40};
    struct rig *rig = rig_fresh(in_ram, COUNT(in_ram));
    rig->model.ram_is_rom = true;
    rig_begin(rig);
    assert_fails(rig_arm(rig, &region), &rig->error, ERROR_ADDRESS, "");
    rig_end_clean(rig);

    static const struct model_event to_rom[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x20000441},
        {.kind = MODEL_AT, .cycles = 1000, .pc = 0x20000440, .sp = 0x20007F00},
    };
    rig = rig_fresh(to_rom, COUNT(to_rom));
    rig->model.ram_is_rom = true;
    rig_begin_armed(rig, &whole);
    assert_fails(rig_run(rig, 3, 3), &rig->error, ERROR_ADDRESS, "");
    assert_int_equal(rig->n_hits, 0);
    rig_end_clean(rig);
}

/* A handler in RAM interrupts a program in RAM at one place after the other. */
RIG_TEST(the_start_stays_however_many_places_it_returns_to)
{
    enum { PLACES = 12, EVENTS = 2 * PLACES };
    struct model_event script[EVENTS];
    struct region region = {.start = RAM_CODE, .to_return = true};
    struct model_event *event = script;
    for (uint32_t i = 0; i < PLACES; i++) {
        uint32_t back = RAM_CODE + 0x100 + 0x10 * i;
        *event++ = (struct model_event){.cycles = 500, .pc = RAM_CODE, .sp = SP, .lr = back | 1};
        *event++ = (struct model_event){.cycles = 1000 + 7 * i, .grow = 84, .pc = back, .sp = SP};
    }
    struct rig *rig = rig_armed(script, COUNT(script), &region);
    (void)rig_run(rig, EVENTS, 0);
    rig_end_with(rig, EVENTS, 1000, 7);
}
