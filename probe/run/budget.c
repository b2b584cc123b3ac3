/* SPDX-License-Identifier: MIT */
#include "run/budget.h"

#include "base/values.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two accesses at 10 MHz SWD are some 10 us apart. */
enum { SLOW_HZ = 4000000, TRIAL_EVENTS = 1000, TRIAL_MS = 300 };

bool budget_run_read(struct budget_run *run, const char *text, struct error *error)
{
    static const char such_as[] = "Such as --budget 40us, 1200 or \"10 L1D_CACHE_REFILL\".";
    size_t n = 0;
    if (text == NULL)
        return error_advise(error, ERROR_USAGE, such_as, "guard needs --budget: what a call may use");
    if (!value_budget(text, &run->wanted))
        return error_advise(error, ERROR_USAGE, such_as,
                            "--budget takes cycles, a time or a number and an event; got \"%.64s\"", text);
    if (strpbrk(run->wanted.event, "{,") != NULL)
        return error_set(error, ERROR_USAGE, "--budget is of one event, not %.64s", run->wanted.event);
    run->budget = run->wanted.events;
    return event_requests_parse(run->wanted.event, &run->event, 1, &n, error);
}

static bool find_budget(struct budget_run *run, struct error *error)
{
    double events = ceil(run->wanted.seconds * run->clock.hz - 1e-6);
    if (!(run->wanted.seconds > 0))
        return true;
    if (!(run->clock.hz > 0))
        return error_advise(error, ERROR_USAGE, "Give --freq HZ, or the budget in cycles.",
                            "a budget in time needs a known clock%s%s",
                            run->clock.doubt[0] != '\0' ? "; " : "", run->clock.doubt);
    if (!(events <= (double)INT32_MAX))
        return error_advise(error, ERROR_USAGE, "", "%g cycles are too many for one counter", events);
    run->budget = (uint64_t)events;
    return true;
}

static bool guard_try_block(void *context, const char *name, unsigned number, struct error *error)
{
    struct budget_run *run = context;
    struct budget_way *way = &run->ways[number];
    struct session *session = run->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    struct counter_pick pick;
    bool proved;
    if (!device_take_block(device, name, &deadline, error) ||
        !event_stop_find(device, &run->event, &pick, run->errata, error) ||
        !trial_counter(session, &run->clock, &run->seen_hz, error) || !find_budget(run, error))
        return false;
    way->n_picks = counter_stop_choose(device->block, &pick, guard_most(run->budget), way->picks, error);
    if (way->n_picks == 0 || !device_program(device, way->picks, way->n_picks, &deadline, error) ||
        !counter_stop_take(&way->stop, device, way->picks, way->n_picks, &deadline, error))
        return false;
    if (run->budget > way->stop.most)
        return error_advise(error, ERROR_NO_COUNTER, "",
                            "the counter can be armed for %" PRIu64 " %s at most", way->stop.most, pick.name);
    run->way = way;
    return counter_stop_prove(&way->stop, run->budget < TRIAL_EVENTS ? run->budget : TRIAL_EVENTS, TRIAL_MS,
                              &proved, &deadline, error);
}

static bool guard_take_stop(struct budget_run *run, struct error *error)
{
    if (event_stop_take(&run->session->device.chosen->core, &run->event, guard_try_block, run, error))
        return true;
    if (error->kind == ERROR_NO_COUNTER) {
        error_prefix(error, "nothing can stop this core at the budget: ");
        error->advice = error->advice != NULL ? error->advice : "";
    }
    return false;
}

static bool take_watched_stop(struct budget_run *run, struct error *error)
{
    struct error why = {0}, watched = {0};
    if (guard_take_stop(run, &why))
        return true;
    if (!own_code_watch(run->session, &why))
        return error_copy(error, &why);
    if (guard_take_stop(run, &watched))
        return true;
    /* What the program writes may be why the stop cannot be proved */
    bool no_better = error_is_written(&watched) || watched.kind == ERROR_NO_COUNTER;
    return error_copy(error, no_better ? &why : &watched);
}

static bool budget_run_take(struct budget_run *run, struct error *error)
{
    struct session *session = run->session;
    own_code_measured(session, &run->named, true);
    session->device.sees_exceptions = true;
    return session_take_core(session, session->request->resume, error) && take_watched_stop(run, error) &&
           stack_reader_open(&run->stacks, &session->device, (struct stack_stop){.counter = &run->way->stop},
                             session->symbols, error);
}

static bool budget_run_engine(void *context, struct engine *engine, const struct deadline *deadline,
                              struct error *error)
{
    struct budget_run *run = context;
    const struct request *request = run->session->request;
    run->session->device.slow_clock = run->clock.hz > 0 && run->clock.hz < SLOW_HZ;
    run->guard = (struct guard){.engine = engine,
                                .plausible = plausible_begin(&run->session->device.reading,
                                                             run->session->device.block->counts_cycles,
                                                             &run->clock, run->seen_hz),
                                .stop = &run->way->stop,
                                .n_picks = run->way->n_picks,
                                .stacks = &run->stacks,
                                .options = {.budget = run->budget,
                                            .overruns = request->hits > 0 ? request->hits : 1,
                                            .keep = request->keep,
                                            .calibrate = !request->no_calibrate,
                                            .low = run->named.region.low,
                                            .high = run->named.region.high,
                                            .for_us = (int64_t)(request->for_s * 1e6),
                                            .timeout_ms = (int64_t)(request->timeout_s * 1000)},
                                .sink = run->sink};
    if (!engine->ops->arm(engine, &run->named.region, deadline, error))
        return false;
    session_conditions(run->session, &run->clock, run->conditions);
    conditions_add_note(run->conditions, or_empty(engine->unproved));
    region_describe(&run->named, run->conditions);
    conditions_add_note(run->conditions, run->named.start.note);
    bool ok = run->begin(run->context, error) && guard_run(&run->guard, deadline, error);
    snprintf(run->doubt, sizeof run->doubt, "%s", engine->doubt);
    own_code_doubt(run->session, &run->named.region, run->doubt);
    progress_clear(run->progress);
    return ok;
}

bool budget_run_find(struct budget_run *run, const char *function, struct error *error)
{
    return region_find(&run->named, run->session, function, NULL, error);
}

bool budget_run_measure(struct budget_run *run, struct error *error)
{
    struct session *session = run->session;
    bool ok = program_check_region(session, &run->named, error) &&
              (device_has_run_control(&session->device) ||
               device_refuse_debugger("guard", "; delta works here", error)) &&
              budget_run_take(run, error) && engine_use_once(session, budget_run_engine, run, error);
    stack_reader_close(&run->stacks);
    return ok;
}

bool budget_run_is_misjudged(const struct budget_run *run)
{
    const struct guard_result *result = &run->guard.result;
    bool over = guard_is_over(result); /* a counter that stops says too little */
    return run->wanted.seconds > 0 && run->session->clock.change[0] != '\0' &&
           !(over && run->session->clock.stops);
}
