/*
 * More events than counters: the passes take turns over the same region, each with hits, an overhead and a
 * separate calibration.
 */
#include "../test.h"

#include "fake_engine.h"

#include <math.h>

enum { PASSES = 3 };

static struct fake_engine fake;
static struct fake_results results;
static struct summary summary;
static struct error error;
static struct delta_options options;
static struct block_kind kind;
static unsigned programmed[FAKE_VALUES]; /* the pass of each time that counters were given events */
static size_t n_programmed;

TEST_TIME(fake_time, NULL)

/* The last pick of a pass shows which it is. */
static size_t program(const struct core *core, const struct counter_block *block,
                      const struct counter_pick *picks, size_t n, struct setting *out, size_t room)
{
    (void)core;
    (void)block;
    (void)out;
    (void)room;
    assert_true(n_programmed < FAKE_VALUES);
    programmed[n_programmed++] = picks[n - 1].code;
    return 0;
}

static unsigned pass_now(void)
{
    return programmed[n_programmed - 1];
}

/* Cycles in counter 0, and in counter 1 ten times the number of the pass, both with a halt of 11 in them. */
static void by_pass(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    (void)engine;
    hit->to[0] = 1000 + number % 7 + 11;
    hit->to[1] = 10 * (uint64_t)pass_now() + 22;
}

static int tear_down(void **state)
{
    (void)state;
    summary_free(&summary);
    return 0;
}

static int set_up(void **state)
{
    tear_down(state);
    fake_init(&fake);
    kind = (struct block_kind){.program = program};
    static struct device_core core;
    fake.device.chosen = &core;
    fake.block.kind = &kind;
    fake.block.n = 2;
    fake.make = by_pass;
    n_programmed = 0;
    memset(&results, 0, sizeof results);
    memset(&summary, 0, sizeof summary);
    error_clear(&error);
    options = (struct delta_options){
        .hits = 10, .timeout_ms = 1000, .calibrate = true, .clock = clock_given(100e6, "--freq", 1.2e9)};
    return 0;
}

#define FRESH_TEST(name) TEST_WITH(name, set_up, tear_down)

/* Cycles and one event in each pass; the event of the last column cannot be counted. */
static void plan_passes(unsigned passes)
{
    struct plan *plan = &fake.plan;
    memset(plan, 0, sizeof *plan);
    plan->n_passes = passes;
    plan->n_columns = passes + 2;
    snprintf(plan->columns[0].name, EVENT_NAME, "CPU_CYCLES");
    for (unsigned i = 0; i < passes; i++) {
        snprintf(plan->columns[i + 1].name, EVENT_NAME, "EVENT_%u", i);
        plan->passes[i] = (struct plan_pass){.n = 2, .column = {0, i + 1}};
        plan->passes[i].picks[1] = (struct counter_pick){.counter = 1, .code = i};
    }
    snprintf(plan->columns[passes + 1].name, EVENT_NAME, "NEVER");
    snprintf(plan->columns[passes + 1].unsupported, sizeof plan->columns[0].unsupported, "not here");
}

static bool measure(void)
{
    struct delta_sink sink = {.context = &results, .hit = fake_on_hit, .tick = fake_on_tick};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    options.plan = &fake.plan;
    return delta_measure(&fake.engine, &fake.device, &options, &sink, &summary, &deadline, &error);
}

static uint64_t hits_of(unsigned pass)
{
    uint64_t n = 0;
    for (size_t i = 0; i < results.n; i++)
        n += results.hits[i].pass == pass;
    return n;
}

static uint64_t in_column(size_t column)
{
    return statistics_count(summary.columns[column].statistics);
}

FRESH_TEST(each_pass_gets_all_its_hits)
{
    for (options.hits = 1; options.hits < 14; options.hits++) {
        uint64_t hits = options.hits;
        set_up(NULL);
        options.hits = hits;
        plan_passes(PASSES);
        assert_true(measure());
        assert_int_equal(summary.passes, PASSES);
        assert_int_equal(summary.wanted, hits);
        assert_int_equal(summary.hits, PASSES * hits);
        assert_int_equal(results.n, PASSES * hits);
        assert_int_equal(in_column(0), PASSES * hits);
        for (unsigned p = 0; p < PASSES; p++) {
            assert_int_equal(hits_of(p), hits);
            assert_int_equal(in_column(p + 1), hits);
        }
    }
}

/* So that what drifts while it is measured hits them all. */
FRESH_TEST(passes_take_turns)
{
    plan_passes(PASSES);
    assert_true(measure());
    assert_int_equal(n_programmed, 4 * PASSES);
    for (size_t i = 0; i < n_programmed; i++)
        assert_int_equal(programmed[i], i % PASSES);
    for (size_t i = 1; i < results.n; i++) {
        assert_int_equal(results.hits[i].number, i + 1);
        unsigned before = results.hits[i - 1].pass, now = results.hits[i].pass;
        assert_true(now == before || now == (before + 1) % PASSES);
    }
    set_up(NULL);
    options.hits = 2; /* no turn without a hit */
    plan_passes(PASSES);
    assert_true(measure());
    assert_int_equal(n_programmed, 2 * PASSES);
    set_up(NULL);
    plan_passes(1);
    assert_true(measure());
    assert_int_equal(n_programmed, 1);
}

