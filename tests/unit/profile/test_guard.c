/* The guard's counts of calls, by an engine that reports what a test wants. */
#include "../fake_link.h"
#include "../symbols/fixture.h"

#include "cores/architectures.h"
#include "profile/guard.h"

enum { M4 = 0x410FC241, BUDGET = 1000, STACK = 0x20000000, REPORTS = 8 };

/* What an engine reports of a call. */
struct report {
    enum { RETURNS, LEFT, ELSEWHERE, PART } what;
    uint64_t counted;
};

static struct rig {
    struct engine engine;
    struct fake_link fake;
    struct device_core chosen;
    struct device device;
    struct counter_stop stop;
    struct reading reading;
    struct stack_reader stacks;
    struct guard guard;
    const struct report *reports;
    size_t n, at, told_left;
    uint64_t halt_costs[2];               /* with options.calibrate, */
    bool no_costs;                        /* unless this */
    enum { QUIET, TAINTED, EXCEPTED } by; /* of calls but short ones */
    unsigned pairs;                       /* of halts, up to a stop and of each call */
    uint64_t armed;                       /* at a stop, */
    unsigned anew;                        /* which so often was none */
    struct deadline deadline;
    struct error error;
} rig;

/* It goes on as long as that is none. */
static void stop_once(const struct engine_sink *sink, const struct raw_hit *hit,
                      const struct deadline *deadline, struct error *error)
{
    const struct counter_stop_look look = {.late = 3};
    struct raw_hit now = *hit;
    enum overrun_next next = OVERRUN_IS_NONE;
    for (rig.anew = 0; next == OVERRUN_IS_NONE; rig.anew += next == OVERRUN_IS_NONE, now.pairs++) {
        next = sink->overrun(sink->context, &now, &look, 0, &rig.armed, deadline, error);
        assert_true(rig.anew < 3);
    }
    assert_int_equal(next, OVERRUN_GOES_ON);
}

static bool run_reports(struct engine *engine, const struct engine_request *request,
                        const struct engine_sink *sink, const struct deadline *deadline, struct error *error)
{
    (void)engine;
    for (size_t i = 0; i < request->rehits && !rig.no_costs && i < COUNT(rig.halt_costs); i++)
        sink->rehit(sink->context,
                    &(struct raw_hit){.to = {rig.halt_costs[i]}, .pairs = 1, .after_us = 1000});
    for (size_t i = 0; rig.at < rig.n && i < request->hits; i++, rig.at++) {
        const struct report *report = &rig.reports[rig.at];
        struct raw_hit hit = {.to = {report->counted}, .pairs = rig.pairs, .after_us = 1000};
        hit.from[0] = 0;
        hit.overran = rig.at > 0 && report[-1].what == ELSEWHERE;
        bool is_short = report->what == RETURNS && report->counted < 100;
        hit.tainted = !is_short && rig.by == TAINTED;
        hit.to[1] = !is_short && rig.by == EXCEPTED;
        hit.unproved = report->what == PART;
        if (report->what == RETURNS)
            sink->hit(sink->context, &hit);
        else if (report->what == PART)
            sink->unproved(sink->context, &hit);
        else if (report->what == LEFT)
            sink->left(sink->context, &hit);
        else
            stop_once(sink, &hit, deadline, error);
    }
    return true;
}

/* Halted at the first instruction of the program, which nothing called. */
static bool read_at_start(struct engine *engine, struct register_value *registers, size_t n,
                          const struct deadline *deadline, struct error *error)
{
    struct location start;
    (void)engine;
    (void)deadline;
    assert_true(symbols_locate(fixture("stacks_m4"), "_start", &start, error));
    for (size_t i = 0; i < n; i++) {
        enum core_register which = registers[i].which;
        registers[i].known = true;
        registers[i].value = which == CORE_PC       ? start.address
                             : which == CORE_LR     ? UINT32_MAX
                             : which == CORE_SP     ? STACK
                             : which == CORE_STATUS ? 1 << 24
                                                    : 0;
    }
    return true;
}

static bool rig_on_overrun(void *context, const struct guard_overrun *overrun, struct error *error)
{
    (void)context;
    (void)error;
    assert_true(overrun->is_elsewhere);
    return true;
}

static void rig_on_left(void *context, uint64_t number)
{
    (void)context;
    (void)number;
    rig.told_left++;
}

