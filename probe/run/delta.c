/* SPDX-License-Identifier: MIT */
#include "run/delta.h"

#include "base/values.h"
#include "engine/engine.h"
#include "engine/trace_engine.h"
#include "measure/verdict.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/tasks.h"
#include "run/trial.h"
#include "symbols/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a run that ends when it is precise enough, unless the user says other limits. */
static const double precise_s = 60;

bool delta_run_find(struct delta_run *run, const char *start, const char *end, struct error *error)
{
    struct session *session = run->session;
    return counting_check_tick(session, error) && slowest_open(&run->slowest, session, error) &&
           region_find(&run->named, session, start, end, error);
}

/* Over all passes, with those before that do not count; 0: without a limit. */
static uint64_t wanted_hits(const struct delta_run *run)
{
    const struct request *request = run->session->request;
    return request->hits > 0 ? request->hits * run->counting.plan->n_passes + request->warmup : 0;
}

/* So far: a run that ends when it is precise enough needs it with each hit. */
static void take_calls(struct summary *summary, const struct trace_calls *calls)
{
    uint64_t all = calls->seen + calls->gaps;
    summary->calls = (struct summary_calls){calls->seen,     calls->exact, calls->late,     calls->together,
                                            calls->unproved, calls->lost,  calls->unpaired, calls->gaps,
                                            calls->bounded,  calls->least, calls->most,     calls->longest};
    summary->columns[0].left_out = (struct left_out){.all = all,
                                                     .bounded = calls->bounded,
                                                     .unbounded = all - calls->exact - calls->bounded,
                                                     .least = calls->least,
                                                     .most = calls->most,
                                                     .longest = calls->longest};
}

static void delta_on_hit(void *context, const struct hit_result *hit)
{
    struct delta_run *run = context;
    if (run->by_trace != NULL)
        take_calls(&run->summary, trace_engine_calls(run->by_trace));
    run->hit(run->context, hit);
    progress_count(run->progress, hit->number, wanted_hits(run), "hits", "");
}

static void delta_on_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    struct delta_run *run = context;
    const char *name = run->named.start.name;
    char state[sizeof run->named.start.name + 16];
    snprintf(state, sizeof state, "waiting for %s", name[0] != '\0' ? name : "the start");
    progress_count(run->progress, hits, wanted_hits(run), "hits", wait == WAIT_END ? "in the region" : state);
}

static bool on_slow_hit(void *context, size_t slot, struct error *error)
{
    const struct delta_run *run = context;
    return slowest_read(run->slowest, slot, error);
}

static void delta_describe_region(const struct delta_run *run)
{
    struct conditions *conditions = run->conditions;
    region_describe(&run->named, conditions);
    process_note(&run->named.region.process, conditions->note, sizeof conditions->note);
    conditions_add_note(conditions, run->named.start.note);
    if (run->named.region.to_return && strcmp(run->named.start.name, "main") == 0)
        conditions_add_note(conditions,
                            "main is entered once: delta --reset Reset_Handler main measures the way to it");
    if (run->session->request->reset)
        conditions_add_note(conditions, "after a reset for each hit");
}

/* After a reset the clock is not yet what it will be: the program sets it up, often in the middle of the
 * region. */
static bool clock_of_boot(struct session *session, struct clock *clock, struct error *error)
{
    if (session->request->freq_hz > 0)
        return trial_clock(session, clock, error);
    *clock = clock_unknown(core_fastest_hz(&session->device.chosen->core));
    return true;
}

/* No other counter is tried. */
static bool check_writes_of_boot(struct session *session, struct error *error)
{
    session->measured.watches = session->measured.may_watch;
    return own_code_check(session, error);
}

/* What a run is measured with, once its counter is taken. */
struct trial {
    struct delta_run *run;
    const struct clock *clock;
    double seen_hz;
    bool sees_tasks; /* by trace: an end belongs to the start of its task */
};

