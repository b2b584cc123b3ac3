/*
 * The direct engine and calls that do not return: they are seen where a second comparator is free, no hit
 * spans two of them, and no run waits for ever. Handlers, which end at their own return. Frames of START and
 * END.
 */
#include "rig.h"

/* Time is the model's, also while the engine naps. */
TEST_TIME(rig_clock, rig_nap)

enum {
    START = 0x1000,
    CALL = 0x2000,
    BACK = 0x2004,
    SP = 0x20007F00,
    DEEPER = 0x20007E80,
    ABOVE = 0x20007F80
};
enum { BL = 0xFFFEF7FF };

static const struct region watched = {
    .start = START, .to_return = true, .low = 0x1000, .high = 0x1080, .may_be_left = true};

static struct rig *begin(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_fresh(script, n);
    model_poke(&rig->model, CALL, BL);
    rig_begin(rig);
    return rig;
}

/* Left the first time, returned from the second. */
static const struct model_event left[] = {
    {.cycles = 50, .pc = CALL, .sp = SP},
    {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
    {.cycles = 300, .pc = CALL, .sp = SP},
    {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
    {.cycles = 1000, .grow = 7, .pc = BACK, .sp = SP},
};

static void another_call_at(uint32_t other)
{
    const struct model_event script[] = {
        {.cycles = 50, .pc = CALL, .sp = SP},     {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 300, .pc = CALL, .sp = other}, {.cycles = 5, .pc = START, .sp = other, .lr = BACK | 1},
        {.cycles = 300, .pc = BACK, .sp = other}, {.cycles = 395, .grow = 7, .pc = BACK, .sp = SP},
    };
    struct rig *rig = begin(script, COUNT(script));
    assert_true(rig_arm(rig, &watched));
    assert_true(rig_run(rig, 6, 2));
    rig_check_hits(rig, 6, 1000, 7);
    assert_int_equal(rig->n_left, 0);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rig->hits[i].past, 2);
    rig_end_clean(rig);
}

/* Of the same stack, or of a task whose stack is above. */
RIG_TEST(a_call_in_another_frame_is_another_call)
{
    another_call_at(DEEPER);
    another_call_at(ABOVE);
}

RIG_TEST(a_call_in_ram_is_watched_by_an_instruction)
{
    static const struct model_event script[] = {
        {.cycles = 50, .pc = 0x20000400, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = 0x20000405},
        {.cycles = 300, .pc = 0x20000400, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = 0x20000405},
        {.cycles = 1000, .grow = 7, .pc = 0x20000404, .sp = SP},
    };
    struct rig *rig = rig_fresh(script, COUNT(script));
    model_poke(&rig->model, 0x20000400, BL);
    rig_begin_armed(rig, &watched);
    assert_true(rig_run(rig, 6, 2));
    rig_check_hits(rig, 6, 1000, 7);
    assert_int_equal(rig->n_left, 6);
    rig_end_clean(rig);
}

RIG_TEST(without_a_second_comparator_the_limit_is_told)
{
    struct rig *rig = rig_fresh(left, COUNT(left));
    rig_occupy(rig, 5);
    model_poke(&rig->model, CALL, BL);
    rig_begin_armed(rig, &watched);
    assert_has(rig->engine->doubt, "no second breakpoint");
    assert_true(rig_run(rig, 3, 0));
    assert_int_equal(rig->n_left, 0);
    rig_end_clean(rig);
}

RIG_TEST(no_call_that_returns_ends_the_run)
{
    struct rig *rig = begin(left, 3);
    rig->timeout_ms = 20;
    rig->model.limit = 0;
    assert_true(rig_arm(rig, &watched));
    assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_END, "calls in a row were left without returning");
    assert_int_equal(rig->n_hits, 0);
    rig_end_clean(rig);
}

/* --- what may change the counter ------------------------------------------------------------------------ */

enum { WRITER = 0x1040 };

static const struct region may_write = {.start = START,
                                        .to_return = true,
                                        .low = 0x1000,
                                        .high = 0x1080,
                                        .may_be_left = true,
                                        .writers = {{.at = WRITER, .is_thumb = true, .what = "it writes"}},
                                        .n_writers = 1};