FRESH_TEST(one_warmup_comes_before_all_passes)
{
    options.warmup = 7;
    plan_passes(PASSES);
    assert_true(measure());
    assert_int_equal(summary.warmup, 7);
    assert_int_equal(summary.hits, PASSES * 10);
    for (size_t i = 0; i < results.n; i++)
        assert_int_equal(results.hits[i].warmup, i < 7);
    for (unsigned p = 0; p < PASSES; p++)
        assert_int_equal(in_column(p + 1), 10);
}

/* All passes together know the cycles; each has as many hits as the others. */
FRESH_TEST(passes_end_together_when_the_cycles_are_known)
{
    options.hits = 0;
    options.precision = 0.0002;
    plan_passes(PASSES);
    assert_true(measure());
    assert_true(summary.precise <= 0.0002);
    assert_true(hits_of(0) >= 100 && hits_of(0) < 500);
    for (unsigned p = 0; p < PASSES; p++)
        assert_int_equal(in_column(p + 1), hits_of(0));
}

FRESH_TEST(passes_share_the_time_that_is_left)
{
    options.hits = 0;
    options.precision = 1e-9;
    options.for_us = 900000;
    fake.hit_us = 1000;
    plan_passes(PASSES);
    assert_true(measure());
    assert_true(summary.precise > 1e-9 && fabs(summary.seconds - 0.9) < 0.01);
    uint64_t most = hits_of(0), least = hits_of(0);
    for (unsigned p = 1; p < PASSES; p++) {
        most = hits_of(p) > most ? hits_of(p) : most;
        least = hits_of(p) < least ? hits_of(p) : least;
    }
    assert_true(most < 2 * least);
    set_up(NULL);
    options.hits = 0;
    options.precision = 1e-9;
    options.for_us = 2000; /* it is over before the last pass has its turn */
    fake.hit_us = 1000;
    plan_passes(PASSES);
    assert_true(measure());
    for (unsigned p = 0; p < PASSES; p++)
        assert_in_range(hits_of(p), 1, 3);
}

FRESH_TEST(values_are_of_the_hits_pass_only)
{
    plan_passes(PASSES);
    assert_true(measure());
    for (size_t i = 0; i < results.n; i++) {
        const struct hit_result *hit = &results.hits[i];
        assert_int_equal(hit->n, PASSES + 2);
        assert_false(hit->values[0].absent);
        assert_int_equal(hit->values[0].count, 1000 + (i + 1) % 7);
        for (unsigned p = 0; p < PASSES; p++) {
            assert_int_equal(hit->values[p + 1].absent, p != hit->pass);
            if (p == hit->pass)
                assert_int_equal(hit->values[p + 1].count, 10 * (uint64_t)p);
        }
        assert_true(hit->values[PASSES + 1].absent);
    }
    assert_string_equal(summary.columns[PASSES + 1].unsupported, "not here");
    assert_int_equal(in_column(PASSES + 1), 0);
    assert_string_equal(summary.columns[2].name, "EVENT_1");
    assert_string_equal(summary.columns[2].unsupported, "");
}

/* 11 in the first pass, 13 in the second ... */
static uint64_t dearer_by_pass(struct fake_engine *engine, uint64_t number)
{
    (void)engine;
    (void)number;
    return 11 + 2 * (uint64_t)pass_now();
}

static void dearer_hits(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    hit->to[0] = 1000 + dearer_by_pass(engine, number);
    hit->to[1] = 300 + 2 * dearer_by_pass(engine, number);
}

FRESH_TEST(each_pass_is_calibrated_once)
{
    fake.rehit = dearer_by_pass;
    fake.make = dearer_hits;
    plan_passes(PASSES);
    assert_true(measure());
    size_t calibrations = 0;
    for (size_t i = 0; i < fake.calls; i++)
        calibrations += fake.requests[i].rehits > 0;
    assert_int_equal(calibrations, PASSES);
    for (size_t i = 0; i < results.n; i++) {
        assert_int_equal(results.hits[i].values[0].count, 1000);
        assert_int_equal(results.hits[i].values[results.hits[i].pass + 1].count, 300);
    }
    for (unsigned p = 0; p < PASSES; p++) {
        assert_true(summary.columns[p + 1].calibrated);
        assert_true(fabs(summary.columns[p + 1].overhead - 2 * (11 + 2.0 * p)) < 1e-9);
    }
    assert_false(summary.columns[PASSES + 1].calibrated);
    assert_string_equal(summary.disagreement, "");
}

static uint64_t uneven_in_the_second(struct fake_engine *engine, uint64_t number)
{
    (void)engine;
    return pass_now() == 1 ? 8 + number % 7 : 11;
}

