/*
 * How long halts are, by a counter of cycles that stops in them, on a link with its own clock.
 */
#include "../test.h"

#include "cores/core_ops.h"
#include "measure/delta.h"
#include "ticking_link.h"

#include <math.h>

enum { HITS = 50, START_US = 60, END_US = 40 };

static struct rig {
    struct engine engine; /* the first member */
    struct ticking ticking;
    struct block_kind kind;
    struct device_core core, remote;
    struct plan plan;
    struct delta_options options;
    struct summary summary;
} rig;

static void halt_for(uint64_t us)
{
    rig.ticking.now_us += us;
    rig.ticking.halted_us += us;
    rig.engine.resumes++;
}

static bool run(struct engine *engine, const struct engine_request *request, const struct engine_sink *sink,
                const struct deadline *deadline, struct error *error)
{
    (void)engine;
    (void)deadline;
    (void)error;
    bool more = true;
    for (uint64_t i = 0; i < request->hits && more; i++) {
        struct raw_hit hit = {.pairs = 1};
        ticking_pass(&rig.ticking, 100);
        hit.from[0] = ticking_value(&rig.ticking);
        hit.before_us = rig.ticking.now_us;
        halt_for(START_US);
        ticking_pass(&rig.ticking, 40);
        hit.to[0] = ticking_value(&rig.ticking);
        hit.after_us = rig.ticking.now_us;
        halt_for(END_US);
        more = sink->hit(sink->context, &hit);
    }
    return true;
}

static void begin(uint8_t bits)
{
    static const struct engine_ops ops = {.run = run};
    static const struct core_ops core = {0};
    memset(&rig, 0, sizeof rig);
    ticking_init(&rig.ticking, 50e6, bits, 0, false);
    rig.engine.ops = &ops;
    rig.ticking.block.kind = &rig.kind;
    rig.ticking.block.counts_cycles = true;
    rig.core.core.ops = &core;
    rig.ticking.device.chosen = &rig.core;
    rig.plan.n_passes = rig.plan.n_columns = rig.plan.passes[0].n = 1;
    rig.options = (struct delta_options){.hits = HITS,
                                         .timeout_ms = 1000,
                                         .times_halts = true,
                                         .clock = clock_given(50e6, "--freq", 1.2e9),
                                         .plan = &rig.plan};
    rig.options.clock.low_hz = rig.options.clock.high_hz = 50e6;
}

static const struct summary_halts *measured(void)
{
    const struct delta_sink sink = {.context = NULL};
    struct deadline deadline = deadline_in_ms(60000, NULL);
    struct error error = {0};
    assert_true(delta_measure(&rig.engine, &rig.ticking.device, &rig.options, &sink, &rig.summary, &deadline,
                              &error));
    assert_int_equal(rig.summary.hits, HITS);
    summary_free(&rig.summary);
    ledger_free(rig.ticking.device.ledger);
    return &rig.summary.halts;
}

TEST(what_the_counter_leaves_of_the_time_is_that_of_halts)
{
    begin(32);
    const struct summary_halts *halts = measured();
    double whole = HITS * (100 + START_US + 40 + END_US);
    assert_int_equal(halts->n, 2 * HITS);
    assert_true(fabs(halts->us - (START_US + END_US) / 2.0) <= halts->plus_minus_us &&
                halts->plus_minus_us < 5);
    assert_float_equal(halts->share, HITS * (START_US + END_US) / whole, 0.05);
}

TEST(a_rate_that_is_not_known_well_gives_none)
{
    begin(32);
    rig.options.clock.low_hz = 45e6;
    rig.options.clock.high_hz = 55e6;
    assert_true(measured()->us == 0);
    begin(32);
    rig.options.clock.low_hz = rig.options.clock.high_hz = 0;
    assert_true(measured()->us == 0);
    begin(32); /* by such a slow clock the core ran for longer than there was time */
    rig.options.clock.low_hz = rig.options.clock.high_hz = 20e6;
    assert_true(measured()->us == 0);
}

TEST(a_counter_that_may_have_wrapped_gives_none)
{
    begin(8);
    rig.ticking.access_us = 2000;
    assert_true(measured()->us == 0);
}

TEST(sleep_is_no_halt)
{
    begin(32);
    rig.engine.saw_sleep = true;
    assert_true(measured()->us == 0);
    begin(32);
    rig.options.clock.may_sleep = true; /* no Cortex-M, so nothing shows it */
    assert_true(measured()->us == 0);
}

TEST(what_goes_on_or_is_not_read_gives_none)
{
    begin(32);
    rig.kind.own_cycles = "CYCLES";
    assert_true(measured()->us == 0);
    begin(32);
    rig.ticking.block.counts_cycles = false;
    assert_true(measured()->us == 0);
    begin(32);
    rig.ticking.device.remote = &rig.remote;
    assert_true(measured()->us == 0);
    begin(32);
    rig.options.times_halts = false;
    assert_true(measured()->us == 0);
}
