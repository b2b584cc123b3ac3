/*
 * The debugger engine through a modelled debugger: every kind of region, calibration if the debugger
 * stops again and where it does not, and stops that are not ours.
 */
#include "rig_debugged.h"
#include "scenes.h"

static void begin_armed(struct rig *rig, const struct region *region)
{
    assert_true(begin(rig));
    assert_true(rig_arm(rig, region));
}

static struct rig *begin_fresh(const struct model_event *script, size_t n)
{
    struct rig *rig = rig_fresh(script, n);
    rig->model.cyccnt = 0xFFFFFF00;
    rig->model.limit = 0;
    rig->before = rig->model;
    model_debugger_init(&attached, &rig->model);
    rig->before.dfsr = rig->model.dfsr; /* the debugger's own doing */
    return rig;
}

static struct rig *begin_scene(size_t scene)
{
    return begin_fresh(scenes[scene].script, scenes[scene].n);
}

/* Puts all back; what is left over is wrong. */
static void end(struct rig *rig, bool halted)
{
    struct error error = {0};
    if (rig->engine != NULL)
        assert_true(rig_undo(rig, &error));
    else
        assert_true(device_undo(&rig->device, &rig->deadline, &error));
    rig_free(rig);
    link_close(attached_link);
    attached_link = NULL;
    assert_true(attached.closed);
    assert_int_equal(attached.closed_run, !halted);
    assert_int_equal(attached.set, 0);
    if (halted)
        return;
    const char *difference = model_difference(&rig->model, &rig->before);
    assert_string_equal(difference == NULL ? "" : difference, "");
}

TIDY_TEST(every_hit_is_exact)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        if (scenes[i].region.start >= MODEL_RAM) /* where such a debugger has no breakpoint */
            continue;
        struct rig *rig = begin_scene(i);
        begin_armed(rig, &scenes[i].region);
        assert_string_equal(rig_run(rig, HITS, 10) ? "" : rig->error.text, "");
        assert_string_equal(rig->engine->uncalibrated, "");
        assert_int_equal(rig->n_rehits, 20);
        for (size_t k = 0; k < rig->n_rehits; k++)
            assert_int_equal(rig->rehits[k], RIG_COST);
        assert_int_equal(rig->n_hits, HITS);
        for (size_t k = 1; k < HITS; k++) /* a step within one costs one more cycle */
            assert_int_equal(rig_work(&rig->hits[k]) - rig_work(&rig->hits[k - 1]), GROW);
        if (rig->hits[0].pairs == 1)
            assert_int_equal((rig_work(&rig->hits[0]) - BASE) % GROW, 0);
        end(rig, false);
    }
}

TIDY_TEST(each_hit_is_looked_at_where_it_ends)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        if (scenes[i].region.start >= MODEL_RAM)
            continue;
        struct rig *rig = begin_scene(i);
        begin_armed(rig, &scenes[i].region);
        rig->looks = true;
        assert_string_equal(rig_run(rig, HITS, 2) ? "" : rig->error.text, "");
        rig_check_seen(rig, false); /* the model knows no r1 */
        end(rig, false);
    }
}

/* It pends while the core is halted and runs at the next resume; a halt does not cost that. */
TIDY_TEST(an_interrupt_is_not_what_a_halt_costs)
{
    enum { REHITS = 6, RESUMES = 2 * (REHITS + 2) };
    size_t left_out = 0;
    for (unsigned at = 1; at <= RESUMES; at++) {
        struct rig *rig = begin_scene(0);
        rig->model.handler = HANDLER;
        attached.pend_at = at;
        begin_armed(rig, &scenes[0].region);
        assert_string_equal(rig_run(rig, 1, REHITS) ? "" : rig->error.text, "");
        for (size_t k = 0; k < rig->n_rehits; k++)
            assert_int_equal(rig->rehits[k], RIG_COST);
        left_out += (size_t)2 * REHITS - rig->n_rehits;
        end(rig, false);
    }
    assert_int_equal(left_out, 2 * REHITS);
}

/* Halts of the debugger's own, of which every second one is a step. */
/* A Cortex-M7's erratum 3092511: it halts in the handler, which has no breakpoint. */
TIDY_TEST(an_interrupt_right_at_the_breakpoint_of_an_m7)
{
    static const struct model_event script[] = {
        {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005, .pended = true},
        {.cycles = 1000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00, .lr = 0x2005},
        {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.cycles = 1000, .grow = 7, .pc = 0x2004, .sp = 0x20007F00, .lr = 0x2005, .pended = true},
    };
    struct rig *rig = begin_fresh(script, COUNT(script));
    model_be_m7(&rig->model);
    model_be_m7(&rig->before);
    begin_armed(rig, &whole);
    assert_string_equal(rig_run(rig, 6, 4) ? "" : rig->error.text, "");
    assert_int_equal(rig->n_hits, 6);
    for (size_t k = 0; k < rig->n_hits; k++) {
        bool at_end = k % 2 == 1;
        assert_int_equal(rig->hits[k].tainted, at_end);
        assert_int_equal(rig->hits[k].pairs, at_end ? 2 : 1);
        assert_int_equal(rig_work(&rig->hits[k]), 1000 + UINT64_C(7) * (k / 2) + (at_end ? HANDLER : 0));
    }
    for (size_t k = 0; k < rig->n_rehits; k++)
        assert_int_equal(rig->rehits[k], RIG_COST);
    end(rig, false);
}