static struct delta_options delta_options_for(const struct trial *trial)
{
    const struct delta_run *run = trial->run;
    const struct request *request = run->session->request;
    bool limited = request->hits > 0 || request->for_s > 0;
    bool own = request->precision > 0 || limited || request->reset;
    double precision = own ? request->precision : precision_for(run->threshold);
    bool precise = precision > 0;
    struct delta_options wanted = {
        .hits = request->reset && !precise && request->hits == 0 ? 1 : request->hits,
        .for_us = (int64_t)((precise && !limited ? precise_s : request->for_s) * 1e6),
        .warmup = request->warmup,
        .precision = precision,
        .timeout_ms = (int64_t)(request->timeout_s * 1000),
        .calibrate = !request->no_calibrate && !request->no_halt,
        .clock = *trial->clock,
        .seen_hz = trial->seen_hz,
        .apart = request->reset,
        .times_halts = !request->reset && !request->no_halt,
        .is_round = !run->named.region.to_return && run->named.region.start == run->named.region.end,
        .plan = run->counting.plan,
        .at_end = run->counting.at_end.n > 0 ? &run->counting.at_end : NULL,
        .slow_hits = slowest_hits(run->slowest)};
    if (!request->reset)
        wanted.evidence = run->counting.evidence;
    return wanted;
}

static void take_all_calls(struct delta_run *run, const struct trace_calls *calls, bool sees_tasks)
{
    static const double most = 0.1;
    struct summary *summary = &run->summary;
    take_calls(summary, calls);
    double share = calls_left_out(&summary->calls);
    struct column *cycles = &summary->columns[0];
    cycles->calibrated = true;
    cycles->plus_minus = 0;
    if (calls->unpaired > 0 && !sees_tasks)
        doubt_add(summary->doubt, "calls overlap, and no word shows the task (--task)");
    if (summary->n == 0 || share <= most)
        return;
    snprintf(cycles->unsupported, sizeof cycles->unsupported,
             "no mean: %.3g %% of the calls are left out, unlike the others", 100 * share);
    summary->precise = INFINITY;
}

static bool delta_run_engine(void *context, struct engine *engine, const struct deadline *deadline,
                             struct error *error)
{
    const struct trial *trial = context;
    struct delta_run *run = trial->run;
    struct session *session = run->session;
    const struct delta_options wanted = delta_options_for(trial);
    const struct delta_sink sink = {
        .context = run, .hit = delta_on_hit, .tick = delta_on_tick, .slow_hit = on_slow_hit};
    session->device.slow_clock = clock_is_slow(trial->clock);
    if (!slowest_begin(run->slowest, session, &run->named.region, engine, error) ||
        !engine->ops->arm(engine, &run->named.region, deadline, error))
        return false;
    session_conditions(session, trial->clock, run->conditions);
    delta_describe_region(run);
    conditions_add_note(run->conditions, or_empty(engine->unproved)); /* which is known only now */
    bool ok = run->begin(run->context, error) &&
              delta_measure(engine, &session->device, &wanted, &sink, &run->summary, deadline, error);
    progress_clear(run->progress);
    own_code_doubt(session, &run->named.region, run->summary.doubt);
    if (run->by_trace != NULL)
        take_all_calls(run, trace_engine_calls(run->by_trace), trial->sees_tasks);
    run->by_trace = NULL;
    return ok;
}

/* With the counter that the session has taken. */
static bool measure_once(struct delta_run *run, const struct clock *clock, double seen_hz,
                         struct error *error)
{
    struct session *session = run->session;
    bool resets = session->request->reset;
    struct trial trial = {.run = run, .clock = clock, .seen_hz = seen_hz};
    session->device.sees_exceptions = true;
    if (!counting_open(&run->counting, session, clock, error) ||
        !counting_words(&run->counting, session, &run->summary.at_max, error))
        return false;
    if (resets && (!reset_engine_check(&session->device, &run->named.region, error) ||
                   !check_writes_of_boot(session, error)))
        return false;
    struct engine *engine = session_engine(session, error);
    if (resets)
        engine = reset_engine_new(&session->device, engine);
    if (engine == NULL)
        return error_memory(error);
    engine->keeps_end = !resets;
    bool ok = engine_use_this(session, engine, delta_run_engine, &trial, error);
    run->summary.slept = session->device.slept;
    return ok;
}

