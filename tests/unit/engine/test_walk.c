/* The walk of the direct engine: from block to block, and that nothing is left of it. */
#include "rig.h"

TEST_TIME(rig_clock, rig_nap)

enum { HOPS = 64, USED = 0x1, SP = 0x20007F00, BACK = 0x2004 };

/* A head, a loop of one block that ends in a branch, a tail that returns. */
static const struct walk_block blocks[] = {
    {.low = 0x1000, .last = 0x1006, .high = 0x1008, .next = {0x1008}, .n_next = 1},
    {.low = 0x1008, .last = 0x100A, .high = 0x100C, .next = {0x100C, 0x1010}, .n_next = 2},
    {.low = 0x100C, .last = 0x100E, .high = 0x1010, .next = {0x1008}, .n_next = 1},
    {.low = 0x1010, .last = 0x1010, .high = 0x1012, .returns = true},
};

static const struct model_event script[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
    {.kind = MODEL_AT, .cycles = 20, .pc = 0x1008, .sp = SP},
    {.kind = MODEL_AT, .cycles = 3, .pc = 0x100C, .sp = SP},
    {.kind = MODEL_AT, .cycles = 7, .pc = 0x1008, .sp = SP},
    {.kind = MODEL_AT, .cycles = 4, .pc = 0x1010, .sp = SP},
    {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
};

struct walked {
    struct walk_hop hops[HOPS];
    size_t n, calls, wanted;
    bool is_long; /* the first ones are enough */
};

static bool on_hop(void *context, const struct walk_hop *hop)
{
    struct walked *walked = context;
    assert_true(walked->n < HOPS || walked->is_long);
    if (walked->n < HOPS)
        walked->hops[walked->n++] = *hop;
    walked->calls += hop->to == COUNT(blocks);
    return walked->calls < walked->wanted;
}

static bool walk_region(struct rig *rig, const struct region *region, const struct walk_block *of,
                        struct walked *walked)
{
    const struct engine_sink sink = {.context = rig, .left = rig_left};
    const struct engine_walk wanted = {.region = region,
                                       .blocks = of,
                                       .n = COUNT(blocks),
                                       .timeout_ms = 20,
                                       .context = walked,
                                       .hop = on_hop,
                                       .sink = &sink};
    return rig->engine->ops->walk(rig->engine, &wanted, &rig->deadline, &rig->error);
}

static bool walk(struct rig *rig, const struct walk_block *of, struct walked *walked)
{
    return walk_region(rig, &whole, of, walked);
}

static void check_calls(const struct walked *walked, size_t calls)
{
    static const size_t from[] = {0, 1, 2, 1, 3}, to[] = {1, 2, 1, 3, 4};
    static const uint32_t cycles[] = {20, 3, 7, 4, 5};
    assert_int_equal(walked->n, calls * COUNT(from));
    for (size_t i = 0; i < walked->n; i++) {
        const struct walk_hop *hop = &walked->hops[i];
        size_t which = i % COUNT(from);
        assert_int_equal(hop->from, from[which]);
        assert_int_equal(hop->to, to[which]);
        assert_int_equal(hop->begins, which == 0);
        assert_false(hop->tainted || hop->in_block);
        assert_int_equal((uint32_t)(hop->readings[1][0] - hop->readings[0][0]) - hop->pairs * RIG_COST,
                         cycles[which]);
    }
}

RIG_TEST(each_block_of_each_call)
{
    struct walked walked = {.wanted = 3};
    struct rig *rig = rig_fresh(script, COUNT(script));
    rig_begin(rig);
    assert_string_equal(walk(rig, blocks, &walked) ? "" : rig->error.text, "");
    check_calls(&walked, 3);
    rig_end_clean(rig);
}

/* Each round of it is a hop. */
RIG_TEST(a_block_that_leads_to_itself)
{
    static const struct model_event rounds[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
        {.kind = MODEL_AT, .cycles = 20, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x100A, .sp = SP},
        {.kind = MODEL_AT, .cycles = 6, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x100A, .sp = SP},
        {.kind = MODEL_AT, .cycles = 3, .pc = 0x1010, .sp = SP},
        {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
    };
    static const size_t from[] = {0, 1, 1, 3}, to[] = {1, 1, 3, 4};
    struct walk_block looped[COUNT(blocks)];
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(rounds, COUNT(rounds));
    memcpy(looped, blocks, sizeof looped);
    looped[1].next[0] = 0x1008;
    rig_begin(rig);
    assert_string_equal(walk(rig, looped, &walked) ? "" : rig->error.text, "");
    assert_int_equal(walked.n, 2 * COUNT(from));
    for (size_t i = 0; i < walked.n; i++) {
        assert_int_equal(walked.hops[i].from, from[i % COUNT(from)]);
        assert_int_equal(walked.hops[i].to, to[i % COUNT(from)]);
    }
    rig_end_clean(rig);
}

static const struct region may_leave = {
    .start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080, .may_be_left = true};

/* Left from the loop: the same instruction makes the next call. One deeper is another call. */
static const struct model_event with_left[] = {
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
    {.kind = MODEL_AT, .cycles = 20, .pc = 0x1008, .sp = SP},
    {.kind = MODEL_AT, .cycles = 9000, .pc = BACK - 4, .sp = SP},
    {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
    {.kind = MODEL_AT, .cycles = 15, .pc = BACK - 4, .sp = SP - 32},
    {.kind = MODEL_AT, .cycles = 5, .pc = 0x1008, .sp = SP},
    {.kind = MODEL_AT, .cycles = 4, .pc = 0x1010, .sp = SP},
    {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
};

RIG_TEST(a_call_that_is_left_is_not_followed_into_the_next_one)
{
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(with_left, COUNT(with_left));
    model_poke(&rig->model, BACK - 4, 0xFFFEF7FF);
    rig_begin(rig);
    assert_string_equal(walk_region(rig, &may_leave, blocks, &walked) ? "" : rig->error.text, "");
    assert_int_equal(rig->n_left, 2);
    assert_int_equal(walked.n, 2 * (1 + 3)); /* the first hop of the one that is left, and the other call's */
    for (size_t i = 0; i < walked.n; i++)
        assert_int_equal(walked.hops[i].begins, i % 4 < 2);
    rig_end_clean(rig);
}

RIG_TEST(calls_that_are_all_left_end_the_walk)
{
    struct walked walked = {.wanted = 2, .is_long = true};
    struct rig *rig = rig_fresh(with_left, 3);
    model_poke(&rig->model, BACK - 4, 0xFFFEF7FF);
    rig->model.limit = 0;
    rig_begin(rig);
    assert_fails(walk_region(rig, &may_leave, blocks, &walked), &rig->error, ERROR_END,
                 "calls in a row were left without returning");
    rig_end_clean(rig);
}

/* A call in the loop goes to a helper that returns into the tail. */
RIG_TEST(what_returns_elsewhere_is_followed_by_steps)
{
    static const struct model_event away[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
        {.kind = MODEL_AT, .cycles = 20, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x100A, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x1400, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x1402, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x1010, .sp = SP},
        {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
    };
    struct walk_block calling[COUNT(blocks)];
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(away, COUNT(away));
    memcpy(calling, blocks, sizeof calling);
    calling[1] = (struct walk_block){
        .low = 0x1008, .last = 0x100A, .high = 0x100C, .is_open = true, .calls_away = true};
    rig_begin(rig);
    assert_string_equal(walk(rig, calling, &walked) ? "" : rig->error.text, "");
    assert_int_equal(walked.n, 6);
    for (size_t i = 0; i < walked.n; i++)
        assert_int_equal(walked.hops[i].to, i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 4);
    rig_end_clean(rig);
}

/* A stop of another call in between, whose stack is deeper, is stepped past */
RIG_TEST(frames_are_told_apart)
{
    static const struct model_event with_inner[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1008, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 12, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 3, .pc = 0x1010, .sp = SP},
        {.kind = MODEL_AT, .cycles = 4, .pc = BACK, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
    };
    struct walk_block framed[COUNT(blocks)];
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(with_inner, COUNT(with_inner));
    memcpy(framed, blocks, sizeof framed);
    for (size_t i = 0; i < COUNT(framed); i++) {
        framed[i].at_low = (struct walk_frame){.known = true, .base = CORE_SP};
    }
    rig_begin(rig);
    assert_string_equal(walk(rig, framed, &walked) ? "" : rig->error.text, "");
    assert_int_equal(walked.n, 6);
    for (size_t i = 0; i < walked.n; i++)
        assert_int_equal(walked.hops[i].from, i % 3 == 2 ? 3 : i % 3);
    assert_true(walked.hops[0].pairs > 1 && walked.hops[1].pairs == 1);
    rig_end_clean(rig);
}

static const struct walk_frame by_sp = {.known = true, .base = CORE_SP};

/* The loop calls the function, and goes on where a table says. */
RIG_TEST(the_last_instruction_is_the_own_calls)
{
    static const struct model_event with_inner[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
        {.kind = MODEL_AT, .cycles = 20, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x100A, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x100C, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x100A, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x1010, .sp = SP},
        {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
    };
    struct walk_block open[COUNT(blocks)];
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(with_inner, COUNT(with_inner));
    memcpy(open, blocks, sizeof open);
    open[1] = (struct walk_block){.low = 0x1008, .last = 0x100A, .high = 0x100C, .is_open = true};
    for (size_t i = 0; i < COUNT(open); i++)
        open[i].at_low = open[i].at_last = by_sp;
    rig_begin(rig);
    assert_string_equal(walk(rig, open, &walked) ? "" : rig->error.text, "");
    assert_int_equal(walked.n, 6);
    for (size_t i = 0; i < walked.n; i++)
        assert_int_equal(walked.hops[i].to, i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 4);
    rig_end_clean(rig);
}

/* The head ends in a call of the function itself; the loop's block then has two ways out. */
RIG_TEST(a_step_into_the_function_is_another_call)
{
    static const struct model_event with_inner[] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1},
        {.kind = MODEL_AT, .cycles = 20, .pc = 0x1006, .sp = SP},
        {.kind = MODEL_AT, .cycles = 1, .pc = 0x1000, .sp = SP - 32, .lr = 0x1009},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1006, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1010, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1008, .sp = SP},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1010, .sp = SP},
        {.kind = MODEL_AT, .cycles = 5, .pc = BACK, .sp = SP},
    };
    struct walk_block calling[COUNT(blocks)];
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(with_inner, COUNT(with_inner));
    memcpy(calling, blocks, sizeof calling);
    calling[0] = (struct walk_block){
        .low = 0x1000, .last = 0x1006, .high = 0x1008, .next = {0x1008, 0x1010}, .n_next = 2};
    calling[1] =
        (struct walk_block){.low = 0x1008, .last = 0x100E, .high = 0x1010, .next = {0x1010}, .n_next = 1};
    for (size_t i = 0; i < COUNT(calling); i++)
        calling[i].at_low = calling[i].at_last = by_sp;
    rig_occupy(rig, 5); /* one is left */
    rig_begin(rig);
    assert_string_equal(walk(rig, calling, &walked) ? "" : rig->error.text, "");
    assert_int_equal(walked.n, 6);
    for (size_t i = 0; i < walked.n; i++)
        assert_int_equal(walked.hops[i].to, i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 4);
    rig_end_clean(rig);
}

/* So the time without a stop of the call ends the walk. */
RIG_TEST(stops_of_other_calls_are_no_progress)
{
    static const struct model_event for_ever[] = {
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1008, .sp = SP - 32},
        {.kind = MODEL_AT, .cycles = 8, .pc = 0x1000, .sp = SP - 32, .lr = 0x100D},
    };
    struct model_event events[500] = {
        {.kind = MODEL_AT, .cycles = 500, .pc = 0x1000, .sp = SP, .lr = BACK + 1}};
    struct walk_block framed[COUNT(blocks)];
    struct walked walked = {.wanted = 1};
    for (size_t i = 1; i < COUNT(events); i++)
        events[i] = for_ever[i % 2];
    struct rig *rig = rig_fresh(events, COUNT(events));
    memcpy(framed, blocks, sizeof framed);
    for (size_t i = 0; i < COUNT(framed); i++)
        framed[i].at_low = framed[i].at_last = by_sp;
    rig->model.limit = 0;
    rig_begin(rig);
    assert_fails(walk(rig, framed, &walked), &rig->error, ERROR_END, "");
    assert_int_equal(walked.n, 0);
    rig_end_clean(rig);
}

/* As where the stops themselves keep the call from going on. */
RIG_TEST(a_call_that_never_ends_ends_the_walk)
{
    struct model_event events[4000] = {script[0]};
    struct walked walked = {.wanted = 1, .is_long = true};
    for (size_t i = 1; i < COUNT(events); i++)
        events[i] = script[1 + i % 2];
    struct rig *rig = rig_fresh(events, COUNT(events));
    rig->model.limit = 0;
    rig_begin(rig);
    assert_fails(walk(rig, blocks, &walked), &rig->error, ERROR_END, "the end was not reached within");
    assert_int_equal(walked.calls, 0);
    rig_end_clean(rig);
}

RIG_TEST(other_stops_are_told)
{
    static const struct {
        struct model_event event;
        enum error_kind kind;
    } cases[] = {
        {{.kind = MODEL_HALT, .cycles = 500, .pc = 0x1234, .sp = SP}, ERROR_FOREIGN_STOP},
        {{.kind = MODEL_RESET, .cycles = 500}, ERROR_RESET},
        {{.kind = MODEL_LOCKUP, .cycles = 500}, ERROR_LOCKUP},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t at = 0; at <= 2; at += 2) {
            struct model_event events[3];
            struct walked walked = {.wanted = 2};
            memcpy(events, script, at * sizeof *events);
            events[at] = cases[i].event;
            struct rig *rig = rig_fresh(events, at + 1);
            rig_begin(rig);
            assert_fails(walk(rig, blocks, &walked), &rig->error, cases[i].kind, "");
            (void)rig_end(rig);
        }
}

RIG_TEST(it_can_be_cancelled)
{
    struct walked walked = {.wanted = 2};
    struct rig *rig = rig_fresh(script, COUNT(script));
    rig_begin(rig);
    rig->model.cancelled = 1;
    assert_fails(walk(rig, blocks, &walked), &rig->error, ERROR_CANCELLED, "");
    rig->model.cancelled = 0;
    rig_end_clean(rig);
}

RIG_TEST(a_function_that_is_not_called)
{
    static const struct model_event elsewhere[] = {{.kind = MODEL_AT, .cycles = 500, .pc = 0x3000, .sp = SP}};
    struct walked walked = {.wanted = 1};
    struct rig *rig = rig_fresh(elsewhere, COUNT(elsewhere));
    rig->model.limit = 0; /* of accesses: it waits */
    rig_begin(rig);
    assert_fails(walk(rig, blocks, &walked), &rig->error, ERROR_START, "");
    assert_int_equal(walked.n, 0);
    rig_end_clean(rig);
}
