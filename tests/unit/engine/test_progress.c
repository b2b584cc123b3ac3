/*
 * What counts against the time in which a region has to be reached: time in which the core could get there.
 * Not that of a slow connection while the core is halted, and not a pause of the tool itself.
 */
#include "rig_debugged.h"

enum { SLOW_US = 400000, TIMEOUT_MS = 1000, PAUSE_S = 12 };

static int64_t call_us; /* what each call of the link takes */
static int64_t gone_us; /* besides that, a millisecond for each read of the clock, and the pauses */

static int clock_of_calls(struct timespec *now)
{
    gone_us += 1000;
    int64_t us = 1000000000 + gone_us + call_us * (int64_t)rig_the_one()->model.lists;
    *now = (struct timespec){.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};
    return 0;
}

TEST_TIME(clock_of_calls, test_no_nap)

/* The clock follows the calls: the end of a test takes none. */
static void end(void)
{
    tear_down();
    call_us = 0;
}

#define SLOW_TEST(name) TEST_BETWEEN(name, test_nothing, end)

static struct rig *begin_direct(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_armed(script, n, &part);
    rig->timeout_ms = TIMEOUT_MS;
    return rig;
}

static struct rig *begin_debugged(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_fresh(script, n);
    rig->model.limit = 0;
    rig->before = rig->model;
    model_debugger_init(&attached, &rig->model);
    assert_true(begin(rig));
    assert_true(rig_arm(rig, &part));
    rig->deadline = deadline_in_ms(3600000, &rig->model.cancelled);
    rig->timeout_ms = TIMEOUT_MS;
    return rig;
}

SLOW_TEST(rehits_through_a_slow_debugger_take_no_time_of_the_region)
{
    struct rig *rig = begin_debugged(to_end, COUNT(to_end));
    attached.answer_us = SLOW_US;
    assert_string_equal(rig_run(rig, 3, 10) ? "" : rig->error.text, "");
    assert_int_equal(rig->n_hits, 3);
    assert_int_equal(rig->n_rehits, 20);
}

SLOW_TEST(a_long_list_through_a_slow_link_takes_no_time_of_the_region)
{
    struct rig *rig = begin_direct(to_end, COUNT(to_end));
    rig->model.steps_a_call = 20;
    call_us = SLOW_US;
    assert_string_equal(rig_run(rig, 3, 10) ? "" : rig->error.text, "");
    assert_int_equal(rig->n_hits, 3);
    assert_int_equal(rig->n_rehits, 20);
    rig_end_clean(rig);
}

SLOW_TEST(a_target_that_refuses_is_given_up_where_the_core_stands_too)
{
    for (int back = 2; back < 40; back++) {
        struct rig *rig = rig_armed(to_end, COUNT(to_end), &whole);
        rig->timeout_ms = TIMEOUT_MS;
        rig->model.trouble_at = rig->model.accesses + back;
        rig->model.trouble_for = 1000000;
        rig->model.what = TROUBLE_WAIT;
        call_us = SLOW_US;
        assert_false(rig_run(rig, 3, 0));
        assert_false(rig->model.hung);
        call_us = 0;
        rig->model.trouble_for = 0;
        end();
    }
}

/* As by Ctrl-Z, once, while the engine waits. */
static bool paused;

static void pause_once(void *context, enum engine_wait wait)
{
    (void)context;
    (void)wait;
    gone_us += paused ? 0 : PAUSE_S * INT64_C(1000000);
    paused = true;
}

static bool run_paused(struct rig *rig)
{
    const struct engine_sink sink = {.context = rig, .hit = rig_hit, .rehit = rig_rehit, .tick = pause_once};
    const struct engine_request request = {.hits = 2, .timeout_ms = PAUSE_S * 1000 - 2000};
    paused = false;
    return rig->engine->ops->run(rig->engine, &request, &sink, &rig->deadline, &rig->error);
}

SLOW_TEST(a_pause_of_the_tool_is_no_time_of_the_region)
{
    static const struct model_event later[] = {
        {.cycles = 50000, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.cycles = 1000, .grow = 7, .pc = 0x1100, .sp = 0x20007F00, .lr = 0x2005},
    };
    for (int i = 0; i < 2; i++) {
        struct rig *rig = i == 0 ? begin_direct(later, COUNT(later)) : begin_debugged(later, COUNT(later));
        assert_string_equal(run_paused(rig) ? "" : rig->error.text, "");
        assert_true(paused);
        assert_int_equal(rig->n_hits, 2);
        end();
    }
}

SLOW_TEST(what_is_never_reached_ends_however_slow_the_link)
{
    static const struct region nowhere = {.start = 0x1200, .end = 0x1100};
    for (int i = 0; i < 2; i++) {
        struct rig *rig =
            i == 0 ? begin_direct(to_end, COUNT(to_end)) : begin_debugged(to_end, COUNT(to_end));
        rig->model.limit = 0;
        rig->model.steps_a_call = 20;
        call_us = i == 0 ? SLOW_US : 0;
        attached.answer_us = SLOW_US;
        assert_true(rig_arm(rig, &nowhere));
        assert_fails(rig_run(rig, 2, 10), &rig->error, ERROR_START, "");
        end();
    }
}