/* Twice outside of a hit, then in the second one. */
static const struct model_event written[] = {
    {.cycles = 40, .pc = WRITER, .sp = SP},
    {.cycles = 10, .pc = CALL, .sp = SP},
    {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
    {.cycles = 1000, .grow = 7, .pc = BACK, .sp = SP},
    {.cycles = 40, .pc = WRITER, .sp = SP},
    {.cycles = 10, .pc = CALL, .sp = SP},
    {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
    {.cycles = 300, .pc = WRITER, .sp = SP},
    {.cycles = 700, .grow = 7, .pc = BACK, .sp = SP},
};

RIG_TEST(without_a_comparator_for_it_nothing_is_measured)
{
    struct rig *rig = rig_fresh(written, COUNT(written));
    rig_occupy(rig, 5);
    rig_begin(rig);
    assert_fails(rig_arm(rig, &may_write), &rig->error, ERROR_WRITER_SOUGHT, "too few breakpoints");
    rig_end_clean(rig);
}

/* The message counts the calls since the last one that returned, all of them. */
RIG_TEST(a_call_that_returns_begins_the_row_anew)
{
    static const struct model_event script[] = {
        {.cycles = 50, .pc = CALL, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 300, .pc = CALL, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 1000, .pc = BACK, .sp = SP},
        {.cycles = 50, .pc = CALL, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 300, .pc = CALL, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 300, .pc = CALL, .sp = SP},
        {.cycles = 5, .pc = START, .sp = SP, .lr = BACK | 1},
    };
    struct rig *rig = begin(script, COUNT(script));
    rig->model.loop = COUNT(script); /* nothing follows */
    rig->model.limit = 0;
    rig->timeout_ms = 20;
    assert_true(rig_arm(rig, &watched));
    assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_END,
                 "; 2 calls in a row were left without returning");
    assert_int_equal(rig->n_hits, 1);
    assert_int_equal(rig->n_left, 3);
    rig_end_clean(rig);
}

RIG_TEST(ends_in_other_frames_do_not_begin_the_time_anew)
{
    static const struct model_event script[] = {
        {.cycles = 50, .pc = START, .sp = SP, .lr = BACK | 1},
        {.cycles = 300, .pc = BACK, .sp = DEEPER},
    };
    struct rig *rig = begin(script, COUNT(script));
    rig->model.loop = 1;
    rig->timeout_ms = 20;
    rig->model.limit = 0;
    assert_true(rig_arm(rig, &whole));
    assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_END, "times there in another frame");
    rig_end_clean(rig);
}

static bool never(void *context, uint64_t address)
{
    *(uint64_t *)context = address;
    return false;
}

RIG_TEST(a_call_at_the_end_of_its_caller_is_refused)
{
    uint64_t asked = 0;
    struct region region = watched;
    struct rig *rig = begin(left, COUNT(left));
    region.is_return = never;
    region.context = &asked;
    assert_true(rig_arm(rig, &region));
    assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_STATE, "");
    assert_int_equal(asked, BACK);
    rig_end_clean(rig);
}

/* --- handlers ------------------------------------------------------------------------------------------- */

static const struct region handler_region = {
    .start = START,
    .to_return = true,
    .low = 0x1000,
    .high = 0x1080,
    .exits = {.at = {{.at = 0x1060, .popped = 2}, {.at = 0x1040}, {.at = 0x1020, .conditional = true}},
              .n = 3,
              .all = true}};

/* By each of its exits in turn; the one in an IT block is passed, and taken the next time. What runs after a
 * return is none of it. */
RIG_TEST(a_handler_ends_at_its_own_return)
{
    static const struct model_event script[] = {
        {.cycles = 50, .pc = START, .sp = SP, .lr = 0xFFFFFFFD, .ipsr = 15},
        {.cycles = 300, .pc = 0x1020, .sp = SP, .ipsr = 15 | 0x800}, /* EQ, and Z is clear */
        {.cycles = 700, .grow = 21, .pc = 0x1060, .sp = SP - 8, .ipsr = 15},
        {.cycles = 5000, .pc = 0x3000, .sp = 0x20006000},
        {.cycles = 50, .pc = START, .sp = SP, .lr = 0xFFFFFFFD, .ipsr = 15},
        {.cycles = 1007, .grow = 21, .pc = 0x1040, .sp = SP, .ipsr = 15},
        {.cycles = 90, .pc = START, .sp = SP - 0x40, .lr = 0xFFFFFFF1, .ipsr = 15},
        {.cycles = 1014, .grow = 21, .pc = 0x1020, .sp = SP - 0x40, .ipsr = 15},
    };
    struct rig *rig = begin(script, COUNT(script));
    assert_true(rig_arm(rig, &handler_region));
    assert_true(rig_run(rig, 1, 2));
    assert_true(rig_run(rig, 8, 0));
    rig_end_with(rig, 9, 1000, 7);
}

