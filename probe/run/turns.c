/* SPDX-License-Identifier: MIT */
#include "run/turns.h"

#include "base/values.h"
#include "engine/engine.h"
#include "profile/event_sampler.h"
#include "profile/sampler.h"
#include "profile/shares.h"
#include "report/number.h"
#include "run/engine_use.h"
#include "run/program.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FUNCTIONS_MOST = 200000;

static bool has_it(const struct survey_regions *regions, uint64_t start)
{
    for (size_t i = regions->n; i-- > 0;)
        if (regions->at[i].named.region.start == start)
            return true;
    return false;
}

static struct survey_region *survey_regions_add(struct survey_regions *regions, bool of_file,
                                                struct error *error)
{
    if (regions->n == FUNCTIONS_MOST) {
        error_set(error, ERROR_USAGE, "more than %zu %s", FUNCTIONS_MOST,
                  of_file ? "regions: the file must have fewer" : "functions: a narrower pattern is needed");
        return NULL;
    }
    struct survey_region *more = array_grow(regions->at, regions->n + 1, &regions->room, sizeof *more);
    if (more == NULL) {
        error_memory(error);
        return NULL;
    }
    regions->at = more;
    struct survey_region *region = &regions->at[regions->n++];
    *region = (struct survey_region){.seen = false};
    return region;
}

/* What a function does is found in all code of a program: of a large one that takes long. */
static bool regions_go_on(struct survey_regions *regions, struct error *error)
{
    if (regions->progress != NULL)
        progress_show(regions->progress, "reading the program: function %zu", regions->n + 1);
    return regions->cancel == NULL || *regions->cancel == 0 ||
           error_set(error, ERROR_CANCELLED, "interrupted");
}

/* A function that delta would refuse is kept, with the reason. */
static bool survey_regions_add_function(struct survey_regions *regions, struct symbols *symbols,
                                        const struct location *location, const struct process *process,
                                        struct error *error)
{
    struct error why = {0};
    if (has_it(regions, location->address))
        return true;
    if (!regions_go_on(regions, error))
        return false;
    struct survey_region *one = survey_regions_add(regions, false, error);
    if (one == NULL)
        return false;
    one->named.start = *location;
    region_of_function(&one->named, process);
    one->refused = !region_look_into(&one->named, symbols, &why);
    error_on_one_line(&why, one->why, sizeof one->why);
    return true;
}

/* Code that the compiler moved out of a function is jumped to, not called. */
static bool is_part(const char *name)
{
    return strstr(name, ".cold") != NULL;
}

/* A name is matched whole, however long. */
enum { NAME_WHOLE = 8192 };

static bool choose_matching(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                            const struct process *process, struct error *error)
{
    char name[NAME_WHOLE];
    size_t matches = 0;
    enum function_name said;
    regions->unread = 0;
    for (size_t i = 0; (said = symbols_function_name(symbols, i, name, sizeof name)) != FUNCTION_NONE; i++) {
        struct location location;
        regions->unread += said == FUNCTION_UNREAD;
        if (is_part(name) || fnmatch(pattern, name, 0) != 0)
            continue;
        matches++;
        if (symbols_function(symbols, i, &location) && location.is_function_entry &&
            !survey_regions_add_function(regions, symbols, &location, process, error))
            return false;
    }
    return matches > 0 || error_set(error, ERROR_SYMBOL, "no function matches \"%.128s\"", pattern);
}

bool survey_regions_choose(struct survey_regions *regions, struct symbols *symbols, const char *pattern,
                           const struct process *process, struct error *error)
{
    struct location location;
    if (strncmp(pattern, "*0x", 3) != 0 && strpbrk(pattern, "*?[") != NULL)
        return choose_matching(regions, symbols, pattern, process, error);
    if (!symbols_locate(symbols, pattern, &location, error))
        return false;
    return location.is_function_entry
               ? survey_regions_add_function(regions, symbols, &location, process, error)
               : region_refuse_entry(pattern, error);
}

