/* SPDX-License-Identifier: MIT */
#include "run/lines.h"

#include "base/values.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/trial.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 100, CALLS_US = 2000000 };

/* --- the function's code -------------------------------------------------------------------------------- */

/* At the function's entry the stack pointer is the call's. */
static struct walk_frame lines_frame_at(const struct lines_run *run, uint64_t place, bool *is_unframed)
{
    struct frame_base at_start, at_end;
    uint64_t entry = run->named.start.low;
    if (place == entry)
        return (struct walk_frame){.known = true, .base = CORE_SP};
    enum frames frames = symbols_frames(run->session->symbols, entry, place, &at_start, &at_end);
    *is_unframed = *is_unframed || frames == FRAMES_UNKNOWN;
    if ((frames != FRAMES_KNOWN && frames != FRAMES_KNOWN_ONE) || !at_start.is_sp)
        return (struct walk_frame){.known = false};
    return (struct walk_frame){
        .known = true,
        .base = at_end.is_sp ? CORE_SP : (enum core_register)(CORE_R0 + at_end.number),
        .apart = at_start.offset - at_end.offset,
    };
}

static bool lines_find_joins(struct lines_run *run, struct error *error)
{
    const struct extent function = {run->named.start.low, run->named.start.high};
    size_t n = symbols_joins(run->session->symbols, &function, run->listing.joins, LISTING_JOINS);
    run->listing.n_joins = n < LISTING_JOINS ? n : LISTING_JOINS;
    return n <= LISTING_JOINS ||
           error_advise(
               error, ERROR_ELF, "",
               "other code jumps to more than %d places of this function: its lines cannot be followed",
               LISTING_JOINS);
}

static bool lines_read_code(struct lines_run *run, struct error *error)
{
    const struct location *at = &run->named.start;
    if (!listing_make(run->session->symbols, at->low, at->high, &run->listing, error) ||
        !lines_find_joins(run, error) || !blocks_make(&run->listing, &run->blocks, error)) {
        const char *advice = symbols_lines_advice(run->session->symbols);
        error->advice = advice != NULL ? advice : error->advice;
        return false;
    }
    run->texts = calloc(run->listing.file_count + 1, sizeof *run->texts);
    run->walk = calloc(run->blocks.n + 1, sizeof *run->walk);
    bool ok = run->texts != NULL && run->walk != NULL;
    for (size_t i = 0; ok && i < run->listing.file_count; i++)
        ok = source_text_read(run->listing.files[i], &run->texts[i]);
    for (size_t i = 0; ok && i < run->blocks.n; i++) {
        struct code_block *block = &run->blocks.at[i];
        struct inlined_frame inlined;
        block->is_inlined = symbols_inlined(run->session->symbols, block->low, &inlined, 1) > 0;
        run->walk[i] = (struct walk_block){.low = block->low,
                                           .last = block->last,
                                           .high = block->high,
                                           .n_next = block->n_next,
                                           .returns = block->returns,
                                           .leaves = block->leaves,
                                           .is_open = block->is_open,
                                           .calls_away = block->calls_away,
                                           .is_held = block->is_held,
                                           .is_thumb = block->is_thumb};
        for (unsigned next = 0; next < block->n_next; next++)
            run->walk[i].next[next] = block->next[next];
        run->walk[i].at_low = lines_frame_at(run, block->low, &block->is_unframed);
        run->walk[i].at_last = lines_frame_at(run, block->last, &block->is_unframed);
    }
    return ok || error_memory(error);
}

/* --- the measurements ----------------------------------------------------------------------------------- */

static bool lines_is_enough(const struct lines_run *run, uint64_t calls, int64_t begun_us)
{
    const struct request *request = run->session->request;
    int64_t for_us = request->for_s > 0 ? (int64_t)(request->for_s * 1e6 / 2) : CALLS_US;
    bool over = begun_us > 0 && deadline_now_us() - begun_us >= for_us;
    if (request->hits > 0)
        return calls >= request->hits || (request->for_s > 0 && over);
    return over || (request->for_s <= 0 && calls >= CALLS);
}

static bool on_hop(void *context, const struct walk_hop *hop)
{
    struct lines_run *run = context;
    uint64_t us = us_between(hop->before_us, hop->after_us);
    if (run->begun_us == 0)
        run->begun_us = deadline_now_us();
    if (run->written.kind != ERROR_NONE ||
        !plausible_span(&run->plausible, hop->readings[0], hop->readings[1], us, hop->pairs, &run->written))
        return false;
    line_costs_hop(&run->costs, hop);
    uint64_t hops = run->costs.hops + run->costs.hops_now;
    progress_show(run->progress, "%" PRIu64 " call%s, %" PRIu64 " step%s", run->costs.calls,
                  PLURAL(run->costs.calls), hops, PLURAL(hops));
    return !lines_is_enough(run, run->costs.calls, run->begun_us);
}

static void lines_on_left(void *context, const struct raw_hit *hit)
{
    struct lines_run *run = context;
    (void)hit;
    line_costs_left(&run->costs);
}

static void on_wait(void *context, enum engine_wait wait)
{
    struct lines_run *run = context;
    progress_show(run->progress, wait == WAIT_START ? "waiting for a call" : "waiting for the next line");
}

static bool no_more(void *context, const struct raw_hit *hit)
{
    (void)context;
    (void)hit;
    return false;
}

static void lines_on_rehit(void *context, const struct raw_hit *rehit)
{
    halt_cost_rehit(&((struct lines_run *)context)->halts, rehit);
}