static void set_up(void)
{
    static const struct engine_ops ops = {.run = run_reports, .read_registers = read_at_start};
    const uint64_t identity[ARMV8_IDENTITY] = {M4};
    memset(&rig, 0, sizeof rig);
    fake_init(&rig.fake);
    assert_true(cortex_m_identify(1, identity, &rig.chosen.core));
    rig.chosen.core.ops = &cortex_m_ops;
    rig.device = (struct device){.chosen = &rig.chosen, .ledger = ledger_new(&rig.fake.link)};
    rig.deadline = deadline_in_ms(60000, NULL);
    rig.pairs = 1;
    rig.engine.ops = &ops;
    rig.stop = (struct counter_stop){.device = &rig.device,
                                     .core = &rig.chosen.core,
                                     .way = COUNTER_STOP_MATCH,
                                     .counter = {.low = {.size = 4}, .bits = 32},
                                     .most = UINT32_MAX};
    rig.reading.counters[0] = rig.stop.counter;
    assert_true(stack_reader_open(&rig.stacks, &rig.device, (struct stack_stop){.engine = &rig.engine},
                                  fixture("stacks_m4"), &rig.error));
    rig.guard =
        (struct guard){.engine = &rig.engine,
                       .stop = &rig.stop,
                       .n_picks = 1,
                       .stacks = &rig.stacks,
                       .options = {.budget = BUDGET, .overruns = 100, .calibrate = true, .timeout_ms = 1000},
                       .sink = {.overrun = rig_on_overrun, .left = rig_on_left},
                       .plausible = {.reading = &rig.reading, .most_hz = 1e9}};
}

static void tear_down(void)
{
    stack_reader_close(&rig.stacks);
    ledger_free(rig.device.ledger);
}

#define GUARD_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

static const struct guard_result *guard_of(const struct report *reports, size_t n)
{
    rig.reports = reports;
    rig.n = n;
    rig.at = 0;
    rig.guard.armed = 0;
    assert_string_equal(guard_run(&rig.guard, &rig.deadline, &rig.error) ? "" : rig.error.text, "");
    return &rig.guard.result;
}

GUARD_TEST(the_budget_itself_is_not_over_it)
{
    static const struct report calls[] = {
        {RETURNS, BUDGET - 1}, {RETURNS, BUDGET}, {RETURNS, BUDGET + 1}, {RETURNS, 5}};
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_int_equal(result->calls, 4);
    assert_int_equal(result->unstopped, 1);
    assert_int_equal(result->most.most, BUDGET + 1);
    assert_int_equal(result->most.spread, 0);
    assert_int_equal(result->overruns, 0);
}

/* With halts that cost from 20 to 40, a count proves no more than that. The first call only measures halts.
 */
GUARD_TEST(what_a_halt_may_have_cost_is_not_over_the_budget)
{
    static const struct report within[] = {{RETURNS, 60}, {RETURNS, BUDGET + 20}, {RETURNS, 60}},
                               maybe[] = {{RETURNS, BUDGET + 35}, {RETURNS, BUDGET + 40}, {RETURNS, 60}},
                               over[] = {{RETURNS, 60}, {RETURNS, BUDGET + 41}};
    rig.halt_costs[0] = 40;
    rig.halt_costs[1] = 20;
    const struct guard_result *result = guard_of(within, COUNT(within));
    assert_int_equal(result->unstopped + result->unclear, 0);
    assert_int_equal(result->most.most, BUDGET);
    assert_int_equal(result->most.spread, 20);
    result = guard_of(maybe, COUNT(maybe));
    assert_int_equal(result->unstopped, 0);
    assert_true(result->unclear == 2 && result->unclear_by == 20);
    result = guard_of(over, COUNT(over));
    assert_int_equal(result->unstopped, 1);
    assert_int_equal(result->unclear, 0);
}

/* Not one halt was measured, as if a handler ran in each. */
GUARD_TEST(a_halt_of_unknown_cost_proves_nothing)
{
    static const struct report calls[] = {{RETURNS, BUDGET + 35}, {RETURNS, 60}};
    rig.no_costs = true;
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_int_equal(result->unstopped, 0);
    assert_true(result->unclear > 0 && result->unclear_by == 35);
}

/* The call may have been left, for the core is elsewhere; that it returns is the proof. It is armed for what
 * halts cost at most, also if no halt can be measured, none is to be, or all cost 20. */
GUARD_TEST(a_stop_is_not_always_a_proof)
{
    enum { WHOLE = BUDGET + 4200, UNKNOWN = 4096 };
    static const struct report begun[] = {{RETURNS, 60},
                                          {RETURNS, 60},
                                          {RETURNS, 60},
                                          {RETURNS, 60},
                                          {ELSEWHERE, 0}},
                               calls[] = {{RETURNS, 60}, {RETURNS, 60},  {RETURNS, 60},
                                          {RETURNS, 60}, {ELSEWHERE, 0}, {RETURNS, WHOLE}},
                               left[] = {{RETURNS, 60}, {RETURNS, 60},  {RETURNS, 60},
                                         {RETURNS, 60}, {ELSEWHERE, 0}, {LEFT, 0}};
    const struct guard_result *result;
    for (unsigned way = 0; way < 3; way++) {
        bool known = way == 2;
        rig.no_costs = way == 0;
        rig.guard.options.calibrate = way != 1;
        rig.halt_costs[0] = rig.halt_costs[1] = 20;
        result = guard_of(begun, COUNT(begun));
        assert_true(result->overruns == 1 && result->unproved == 1 && !guard_is_over(result));
        assert_true(result->unclear == 1 && result->unclear_by == (known ? 4 : 4 + UNKNOWN));
        result = guard_of(calls, COUNT(calls));
        assert_true(result->overruns == 1 && result->unproved == 0 && guard_is_over(result));
        assert_int_equal(result->unclear, 0);
        result = guard_of(left, COUNT(left));
        assert_true(result->overruns == 0 && result->unclear == 0 && result->unproved == 0);
    }
}