FRESH_TEST(the_largest_error_of_all_passes_is_told)
{
    fake.rehit = uneven_in_the_second;
    plan_passes(PASSES);
    assert_true(measure());
    assert_true(summary.columns[0].plus_minus >= 3);
    assert_true(summary.columns[1].plus_minus == 0);
    assert_true(summary.columns[2].plus_minus >= 6);
    assert_true(summary.columns[3].plus_minus == 0);
}

static void third_is_longer(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    by_pass(engine, number, hit);
    hit->to[0] += pass_now() == 2 ? 50 : 0;
}

FRESH_TEST(passes_that_saw_something_else_are_told)
{
    plan_passes(PASSES);
    assert_true(measure());
    assert_string_equal(summary.disagreement, "");
    set_up(NULL);
    fake.make = third_is_longer;
    plan_passes(PASSES);
    assert_true(measure());
    assert_non_null(strstr(summary.disagreement, "CPU_CYCLES"));
    assert_non_null(strstr(summary.disagreement, "in pass 3"));
}

/* Where no counter is in every pass, the first of one is another than that of the next. */
FRESH_TEST(passes_without_cycles_are_not_compared)
{
    fake.block.counts_cycles = false;
    fake.make = third_is_longer;
    plan_passes(PASSES);
    for (unsigned p = 0; p < PASSES; p++) {
        fake.plan.passes[p] = (struct plan_pass){.n = 1, .column = {p + 1}};
        fake.plan.passes[p].picks[0] = (struct counter_pick){.counter = 0, .code = p};
    }
    assert_true(measure());
    assert_string_equal(summary.disagreement, "");
    assert_int_equal(in_column(3), 10);
    assert_int_equal(summary.max_value, 1006); /* of the first pass: the third had more of something else */
    for (size_t i = 0; i < results.n; i++)
        assert_true(!results.hits[i].is_max || results.hits[i].pass == 0);
}

static const struct at_end at_end = {.n = 1};

static void noted(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    by_pass(engine, number, hit);
    hit->to[0] = 11 + (number == 7 ? 5000 : number == 12 ? 9000 : number == 15 ? 7000 : 1000);
    hit->tainted = number == 12;
    hit->after_us = hit->before_us + 1000;
    hit->words[0] = 100 + number;
}

FRESH_TEST(the_highest_of_all_passes_is_kept_with_its_words)
{
    fake.make = noted;
    options.at_end = &at_end;
    plan_passes(PASSES);
    assert_true(measure());
    assert_int_equal(summary.max_number, 15);
    assert_int_equal(summary.max_value, 7000);
    assert_int_equal(summary.at_max.values[0], 115);
    for (size_t i = 0; i < results.n; i++)
        assert_int_equal(results.hits[i].is_max, i == 0 || i + 1 == 7 || i + 1 == 15);
    assert_true(results.hits[6].words != NULL);
    for (size_t i = 0; i < fake.calls; i++)
        assert_ptr_equal(fake.requests[i].at_end, &at_end);
}

FRESH_TEST(by_default_a_hundred_or_two_seconds_in_all)
{
    options.hits = 0;
    plan_passes(PASSES);
    assert_true(measure());
    for (unsigned p = 0; p < PASSES; p++)
        assert_int_equal(hits_of(p), 100);
    set_up(NULL);
    options.hits = 0;
    fake.hit_us = 100000;
    plan_passes(PASSES);
    assert_true(measure());
    for (unsigned p = 0; p < PASSES; p++)
        assert_in_range(hits_of(p), 4 * 5, 4 * 6); /* half a second a turn */
}

/* Each hit of the second pass may have wrapped. */
static void second_is_slow(struct fake_engine *engine, uint64_t number, struct raw_hit *hit)
{
    by_pass(engine, number, hit);
    hit->after_us = hit->before_us + (pass_now() == 1 ? 200000 : 10);
}

FRESH_TEST(a_pass_that_cannot_be_decided_holds_no_other_up)
{
    fake.block.counters[0].bits = 24;
    fake.make = second_is_slow;
    plan_passes(PASSES);
    assert_true(measure());
    for (unsigned p = 0; p < PASSES; p++)
        assert_int_equal(hits_of(p), 10);
    assert_int_equal(summary.columns[0].at_least, 10);
    assert_int_equal(in_column(0), 20);
    assert_string_equal(summary.disagreement, "");
}

FRESH_TEST(an_early_end_keeps_what_each_pass_had)
{
    for (uint64_t at = 1; at < 30; at += 4) {
        set_up(NULL);
        fake.fail_at = at;
        plan_passes(PASSES);
        assert_false(measure());
        assert_int_equal(error.kind, ERROR_RESET);
        assert_int_equal(results.n, at - 1);
        assert_int_equal(in_column(0), at - 1);
        uint64_t sum = 0;
        for (unsigned p = 0; p < PASSES; p++) {
            assert_int_equal(in_column(p + 1), hits_of(p));
            sum += hits_of(p);
        }
        assert_int_equal(sum, at - 1);
        for (size_t i = 0; i < results.n; i++)
            assert_int_equal(results.hits[i].values[0].count, 1000 + (i + 1) % 7);
    }
}