TIDY_TEST(a_return_to_the_secure_state_is_refused_too)
{
    static const struct model_event script[] = {
        {.cycles = 500, .pc = 0x1000, .sp = 0x20007F00, .lr = 0xFEFFFFFF},
        {.cycles = 1000, .pc = 0x2004, .sp = 0x20007F00},
    };
    struct rig *rig = begin_fresh(script, COUNT(script));
    begin_armed(rig, &whole);
    assert_fails(rig_run(rig, 2, 0), &rig->error, ERROR_STATE, "called from the Secure state");
    end(rig, false);
}

TIDY_TEST(halts_on_the_way_are_told)
{
    for (unsigned halts = 0; halts < 6; halts++) {
        struct rig *rig = begin_scene(0);
        attached.halts = halts;
        begin_armed(rig, &scenes[0].region);
        assert_string_equal(rig_run(rig, HITS, 0) ? "" : rig->error.text, "");
        for (size_t k = 0; k < HITS; k++) {
            assert_int_equal(rig->hits[k].pairs, 1 + halts);
            assert_int_equal(rig->hits[k].steps, (halts + 1) / 2);
        }
        attached.halts = 0;
        end(rig, false);
    }
}

TIDY_TEST(code_in_ram_is_refused)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        if (scenes[i].region.start < MODEL_RAM)
            continue;
        struct rig *rig = begin_scene(i);
        assert_true(begin(rig));
        assert_fails(rig_arm(rig, &scenes[i].region), &rig->error, ERROR_ADDRESS, "");
        end(rig, false);
    }
}

/* GDB does: the time of a passage is not the cost of a halt. */
TIDY_TEST(a_debugger_that_steps_over_is_not_calibrated)
{
    struct rig *rig = begin_scene(0);
    attached.steps_over = true;
    begin_armed(rig, &scenes[0].region);
    assert_true(rig_run(rig, HITS, 10));
    assert_int_equal(rig->n_rehits, 0);
    assert_has(rig->engine->uncalibrated, "steps over");
    assert_int_equal(rig->n_hits, HITS);
    for (size_t k = 1; k < HITS; k++)
        assert_int_equal(rig_work(&rig->hits[k]) - rig_work(&rig->hits[k - 1]), GROW);
    end(rig, false);
}

/* With a branch at both ends, or one breakpoint only, nothing shows it. */
TIDY_TEST(why_there_is_no_calibration_is_said)
{
    for (int i = 0; i < 2; i++) {
        struct rig *rig = begin_scene(0);
        if (i == 0)
            for (uint32_t at = 0x1000; at <= 0x1100; at += 0x100)
                model_cell(&rig->before, at)->code = model_cell(&rig->model, at)->code = 0xE7FE;
        attached.room = i == 0 ? 4 : 1;
        begin_armed(rig, &scenes[0].region);
        assert_true(rig_run(rig, HITS, 10));
        assert_int_equal(rig->n_rehits, 0);
        assert_has(rig->engine->uncalibrated, "it is not known whether");
        assert_int_equal(rig->n_hits, HITS);
        end(rig, false);
    }
}

/* Of a thread that reached the breakpoint just before it was moved on: here from the start to the end. */
TIDY_TEST(a_late_stop_is_passed_over)
{
    struct rig *rig = begin_scene(0);
    attached.late_resume = 2;
    attached.late_pc = (uint32_t)scenes[0].region.start;
    begin_armed(rig, &scenes[0].region);
    assert_string_equal(rig_run(rig, HITS, 0) ? "" : rig->error.text, "");
    assert_int_equal(rig->n_hits, HITS);
    for (size_t k = 1; k < HITS; k++)
        assert_int_equal(rig_work(&rig->hits[k]) - rig_work(&rig->hits[k - 1]), GROW);
    assert_int_equal(attached.resumes, 2 * HITS + 1);
    end(rig, false);
}

/* Without a breakpoint. */
TIDY_TEST(another_threads_stop_elsewhere_is_not_ours)
{
    struct rig *rig = begin_scene(0);
    attached.late_resume = 2;
    attached.late_pc = 0x3000;
    begin_armed(rig, &scenes[0].region);
    assert_fails(rig_run(rig, HITS, 0), &rig->error, ERROR_FOREIGN_STOP, "");
    assert_int_equal(rig->engine->stopped_at, 0x3000);
    end(rig, true);
}