/* Nor is what an interrupt took that the halt at the start had delayed, or may have: its time is not the
 * call's. */
GUARD_TEST(a_delayed_interrupt_is_not_the_calls)
{
    static const struct report calls[] = {{RETURNS, 60},           {ELSEWHERE, 0}, {RETURNS, 1200},
                                          {RETURNS, BUDGET + 300}, {RETURNS, 70},  {ELSEWHERE, 0}};
    for (rig.by = TAINTED; rig.by <= EXCEPTED; rig.by++) {
        rig.reading.has_exceptions = rig.by == EXCEPTED;
        rig.reading.exceptions = 1;
        rig.halt_costs[0] = rig.halt_costs[1] = 20;
        const struct guard_result *result = guard_of(calls, COUNT(calls));
        assert_true(result->overruns == 2 && result->unproved == 2 && result->unstopped == 0);
        assert_true(result->unclear == 3 && result->unclear_by == 280 && !guard_is_over(result));
        assert_int_equal(result->most.most, rig.by == TAINTED ? 50 : BUDGET + 280);
    }
}

/* One that may have begun before its count has an end, and is over if that part is. */
GUARD_TEST(a_part_of_a_call_ends_it)
{
    static const struct report calls[] = {{RETURNS, 60}, {ELSEWHERE, 0},       {PART, 1200},
                                          {RETURNS, 90}, {PART, BUDGET + 500}, {LEFT, 0}};
    rig.halt_costs[0] = rig.halt_costs[1] = 20;
    rig.stop.most = BUDGET + 10;
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_true(result->calls == 4 && result->parts == 2 && result->unproved == 0);
    assert_true(result->overruns == 1 && result->unstopped == 1 && rig.told_left == 0);
    assert_int_equal(result->most.most, BUDGET + 13 + 1200 - 20);
}

/* A counter that cannot be armed for them, and stops inside the call, of which each adds them. */
GUARD_TEST(the_counter_is_armed_anew_for_what_halts_cost)
{
    static const struct report calls[] = {{RETURNS, 60}, {ELSEWHERE, 0}, {RETURNS, 200}};
    rig.halt_costs[0] = rig.halt_costs[1] = 20;
    rig.stop.most = BUDGET + 10;
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_true(rig.anew == 1 && rig.armed == 8 + 20 && result->overruns == 1 && guard_is_over(result));
    assert_int_equal(result->most.most, BUDGET + 10 + 3 + 200 - 20);
    rig.stop.most = UINT32_MAX;
    rig.pairs = 3;
    result = guard_of(calls, COUNT(calls));
    assert_true(rig.anew == 1 && rig.armed == 60 - 23 + 20 && result->overruns == 1);
    assert_int_equal(result->most.most, BUDGET + 21 + 3 + 200 - 60);
}

/* Halts that cost less than was measured: its count takes the proof back. */
GUARD_TEST(a_stopped_call_within_the_budget_is_no_overrun)
{
    static const struct report calls[] = {{RETURNS, 60}, {ELSEWHERE, 0}, {RETURNS, BUDGET + 20}};
    rig.halt_costs[0] = rig.halt_costs[1] = 20;
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_true(result->overruns == 1 && result->unproved == 1 && !guard_is_over(result));
}

/* What stopped elsewhere was none of it; once, however often calls are left afterwards. */
GUARD_TEST(a_call_that_was_left_did_not_overrun)
{
    static const struct report calls[] = {{RETURNS, 5}, {ELSEWHERE, 0}, {LEFT, 0}, {LEFT, 0}, {RETURNS, 5}};
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_int_equal(result->overruns, 0);
    assert_int_equal(result->left, 2);
    assert_int_equal(rig.told_left, 1);
}

/* The call that overran returned after all. */
GUARD_TEST(an_overrun_is_that_of_its_call)
{
    static const struct report calls[] = {{RETURNS, 5}, {ELSEWHERE, 0}, {RETURNS, BUDGET + 5}, {LEFT, 0}};
    const struct guard_result *result = guard_of(calls, COUNT(calls));
    assert_int_equal(result->overruns, 1);
    assert_int_equal(result->left, 1);
    assert_int_equal(rig.told_left, 0);
}