static void on_whole_hit(void *context, const struct hit_result *hit)
{
    struct lines_run *run = context;
    progress_show(run->progress, "the whole function: %" PRIu64 " hits", hit->number);
}

static void on_whole_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    (void)hits;
    on_wait(context, wait);
}

static bool can_walk(const struct engine *engine, struct error *error)
{
    return engine->ops->walk != NULL ||
           error_set(error, ERROR_USAGE, "lines needs the debug registers, which a debugger has here");
}

static int64_t timeout_of(const struct lines_run *run)
{
    return (int64_t)(run->session->request->timeout_s * 1000);
}

/* What a halt costs, at both ends of one call. */
static bool measure_halts(void *context, struct engine *engine, const struct deadline *deadline,
                          struct error *error)
{
    struct lines_run *run = context;
    const struct engine_sink sink = {
        .context = run, .hit = no_more, .rehit = lines_on_rehit, .tick = on_wait};
    const struct engine_request request = {.hits = 1, .rehits = ENGINE_REHITS, .timeout_ms = timeout_of(run)};
    halt_cost_begin(&run->halts, &run->session->device, &run->clock);
    bool ok = can_walk(engine, error) && engine->ops->arm(engine, &run->named.region, deadline, error) &&
              engine->ops->run(engine, &request, &sink, deadline, error);
    halt_cost_end(&run->halts);
    return ok;
}

static bool measure_whole(void *context, struct engine *engine, const struct deadline *deadline,
                          struct error *error)
{
    struct lines_run *run = context;
    const struct request *request = run->session->request;
    const struct delta_options wanted = {.hits = request->hits,
                                         .for_us = (int64_t)(request->for_s * 1e6 / 2),
                                         .timeout_ms = timeout_of(run),
                                         .calibrate = true,
                                         .clock = run->clock,
                                         .evidence = run->counting.evidence,
                                         .plan = run->counting.plan};
    const struct delta_sink sink = {.context = run, .hit = on_whole_hit, .tick = on_whole_tick};
    return engine->ops->arm(engine, &run->named.region, deadline, error) &&
           delta_measure(engine, &run->session->device, &wanted, &sink, &run->whole, deadline, error);
}

static bool walk_lines(void *context, struct engine *engine, const struct deadline *deadline,
                       struct error *error)
{
    struct lines_run *run = context;
    const struct engine_sink sink = {.context = run, .left = lines_on_left, .tick = on_wait};
    const struct engine_walk walk = {.region = &run->named.region,
                                     .blocks = run->walk,
                                     .n = run->blocks.n,
                                     .joins = run->listing.joins,
                                     .n_joins = run->listing.n_joins,
                                     .timeout_ms = timeout_of(run),
                                     .context = run,
                                     .hop = on_hop,
                                     .sink = &sink};
    bool ok = engine->ops->walk(engine, &walk, deadline, error);
    snprintf(run->limit, sizeof run->limit, "%s", engine->doubt);
    own_code_doubt(run->session, &run->named.region, run->limit);
    return run->written.kind == ERROR_NONE ? ok : error_replace(error, &run->written);
}

static const char *lines_held_note(const struct lines_run *run)
{
    for (size_t i = 0; i < run->blocks.n; i++)
        if (run->blocks.at[i].is_held)
            return "lines from a load-exclusive up to its store count to the line of the load: a stop there "
                   "would make the store fail";
    return "";
}

static bool lines_measure(struct lines_run *run, struct error *error)
{
    struct session *session = run->session;
    struct clock *clock = &run->clock;
    double seen_hz = 0;
    own_code_measured(session, &run->named, false);
    if (!trial_run(session, clock, &seen_hz, error))
        return false;
    if (!session->device.block->counts_cycles && session->device.remote == NULL)
        return error_set(error, ERROR_NO_COUNTER, "lines counts cycles, and the counter of %s does not",
                         session->device.block->text);
    session->device.sees_exceptions = true;
    if (!counting_open(&run->counting, session, clock, error))
        return false;
    session->device.slow_clock = clock_is_slow(clock);
    session_conditions(session, clock, run->conditions);
    run->plausible =
        plausible_begin(&session->device.reading, session->device.block->counts_cycles, clock, seen_hz);
    region_describe(&run->named, run->conditions);
    conditions_add_note(run->conditions, run->named.start.note);
    conditions_add_note(run->conditions, lines_held_note(run));
    if (!run->begin(run->context, error))
        return false;
    if (!line_costs_begin(&run->costs, &run->blocks, &run->halts))
        return error_memory(error);
    return engine_use_once(session, measure_halts, run, error) &&
           engine_use_once(session, walk_lines, run, error) &&
           engine_use_once(session, measure_whole, run, error);
}

bool lines_run_find(struct lines_run *run, const char *function, struct error *error)
{
    return region_find(&run->named, run->session, function, NULL, error) && lines_read_code(run, error);
}

bool lines_run_measure(struct lines_run *run, struct error *error)
{
    struct session *session = run->session;
    bool ok = program_check_region(session, &run->named, error) &&
              session_check_run_control(session, error) && session_take(session, error) &&
              lines_measure(run, error);
    progress_clear(run->progress);
    return ok;
}

void lines_run_free(struct lines_run *run)
{
    summary_free(&run->whole);
    line_costs_free(&run->costs);
    counting_close(&run->counting);
    for (size_t i = 0; run->texts != NULL && i < run->listing.file_count; i++)
        source_text_free(&run->texts[i]);
    free(run->texts);
    free(run->walk);
    blocks_free(&run->blocks);
    listing_free(&run->listing);
}