/* Adds the function around an address; does nothing if there is none, or it is there already. */
static bool survey_regions_choose_at(struct survey_regions *regions, struct symbols *symbols,
                                     uint64_t address, const struct process *process, struct error *error)
{
    struct location around, entry;
    symbols_describe(symbols, address, &around);
    if (around.high == 0)
        return true;
    symbols_describe(symbols, around.low, &entry);
    return !entry.is_function_entry || survey_regions_add_function(regions, symbols, &entry, process, error);
}

bool survey_regions_choose_lines(struct survey_regions *regions, struct symbols *symbols,
                                 const struct region_file *file, const struct process *process,
                                 struct error *error)
{
    for (size_t i = 0; i < file->n; i++) {
        const struct region_line *line = &file->lines[i];
        struct survey_region *one =
            regions_go_on(regions, error) ? survey_regions_add(regions, true, error) : NULL;
        struct error why = {0};
        if (one == NULL)
            return false;
        one->line = line;
        if (!region_locate(&one->named, symbols, line->start, line->end[0] != '\0' ? line->end : NULL,
                           process, error))
            return error_prefix(error, "%s:%u: ", file->file, line->line);
        one->refused = !region_look_into(&one->named, symbols, &why);
        error_on_one_line(&why, one->why, sizeof one->why);
    }
    return true;
}

const char *survey_regions_name(const struct survey_region *region)
{
    return region->line != NULL ? region->line->name : region->named.start.name;
}

void survey_regions_free(struct survey_regions *regions)
{
    for (size_t i = 0; i < regions->n; i++) {
        struct survey_region *region = &regions->at[i];
        if (region->summary != NULL)
            summary_free(region->summary);
        free(region->summary);
    }
    free(regions->at);
    *regions = (struct survey_regions){.n = 0};
}

/* ---- heat */

enum { SAMPLED_US = 1000000, SAMPLED_PART = 10, SAMPLES_US = 20000 };

/* --- samples -------------------------------------------------------------------------------------------- */

static void heat_show(struct progress *progress)
{
    progress_show(progress, "sampling, to find the hottest functions");
}

static bool cannot_be_sampled(const struct error *why)
{
    return why->kind == ERROR_NO_COUNTER || why->kind == ERROR_HALTED;
}

static bool heat_sample(struct session *session, struct progress *progress, int64_t us,
                        struct sampler *sampler, struct profile_tally *tally, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    int64_t end_us = deadline_now_us() + us;
    bool hidden;
    if (!sampler_find(sampler, &session->device, &hidden, &deadline, error))
        return false;
    session->device.looks_only = true;
    if (!session_take_core(session, false, error) ||
        (hidden && !sampler_find(sampler, &session->device, &hidden, &deadline, error)) ||
        !sampler_begin(sampler, &deadline, error))
        return false;
    while (deadline_now_us() < end_us) {
        deadline = session_deadline(session);
        heat_show(progress);
        if (!sampler_take(sampler, SAMPLES_US, tally, &deadline, error))
            return false;
    }
    deadline = session_last_deadline(session);
    sampler_end(sampler, tally, &deadline);
    sampler_settle(sampler, tally);
    return true;
}

/* Samples need another hold on the target than counting does: all is undone in between. */
static bool sample_running(struct session *session, struct progress *progress, int64_t us,
                           struct profile_tally *tally, struct error *error)
{
    const struct sampler_code code = {.context = session, .place = own_code_sampled};
    struct sampler sampler = {.code = &code};
    struct error why = {0};
    bool ok = heat_sample(session, progress, us, &sampler, tally, &why);
    sampler_free(&sampler);
    if (!ok && !cannot_be_sampled(&why))
        return error_copy(error, &why);
    if (!session_undo(session, error) || !session_look_again(session, session->request->core, error))
        return false;
    return ok || error_copy(error, &why);
}

/* Through a debugger that has the session's core, which is halted. */
static bool sample_halting(struct session *session, struct progress *progress, int64_t us,
                           struct profile_tally *tally, struct error *error)
{
    struct halt_sampler sampler;
    int64_t end_us = deadline_now_us() + us;
    halt_sampler_begin(&sampler, &session->device);
    while (deadline_now_us() < end_us) {
        struct deadline deadline = session_deadline(session);
        heat_show(progress);
        if (!halt_sampler_take(&sampler, tally, &deadline, error))
            return false;
    }
    return true;
}