/* If something else writes the counter, measures once more with another one. */
static bool delta_measure_checked(struct delta_run *run, struct error *error)
{
    struct session *session = run->session;
    struct clock clock;
    struct error why = {0};
    double seen_hz = 0;
    own_code_measured(session, &run->named, true);
    if (session->request->reset)
        return clock_of_boot(session, &clock, error) && measure_once(run, &clock, seen_hz, error);
    if (!trial_run(session, &clock, &seen_hz, error))
        return false;
    if (measure_once(run, &clock, seen_hz, &why))
        return true;
    if (why.kind != ERROR_WRITTEN || run->hits_are_final ||
        !trial_other(session, &why, &clock, &seen_hz, error))
        return error_copy(error, &why);
    summary_free(&run->summary);
    counting_close(&run->counting);
    run->summary = (struct summary){0};
    return measure_once(run, &clock, seen_hz, error);
}

/* ---- without a halt */

/* The function's return instructions. */
static bool find_ends(const struct delta_run *run, struct trace_engine_setup *out, struct error *error)
{
    const struct location *at = &run->named.start;
    struct listing listing;
    char place[256];
    if (!listing_make(run->session->symbols, at->low, at->high, &listing, error))
        return false;
    size_t n = 0;
    const struct listing_row *odd = NULL, *again = NULL;
    for (size_t i = 0; i < listing.n; i++) {
        const struct listing_row *row = &listing.rows[i];
        bool inside = row->target >= at->low && row->target < at->high;
        bool leaves = !row->is_data && ((row->flow == FLOW_TO && !inside) ||
                                        (row->flow == FLOW_AWAY && !row->calls && !row->by_table));
        bool returns = !row->is_data && row->flow == FLOW_RETURN;
        if (leaves || (returns && row->in_it))
            odd = row;
        if (!row->is_data && row->flow == FLOW_TO && row->target == at->low)
            again = row;
        if (returns && n++ < TRACE_ENDS)
            out->ends[n - 1] = row->address;
    }
    out->n_ends = n;
    session_place(run->session,
                  odd != NULL     ? odd->address
                  : again != NULL ? again->address
                                  : 0,
                  place, sizeof place);
    bool in_it = odd != NULL && odd->in_it;
    listing_free(&listing);
    if (odd == NULL && again == NULL && n > 0)
        return true;
    if (odd == NULL && again != NULL)
        return error_advise(error, ERROR_USAGE, trace_engine_advice,
                            "%.80s jumps to its own start at %s: trace does not show which start is a call",
                            at->name, place);
    return error_advise(error, ERROR_USAGE, "delta START END --no-halt takes two instructions instead.",
                        odd == NULL ? "%.80s has no return instruction%s"
                        : in_it
                            ? "%.80s may return by %s, on a condition that trace does not show"
                            : "%.80s may end by a jump to another function at %s, whose return is not known",
                        at->name, odd == NULL ? "" : place);
}

#define SWITCHES " switches tasks: the task may not show which start an end belongs to"

/* Code that switches tasks itself begins in one and ends in another; what it calls may do so, or may change
 * the stack, too, and return much later. */
static void look_for_switches(const struct delta_run *run, struct trace_engine_setup *setup)
{
    const struct session *session = run->session;
    const struct location *at = &run->named.start;
    uint64_t stores[DEVICE_CHANGES];
    size_t n = symbols_stores_to(session->symbols, setup->task, stores, DEVICE_CHANGES), which;
    n = n < DEVICE_CHANGES ? n : DEVICE_CHANGES;
    if (n == 0 || !symbols_reach(session->symbols, &session->measured.inside, 1, stores, n, &which))
        return;
    setup->doubt = "what it calls" SWITCHES;
    if (stores[which] < at->low || stores[which] >= at->high)
        return;
    setup->doubt = "it" SWITCHES;
    setup->task = 0;
}