TIDY_TEST(a_cancelled_run_is_put_back)
{
    struct rig *rig = begin_scene(0);
    begin_armed(rig, &(struct region){.start = 0x1000, .end = 0x1200});
    rig->model.trouble_at = rig->model.accesses + 2000;
    rig->model.trouble_for = 1;
    rig->model.what = TROUBLE_CANCEL;
    assert_fails(rig_run(rig, 2, 0), &rig->error, ERROR_CANCELLED, "");
    end(rig, false);
}

TIDY_TEST(a_core_that_stood_is_refused_and_stays)
{
    struct rig *rig = begin_scene(0);
    attached.debugger.facts.was_halted = true;
    assert_fails(begin(rig), &rig->error, ERROR_HALTED, "");
    end(rig, true);
    assert_true(rig->model.halted);
}

TIDY_TEST(a_counter_that_goes_on_is_refused)
{
    struct rig *rig = begin_scene(0);
    assert_true(begin(rig));
    attached.counts_on = true;
    assert_fails(rig_arm(rig, &scenes[0].region), &rig->error, ERROR_NO_COUNTER,
                 "goes on while the core is halted");
    attached.counts_on = false;
    end(rig, false);
}

TIDY_TEST(what_ignores_writes_or_emulates_is_refused)
{
    static const char *const words[] = {"does not take", "is an emulator: its"};
    for (size_t i = 0; i < COUNT(words); i++) {
        struct rig *rig = begin_scene(0);
        attached.ignores_writes = i == 0;
        attached.debugger.facts.is_emulator = i == 1;
        assert_fails(begin(rig), &rig->error, ERROR_NO_COUNTER, words[i]);
        end(rig, false);
    }
}

/* --- calls that do not return, and handlers ------------------------------------------------------------- */

enum { CALL = 0x2000, BL = 0xFFFEF7FF };

static const struct model_event left[] = {
    {.cycles = 50, .pc = CALL, .sp = 0x20007F00},
    {.cycles = 5, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = 300, .pc = CALL, .sp = 0x20007F00},
    {.cycles = 5, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
    {.cycles = 200, .pc = CALL, .sp = 0x20007E00},
    {.cycles = 800, .grow = 7, .pc = 0x2004, .sp = 0x20007F00},
};
static const struct region watched = {
    .start = 0x1000, .to_return = true, .low = 0x1000, .high = 0x1080, .may_be_left = true};

TIDY_TEST(a_debugger_with_one_breakpoint_has_its_limit)
{
    struct rig *rig = begin_fresh(left, COUNT(left));
    model_poke(&rig->model, CALL, BL);
    model_poke(&rig->before, CALL, BL);
    attached.room = 1;
    begin_armed(rig, &watched);
    assert_has(rig->engine->doubt, "no second breakpoint");
    assert_true(rig_run(rig, 2, 0));
    end(rig, false);
}

TIDY_TEST(other_frames_and_inner_calls_do_not_begin_the_time_anew)
{
    static const struct model_event frames[] = {
        {.cycles = 50, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x2005},
        {.cycles = 300, .pc = 0x2004, .sp = 0x20007E00},
    };
    static const struct model_event inner[] = {{.cycles = 50, .pc = 0x1000, .sp = 0x20007F00, .lr = 0x1041}};
    for (int i = 0; i < 3; i++) {
        const struct model_event *script = i == 0 ? frames : i == 1 ? inner : left;
        struct rig *rig = begin_fresh(script, i == 0 ? COUNT(frames) : i == 1 ? COUNT(inner) : 3);
        rig->model.loop = i == 0;
        model_poke(&rig->model, CALL, BL);
        model_poke(&rig->before, CALL, BL);
        assert_true(begin(rig));
        rig->timeout_ms = 20;
        assert_true(rig_arm(rig, &watched));
        assert_fails(rig_run(rig, 5, 0), &rig->error, i == 1 ? ERROR_START : ERROR_END,
                     i == 0   ? "in another frame"
                     : i == 1 ? "in the function itself"
                              : "left without returning");
        end(rig, false);
    }
}

/* But the first, which is made where the debugger itself has halted the core, and a server says so. */
TIDY_TEST(each_request_to_go_may_be_lost)
{
    for (size_t i = 0; i < COUNT(scenes); i++) {
        bool lost = true;
        if (scenes[i].region.start >= MODEL_RAM)
            continue;
        for (unsigned n = 2; lost; n++) {
            struct rig *rig = begin_scene(i);
            assert_true(begin(rig));
            attached.lost_resume = attached.resumes + n;
            lost = !rig_arm(rig, &scenes[i].region) || !rig_run(rig, HITS, 2);
            assert_int_equal(rig->error.kind, lost ? ERROR_LINK_LOST : ERROR_NONE);
            end(rig, false);
        }
    }
}