static bool heat_make_shares(const struct session *session, struct profile_tally *tally, struct shares *out,
                             struct error *error)
{
    struct profile_interval interval = {0};
    char *names[] = {NULL};
    if (!profile_tally_close(tally, (double)SAMPLED_US / 1e6, &interval))
        return error_memory(error);
    const struct profile profile = {
        .about = {.cores = names, .core_count = 1}, .intervals = &interval, .interval_count = 1};
    bool ok = shares_make(&profile, 0, SHARES_FUNCTION, session->symbols, out);
    profile_interval_free(&interval);
    return ok || error_memory(error);
}

static bool find_shares(struct session *session, struct progress *progress, int64_t us, struct shares *out,
                        struct error *error)
{
    struct profile_tally tally = {0};
    bool ok = (device_sees_running(&session->device) ? sample_running : sample_halting)(session, progress, us,
                                                                                        &tally, error) &&
              heat_make_shares(session, &tally, out, error);
    progress_clear(progress);
    profile_tally_free(&tally);
    return ok;
}

/* --- the functions -------------------------------------------------------------------------------------- */

bool heat_choose(struct survey_regions *regions, struct session *session, struct progress *progress,
                 struct error *error)
{
    const struct request *request = session->request;
    struct shares shares = {0};
    bool ok = session_sees_running(session, "--hot", error) &&
              find_shares(session, progress, SAMPLED_US, &shares, error);
    for (size_t i = 0; ok && i < shares.n && regions->n < request->hot; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            ok = survey_regions_choose_at(regions, session->symbols, shares.rows[i].address,
                                          &request->process, error);
    shares_free(&shares);
    return ok && (regions->n > 0 || error_set(error, ERROR_STATE, "no sample is in a function of %.128s",
                                              session_elf(session)));
}

/* The one that begins at the address takes the place `to`, and those between follow it. */
static bool bring_forward(struct survey_regions *regions, uint64_t address, uint64_t samples, size_t to)
{
    size_t from = to;
    while (from < regions->n && regions->at[from].named.region.start != address)
        from++;
    if (from == regions->n)
        return false;
    struct survey_region one = regions->at[from];
    one.samples = samples;
    memmove(&regions->at[to + 1], &regions->at[to], (from - to) * sizeof one);
    regions->at[to] = one;
    return true;
}

bool heat_order(struct survey_regions *regions, struct session *session, struct progress *progress,
                struct heat *heat, struct error *error)
{
    struct shares shares = {0};
    struct error why = {0};
    int64_t begun_us = deadline_now_us(), part_us = (int64_t)(session->request->for_s * 1e6) / SAMPLED_PART;
    bool ok = find_shares(session, progress, part_us > 0 && part_us < SAMPLED_US ? part_us : SAMPLED_US,
                          &shares, &why);
    *heat = (struct heat){.samples = ok ? shares.samples : 0};
    for (size_t i = 0; i < shares.n; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            heat->hot += bring_forward(regions, shares.rows[i].address, shares.rows[i].samples, heat->hot);
    shares_free(&shares);
    heat->took_us = deadline_now_us() - begun_us;
    if (!ok && !cannot_be_sampled(&why))
        return error_copy(error, &why);
    if (heat->hot == 0)
        snprintf(heat->none, sizeof heat->none, "%.250s", ok ? "no sample was in one of them" : why.text);
    return true;
}

/* ---- turns */

enum {
    ROUNDS = 4,
    SLICE_US = 250000,
    SLICE_LEAST_US = 20000,
    SLICE_MOST_US = 1000000,
    HITS_OVER_US = 100000, /* so long hits are taken: all of a few may be of one burst of calls */
    PATIENT = 4,           /* slices, for one that was seen, or is on its way to its end */
    UNENDED_MOST = 2,
    NAP_PART = 16, /* of a slice, at most */
};
/* Hits of a pass, if only the time ends a turn. */
static const uint64_t HITS_MOST = UINT64_C(1) << 62;

/* Of the regions, from one up to another. */
struct part {
    size_t from, to;
};

/* --- what there is to do -------------------------------------------------------------------------------- */

static unsigned passes_of(const struct turns *turns)
{
    return (unsigned)turns->counting->plan->n_passes;
}

static bool turns_has_hits(const struct survey_region *region)
{
    return region->summary != NULL && region->summary->hits > 0;
}

/* Of each pass; 0: not given. */
static uint64_t turns_hits_wanted(const struct turns *turns, const struct survey_region *region)
{
    return region->line != NULL && region->line->hits > 0 ? region->line->hits : turns->hits;
}

static bool has_enough(const struct turns *turns, const struct survey_region *region)
{
    if (region->refused)
        return true;
    uint64_t hits = turns_hits_wanted(turns, region);
    bool has_all = hits > 0 && turns_has_hits(region) && region->summary->hits >= hits * passes_of(turns);
    if (has_all && region->turns >= (region->quick ? ROUNDS : 2)) /* many may be of one burst of calls */
        return true;
    if (turns->for_us > 0)
        return false;
    return (hits == 0 && region->turns >= ROUNDS) || region->looks >= ROUNDS;
}

static bool turns_is_over(const struct turns *turns)
{
    return turns->until_us > 0 && deadline_now_us() >= turns->until_us;
}

bool turns_had_none(const struct survey_region *region)
{
    return !region->refused && !region->seen && region->waited_us == 0;
}

double turns_need_s(size_t functions, unsigned passes)
{
    return (double)functions * ROUNDS * SLICE_US * passes / 1e6;
}

static bool turns_is_cancelled(const struct turns *turns, struct error *error)
{
    return *turns->session->around->cancel != 0 && !error_set(error, ERROR_CANCELLED, "cancelled");
}

/* --- progress ------------------------------------------------------------------------------------------- */

static double left_s(const struct turns *turns)
{
    if (turns->for_us > 0)
        return (double)(turns->begun_us + turns->for_us - deadline_now_us()) / 1e6;
    size_t left = 0;
    for (size_t i = 0; i < turns->regions->n; i++) {
        const struct survey_region *region = &turns->regions->at[i];
        unsigned tries = region->turns > region->looks ? region->turns : region->looks;
        if (!has_enough(turns, region))
            left += tries < ROUNDS ? ROUNDS - tries : 1;
    }
    return (double)left * (double)turns->slice_us / 1e6;
}

static void turns_show(const struct turns *turns, const char *doing)
{
    char time[NUMBER_ROOM];
    size_t reached = 0;
    double left = left_s(turns);
    for (size_t i = 0; i < turns->regions->n; i++)
        reached += turns_has_hits(&turns->regions->at[i]);
    progress_show(turns->progress, "%zu of %zu functions, %s left: %s", reached, turns->regions->n,
                  number_elapsed(time, sizeof time, left > 0 ? left : 0), doing);
}

static void turns_on_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    (void)hits;
    (void)wait;
    turns_show(context, "measuring");
}

static void turns_on_hit(void *context, const struct hit_result *hit)
{
    (void)hit;
    turns_show(context, "measuring");
}

static void on_look(void *context, enum engine_wait wait)
{
    (void)wait;
    turns_show(context, "waiting for calls");
}

/* --- a turn --------------------------------------------------------------------------------------------- */

/* Errors that are one region's alone. */
static bool is_its_own(enum error_kind kind)
{
    return kind == ERROR_STATE || kind == ERROR_ADDRESS || kind == ERROR_NO_COMPARATOR ||
           kind == ERROR_USAGE || kind == ERROR_END || kind == ERROR_START || kind == ERROR_WRITER_SOUGHT ||
           kind == ERROR_ELF_MISMATCH;
}

static bool begin_region(struct turns *turns, struct survey_region *region, struct error *error)
{
    static const struct delta_sink sink_of_all = {.hit = turns_on_hit, .tick = turns_on_tick};
    struct session *session = turns->session;
    if (region->delta != NULL)
        return true;
    own_code_doubts(session, &region->named);
    if (region->named.recurs)
        doubt_add(
            region->named.region.doubt,
            "other functions may call it within a call of it: a turn that begins there counts inner calls");
    if (turns->sink.hit == NULL) {
        turns->sink = sink_of_all;
        turns->sink.context = turns;
    }
    region->summary = calloc(1, sizeof *region->summary);
    if (region->summary == NULL)
        return error_memory(error);
    region->options =
        (struct delta_options){.hits = turns_hits_wanted(turns, region),
                               .calibrate = !session->request->no_calibrate,
                               .clock = turns->clock,
                               .seen_hz = turns->seen_hz,
                               .evidence = turns->counting->evidence,
                               .plan = turns->counting->plan,
                               .is_round = !region->named.region.to_return &&
                                           region->named.region.start == region->named.region.end};
    region->delta =
        delta_begin(&turns->session->device, &region->options, &turns->sink, region->summary, error);
    return region->delta != NULL;
}

/* Statistics take much memory: only a region that was called keeps them. */
static void end_region(const struct turns *turns, struct survey_region *region)
{
    if (region->delta != NULL)
        delta_end(region->delta);
    region->delta = NULL;
    if (region->summary == NULL || (region->summary->hits + region->summary->cut > 0 &&
                                    program_is_proved(turns->session, &region->named.region)))
        return;
    summary_free(region->summary);
    free(region->summary);
    region->summary = NULL;
}

/* So that turns do not begin at one place of what the program does again and again. */
static void nap(struct turns *turns)
{
    if (turns->random == 0)
        turns->random = (uint64_t)deadline_now_us() | 1;
    uint64_t us = random_below(&turns->random, (uint64_t)(turns->slice_us / NAP_PART) + 1);
    deadline_nap_us((int64_t)us);
}

/* `follows`: the core has just been at the start. */
static bool take_passes(struct turns *turns, struct survey_region *region, bool follows,
                        struct engine *engine, const struct deadline *deadline, struct error *error)
{
    bool armed = false;
    unsigned passes = passes_of(turns);
    uint64_t hits = turns_hits_wanted(turns, region);
    int64_t slice_us = turns->slice_us / passes, patience = region->looks + region->unended > 0 ? PATIENT : 1;
    int64_t least_us = HITS_OVER_US / passes < slice_us ? HITS_OVER_US / passes : slice_us;
    bool has_all = hits > 0 && turns_has_hits(region) && region->summary->hits >= hits * passes;
    region->options.timeout_ms = slice_us * patience / 1000 + 1;
    for (unsigned i = 0; i < passes; i++) {
        const struct delta_turn turn = {.pass = (region->turns + i) % passes,
                                        .goal = has_all    ? region->summary->hits / passes + 1
                                                : hits > 0 ? hits
                                                           : HITS_MOST,
                                        .for_us = slice_us,
                                        .region = armed ? NULL : &region->named.region,
                                        .armed = &armed,
                                        .at_random = !follows,
                                        .least_us = has_all ? 0 : least_us};
        struct error why = {0};
        /* Another pass may be luckier */
        if (!delta_turn(region->delta, engine, &turn, deadline, &why) &&
            (why.kind != ERROR_START || i + 1 == passes || !armed))
            return error_copy(error, &why);
    }
    return true;
}

/* After the turn: what the region's errors mean for it. False with what ends the survey. */
static bool turns_judge(const struct turns *turns, struct survey_region *region, uint64_t before,
                        const struct error *why, struct error *error)
{
    bool got_some = region->summary != NULL && region->summary->hits > before;
    region->turns += got_some;
    region->waited_us += why->kind == ERROR_START ? region->options.timeout_ms * 1000 : 0;
    if (got_some)
        region->seen = true;
    region->looks = got_some ? 0 : region->looks + 1;
    region->unended = why->kind == ERROR_END ? region->unended + 1 : 0;
    bool refused = why->kind != ERROR_NONE && why->kind != ERROR_START && why->kind != ERROR_END;
    if (refused || region->unended >= UNENDED_MOST) {
        error_on_one_line(why, region->why, sizeof region->why);
        region->refused = !got_some || refused;
    }
    if (!turns_has_hits(region) || region->refused)
        end_region(turns, region);
    return why->kind == ERROR_NONE || is_its_own(why->kind) || error_copy(error, why);
}

struct turn {
    struct turns *turns;
    struct survey_region *region;
    bool follows;
};

static bool use_turn(void *context, struct engine *engine, const struct deadline *deadline,
                     struct error *error)
{
    const struct turn *turn = context;
    struct survey_region *region = turn->region;
    int64_t begun_us = deadline_now_us();
    bool ok = take_passes(turn->turns, region, turn->follows, engine, deadline, error);
    region->quick = deadline_now_us() - begun_us < turn->turns->slice_us;
    snprintf(region->doubt, sizeof region->doubt, "%s", engine->doubt);
    own_code_doubt(turn->turns->session, &region->named.region, region->doubt);
    return ok;
}

static bool turns_take_turn(struct turns *turns, struct survey_region *region, bool follows,
                            struct error *error)
{
    struct session *session = turns->session;
    struct turn turn = {.turns = turns, .region = region, .follows = follows};
    struct error why = {0}, after = {0};
    uint64_t before = turns_has_hits(region) ? region->summary->hits : 0;
    if (!begin_region(turns, region, error))
        return false;
    if (!follows)
        nap(turns);
    bool sound = engine_use_quietly(session, use_turn, &turn, &why, &after);
    region->summary->slept = region->summary->slept || session->device.slept;
    if (!turns_judge(turns, region, before, &why, error))
        return sound ? false : error_add(error, &after);
    return sound || error_copy(error, &after);
}

/* --- the search for those that were not reached --------------------------------------------------------- */

struct search {
    const struct engine_scout *scout;
    struct engine_found found;
    bool is_found;
};

static bool use_search(void *context, struct engine *engine, const struct deadline *deadline,
                       struct error *error)
{
    struct search *search = context;
    search->is_found = engine->ops->scout(engine, search->scout, &search->found, deadline, error);
    return search->is_found;
}

/* Waits until one of the regions is reached, for at most *left_us, which is reduced. *n: how many could be
 * watched; *which NULL: none was reached. */
static bool look_for(struct turns *turns, struct survey_region *const *group, size_t *n, int64_t *left_us,
                     struct survey_region **which, struct error *error)
{
    const struct region *regions[ENGINE_SCOUTED];
    const struct engine_sink sink = {.context = turns, .tick = on_look};
    struct error why = {0}, after = {0};
    for (size_t i = 0; i < *n; i++)
        regions[i] = &group[i]->named.region;
    const struct engine_scout scout = {
        .regions = regions, .n = *n, .timeout_ms = *left_us / 1000 + 1, .sink = &sink};
    struct search search = {.scout = &scout};
    bool sound = engine_use_quietly(turns->session, use_search, &search, &why, &after);
    size_t watched = search.found.watched;
    *which = search.is_found ? group[search.found.which] : NULL;
    *left_us -= search.found.waited_us;
    for (size_t i = 0; i < watched && i < *n; i++)
        group[i]->waited_us += search.found.waited_us;
    *n = watched > 0 && watched < *n ? watched : *n;
    if (why.kind == ERROR_ADDRESS || why.kind == ERROR_NO_COMPARATOR) {
        *which = group[0]; /* its own turn says why */
        why = (struct error){0};
    }
    if (why.kind != ERROR_NONE && why.kind != ERROR_START)
        error_copy(error, &why);
    if (!sound)
        error_add(error, &after);
    return error->kind == ERROR_NONE;
}

static bool turns_can_look(struct turns *turns, bool *can, struct error *error)
{
    struct engine *engine = session_engine(turns->session, error);
    if (engine == NULL)
        return false;
    *can = engine->ops->scout != NULL;
    engine->ops->free(engine);
    return true;
}

/* One slice for this group, and a turn for each of them that is reached. */
static bool look_for_group(struct turns *turns, struct survey_region **group, size_t *n, struct error *error)
{
    int64_t left_us = turns->slice_us;
    size_t left = *n;
    bool first = true;
    while (left > 0 && left_us > 0 && !turns_is_over(turns)) {
        struct survey_region *reached;
        if (turns_is_cancelled(turns, error) || !look_for(turns, group, &left, &left_us, &reached, error))
            return false;
        if (first)
            *n = left; /* the others wait for the next slice */
        first = false;
        if (reached == NULL)
            break;
        reached->seen = true;
        if (!turns_take_turn(turns, reached, true, error))
            return false;
        size_t at = 0;
        while (at < left && group[at] != reached)
            at++;
        for (; at + 1 < left; at++)
            group[at] = group[at + 1];
        left--;
    }
    for (size_t i = 0; i < left; i++)
        group[i]->looks++;
    return true;
}

static bool look_round(struct turns *turns, struct part part, struct error *error)
{
    struct survey_regions *regions = turns->regions;
    struct survey_region *group[ENGINE_SCOUTED];
    for (size_t i = part.from; i < part.to && !turns_is_over(turns);) {
        size_t n = 0, end = i;
        size_t behind[ENGINE_SCOUTED] = {0}; /* where to go on after this many of the group */
        for (; end < part.to && n < ENGINE_SCOUTED; end++) {
            struct survey_region *region = &regions->at[end];
            if (region->seen || has_enough(turns, region))
                continue;
            behind[n] = end + 1;
            group[n++] = region;
        }
        if (n == 0)
            return true;
        size_t watched = n;
        if (!look_for_group(turns, group, &watched, error))
            return false;
        i = behind[watched > 0 ? watched - 1 : 0];
    }
    return true;
}

/* --- rounds --------------------------------------------------------------------------------------------- */

static bool turns_take_round(struct turns *turns, struct part part, bool looks, struct error *error)
{
    for (size_t i = part.from; i < part.to && !turns_is_over(turns); i++) {
        struct survey_region *region = &turns->regions->at[i];
        if ((looks && !region->seen) || has_enough(turns, region))
            continue;
        if (turns_is_cancelled(turns, error) || !turns_take_turn(turns, region, false, error))
            return false;
    }
    return !looks || look_round(turns, part, error);
}

static bool turns_is_left(const struct turns *turns, struct part part)
{
    for (size_t i = part.from; i < part.to; i++)
        if (!has_enough(turns, &turns->regions->at[i]))
            return true;
    return false;
}

/* A slice of which each of these functions has ROUNDS in the time. */
static int64_t slice_of(const struct turns *turns, int64_t us, size_t functions)
{
    int64_t each = us / ((int64_t)(ROUNDS * passes_of(turns)) * (int64_t)(functions + 1));
    each = each < SLICE_LEAST_US ? SLICE_LEAST_US : each > SLICE_MOST_US ? SLICE_MOST_US : each;
    return (us > 0 ? each : SLICE_US) * passes_of(turns);
}

/* A few at a time have all their turns, so that a run that ends early has whole rows. */
static bool take_hot(struct turns *turns, bool looks, struct error *error)
{
    size_t first = turns->hot < TURNS_FEW ? turns->hot : TURNS_FEW;
    turns->slice_us = slice_of(turns, turns->hot_us, first);
    turns->until_us = turns->for_us > 0 ? turns->begun_us + turns->hot_us : 0;
    for (struct part part = {0, first}; part.from < turns->hot; part.from = part.to) {
        part.to = part.from + first < turns->hot ? part.from + first : turns->hot;
        for (unsigned round = 0; round < ROUNDS && turns_is_left(turns, part) && !turns_is_over(turns);
             round++)
            if (!turns_take_round(turns, part, looks, error))
                return false;
    }
    return true;
}

bool turns_take(struct turns *turns, struct error *error)
{
    const struct part all = {0, turns->regions->n};
    bool looks = false;
    turns->begun_us = deadline_now_us();
    if (!turns_can_look(turns, &looks, error) || (turns->hot > 0 && !take_hot(turns, looks, error)))
        return false;
    turns->slice_us = slice_of(turns, turns->for_us, turns->regions->n);
    turns->until_us = turns->for_us > 0 ? turns->begun_us + turns->for_us : 0;
    while (turns_is_left(turns, all) && !turns_is_over(turns))
        if (!turns_take_round(turns, all, looks, error))
            return false;
    return true;
}

void turns_end(struct turns *turns)
{
    for (size_t i = 0; i < turns->regions->n; i++)
        end_region(turns, &turns->regions->at[i]);
}