enum { WENT_ON = 0x3000, XPSR = 0x01000000, IN_BLOCK = 1 << 10, ALIGNED = 1 << 9 };

/* With the exception's frame at SP. */
static struct rig *interrupted(const struct model_event *script, size_t n, uint32_t xpsr)
{
    struct rig *rig = rig_fresh(script, n);
    model_poke(&rig->model, SP + 24, WENT_ON);
    model_poke(&rig->model, SP + 28, xpsr);
    rig_begin(rig);
    return rig;
}

/* Where not all exits are known, or the first may not be taken, it ends where the interrupted code goes on;
 * not in the block of an IT, where a core may not stop. */
RIG_TEST(a_handler_without_known_exits_ends_at_what_it_interrupted)
{
    static const struct model_event script[] = {
        {.cycles = 50, .pc = START, .sp = SP, .lr = 0xFFFFFFF9},
        {.cycles = 300, .pc = WENT_ON, .sp = SP - 0x60},
        {.cycles = 700, .grow = 7, .pc = WENT_ON, .sp = SP + 0x20},
    };
    for (int i = 0; i < 4; i++) {
        struct region region = handler_region;
        struct rig *rig = interrupted(script, COUNT(script), XPSR);
        region.exits.all = i != 0;
        region.exits.n = i == 1 ? 0 : 3;
        region.exits.at[0].conditional = i == 2;
        bool unknown = i < 3;
        assert_true(rig_arm(rig, &region));
        assert_string_equal(rig->engine->doubt, "");
        if (unknown) {
            assert_true(rig_run(rig, 6, 0));
            rig_check_hits(rig, 6, 1000, 7);
            assert_has(rig->engine->doubt, "until what it interrupted goes on");
        }
        rig_end_clean(rig);
    }
    for (int i = 0; i < 3; i++) {
        struct region region = handler_region;
        struct rig *rig = interrupted(script, i == 2 ? COUNT(script) : 1,
                                      XPSR | (i == 0   ? IN_BLOCK
                                              : i == 1 ? 1 << 25
                                                       : ALIGNED));
        region.exits.n = 0;
        rig->timeout_ms = 20;
        rig->model.limit = 0;
        assert_true(rig_arm(rig, &region));
        assert_false(rig_run(rig, 1, 0));
        assert_int_equal(rig->n_hits, 0);
        assert_int_equal(rig->error.kind, i == 2 ? ERROR_END : ERROR_START);
        rig_end_clean(rig);
    }
}

/* A thread's frame is on its own stack. What lies on the handlers' one at that place is none. */
RIG_TEST(a_handler_ends_where_the_thread_that_it_interrupted_goes_on)
{
    enum { PSP = 0x20006000 };
    static const struct model_event script[] = {
        {.cycles = 50, .pc = START, .sp = SP, .lr = 0xFFFFFFFD, .psp = PSP},
        {.cycles = 300, .pc = WENT_ON, .sp = PSP - 0x60},
        {.cycles = 700, .grow = 7, .pc = WENT_ON, .sp = PSP + 0x20},
    };
    struct region region = handler_region;
    struct rig *rig = rig_fresh(script, COUNT(script));
    model_poke(&rig->model, PSP + 24, WENT_ON);
    model_poke(&rig->model, PSP + 28, XPSR);
    model_poke(&rig->model, SP + 24, WENT_ON + 0x40);
    model_poke(&rig->model, SP + 28, XPSR);
    rig_begin(rig);
    region.exits.all = false;
    assert_true(rig_arm(rig, &region));
    assert_true(rig_run(rig, 6, 0));
    rig_check_hits(rig, 6, 1000, 7);
    rig_end_clean(rig);
}

RIG_TEST(a_handler_of_the_other_security_state_needs_an_end)
{
    static const uint32_t lr[] = {0xFFFFFFB9, 0xFFFFFFD9}; /* to Non-secure; callee's registers are stacked */
    for (size_t i = 0; i < COUNT(lr); i++) {
        const struct model_event script[] = {{.cycles = 50, .pc = START, .sp = SP, .lr = lr[i]}};
        struct region region = handler_region;
        struct rig *rig = begin(script, COUNT(script));
        region.exits.all = false;
        assert_true(rig_arm(rig, &region));
        assert_fails(rig_run(rig, 3, 0), &rig->error, ERROR_STATE, "security state");
        rig_end_clean(rig);
    }
}

/* --- both ends in one function -------------------------------------------------------------------------- */