static bool take_for_trace(struct delta_run *run, struct trace_engine_setup *setup, struct error *error)
{
    struct session *session = run->session;
    struct deadline deadline = session_deadline(session);
    const struct region *region = &run->named.region;
    struct trace trace = {0};
    *setup = (struct trace_engine_setup){.sink = session->request->trace, .baud = session->request->swo_baud};
    if (!trial_trace_ring(session, &setup->ring_base, &setup->ring_bytes, error) ||
        !trace_can(&trace, &session->device, true, &deadline, error) ||
        (region->to_return && !find_ends(run, setup, error)) || !session_take_core(session, false, error))
        return false;
    bool is_round = !region->to_return && region->start == region->end;
    /* Only now does the DWT show what it has */
    if (!device_take_block(&session->device, "dwt", &deadline, error) ||
        !trace_can(&trace, &session->device, true, &deadline, error))
        return false;
    struct tasks tasks = {0};
    unsigned core = session->request->core > 0 ? (unsigned)session->request->core : 0;
    if (!tasks_find(&tasks, session->symbols, session->request->task, core, &setup->task, error))
        return false;
    if (setup->task != 0)
        look_for_switches(run, setup);
    const struct location *at = &run->named.start;
    setup->nests = region->to_return &&
                   symbols_nests(session->symbols, &(struct extent){.low = at->low, .high = at->high});
    size_t needed = 1 + (region->to_return ? setup->n_ends : !is_round);
    if (needed <= trace.n_free)
        return true;
    return error_advise(
        error, ERROR_NO_COMPARATOR,
        "delta START END --no-halt takes two; without --no-halt delta takes one at a time.",
        "start and ends take %zu comparators of the DWT, and %zu of %zu are free and emit trace", needed,
        trace.n_free, trace.n_comparators);
}

static bool measure_by_trace(struct delta_run *run, struct error *error)
{
    struct session *session = run->session;
    struct device *device = &session->device;
    struct clock clock;
    struct trace_engine_setup setup;
    double seen_hz = 0;
    device->looks_only = true;
    own_code_measured(session, &run->named, false);
    if (!take_for_trace(run, &setup, error) || !trial_counter(session, &clock, &seen_hz, error) ||
        !trial_trace_clock(session, &clock, &setup.clock_hz, error))
        return false;
    device->block->counters[0].bits = 64; /* sums of timestamps; CYCCNT itself is read no more */
    snprintf(device->block->text, sizeof device->block->text, "DWT trace, 64 bits");
    struct trial trial = {.run = run, .clock = &clock, .seen_hz = seen_hz, .sees_tasks = setup.task != 0};
    if (!counting_open(&run->counting, session, &clock, error))
        return false;
    setup.context = run->context;
    setup.stay = run->stay;
    setup.lost = run->lost;
    setup.clock_is_measured = clock.error_hz > 0;
    struct engine *engine = trace_engine_new(device, &setup);
    if (engine == NULL)
        return error_memory(error);
    run->by_trace = engine;
    bool ok = engine_use_this(session, engine, delta_run_engine, &trial, error);
    run->summary.slept = device->slept;
    return ok;
}

bool delta_run_measure(struct delta_run *run, struct error *error)
{
    struct session *session = run->session;
    if (session->request->no_halt)
        return program_check_region(session, &run->named, error) && measure_by_trace(run, error);
    return program_check_region(session, &run->named, error) && session_check_run_control(session, error) &&
           session_take(session, error) && delta_measure_checked(run, error);
}

bool delta_run_has_result(const struct delta_run *run, const struct error *why)
{
    const struct summary *summary = &run->summary;
    return summary->n > 0 && program_is_proved(run->session, &run->named.region) &&
           (why->kind == ERROR_NONE ||
            (summary->hits > 0 && why->kind != ERROR_NO_COUNTER && why->kind != ERROR_WRITTEN));
}

void delta_run_end(struct delta_run *run)
{
    struct summary *summary = &run->summary;
    counting_summary(&run->counting, run->conditions->clock_hz, summary);
    summary->conditions = *run->conditions;
    if (summary->slept || summary->conditions.clock_change[0] != '\0')
        summary->halts.us = 0;
    if (run->counting.evidence.wants_clock && summary->columns[0].at_least > 0)
        snprintf(summary->advice, sizeof summary->advice,
                 "--freq HZ lets the RP2040's timer count beyond a period of SysTick");
}

void delta_run_free(struct delta_run *run)
{
    slowest_close(run->slowest);
    summary_free(&run->summary);
    counting_close(&run->counting);
}
