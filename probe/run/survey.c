/* SPDX-License-Identifier: MIT */
#include "run/survey.h"

#include "report/survey.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region_notes.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A survey that takes longer than the first ends after the second, if nothing else was asked for. */
enum { LONG_S = 60, SHORT_US = 5000000 };

/* A pattern may mean a function whose name is unknown. */
static void note_unread(const struct survey_regions *regions, const struct request *request)
{
    size_t n = regions->unread;
    if (n > 0)
        request_note(request,
                     "%zu function name%s cannot be read: the symbol alone was matched with the pattern", n,
                     PLURAL(n));
}

bool survey_run_choose(struct survey_run *run, const char *const *patterns, size_t n, const char *file,
                       struct error *error)
{
    struct session *session = run->session;
    const struct process *process = &session->request->process;
    if (!counting_check_tick(session, error))
        return false;
    run->regions.cancel = session->around->cancel;
    run->regions.progress = run->progress;
    if (file != NULL &&
        (!region_file_read(file, session->around->cancel, &run->file, error) ||
         !survey_regions_choose_lines(&run->regions, session->symbols, &run->file, process, error)))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = survey_regions_choose(&run->regions, session->symbols, patterns[i], process, error);
    note_unread(&run->regions, session->request);
    return ok;
}

bool survey_run_has_hits(const struct survey_run *run)
{
    for (size_t i = 0; i < run->regions.n; i++)
        if (run->regions.at[i].summary != NULL)
            return true;
    return false;
}

bool survey_run_has_result(const struct survey_run *run, const struct error *why)
{
    return run->counting.plan != NULL && why->kind != ERROR_WRITTEN &&
           (why->kind == ERROR_NONE || survey_run_has_hits(run));
}

bool survey_run_is_tainted(const struct survey_run *run)
{
    bool all = survey_run_has_hits(run);
    for (size_t i = 0; all && i < run->regions.n; i++) {
        const struct summary *summary = run->regions.at[i].summary;
        all = summary == NULL || summary_is_tainted(summary);
    }
    return all;
}

/* Functions that can write the counter themselves are watched, or left out. */
static void look_into_regions(struct survey_run *run)
{
    for (size_t i = 0; i < run->regions.n; i++) {
        struct survey_region *one = &run->regions.at[i];
        const struct extent code = region_code(&one->named);
        char what[112];
        uint64_t first;
        one->may_sleep = region_notes(run->session, &one->named, one->notes);
        if (one->refused || code.low == 0 ||
            !own_code_writes_inside(run->session, &code, 1, what, sizeof what) ||
            own_code_watch_region(run->session, &code, &one->named.region, &first))
            continue;
        snprintf(one->why, sizeof one->why, "the program can write the counter in it: %s", what);
        one->refused = true;
    }
}

enum { CALLERS_MOST = 64 };

/* The region that holds a call; NULL: the survey has none. */
static const struct survey_region *region_around(const struct survey_run *run, uint64_t address)
{
    for (size_t i = 0; i < run->regions.n; i++) {
        const struct survey_region *one = &run->regions.at[i];
        if (one->named.region.to_return && address >= one->named.region.low &&
            address < one->named.region.high)
            return one;
    }
    return NULL;
}

/* A function takes no longer than what calls it. */
static void limit_by_callers(const struct survey_run *run, struct survey_region *region)
{
    const struct extent code = {region->named.region.low, region->named.region.high};
    uint64_t calls[CALLERS_MOST];
    size_t n = symbols_callers(run->session->symbols, &code, calls, CALLERS_MOST);
    double most = 0;
    for (size_t i = 0; i < n && n <= CALLERS_MOST; i++) {
        const struct survey_region *caller = region_around(run, calls[i]);
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || region_around(run, calls[k]) == caller;
        if (again)
            continue;
        struct survey_rate rate = survey_rate(caller != NULL && caller != region ? caller->summary : NULL);
        if (isnan(rate.share) || rate.bursts)
            return;
        most += rate.share + rate.plus_minus;
    }
    if (n > 0 && n <= CALLERS_MOST)
        region->summary->periods.share_most = most;
}

static void limit_bursts(const struct survey_run *run)
{
    for (size_t i = 0; i < run->regions.n; i++) {
        struct summary *summary = run->regions.at[i].summary;
        if (summary == NULL)
            continue;
        summary->conditions.clock_hz = run->conditions->clock_hz;
        if (run->conditions->clock_awake > 0) {
            summary->periods.at_least = true;
            summary->periods.inside_at_least = summary->periods.inside_at_least || summary->slept;
        }
    }
    for (size_t i = 0; i < run->regions.n; i++) {
        struct survey_region *one = &run->regions.at[i];
        if (one->named.region.to_return && survey_rate(one->summary).bursts)
            limit_by_callers(run, one);
    }
}

/* Regions of a file, and what is compared with a baseline, are measured as they always were. Of a few
 * functions each has its turns soon anyway. */
static bool goes_by_heat(const struct survey_run *run)
{
    return run->file.n == 0 && run->session->request->hot == 0 && !run->compares &&
           run->regions.n > TURNS_FEW;
}

/* `taken`: the session has the target. */
static bool order_by_heat(struct survey_run *run, bool taken, struct error *error)
{
    if (!goes_by_heat(run) || device_sees_running(&run->session->device) == taken)
        return true;
    return heat_order(&run->regions, run->session, run->progress, &run->heat, error);
}

/* Samples are a part of the time. Without a word of it, what would take long shows the hottest first. */
static void limit_time(struct survey_run *run)
{
    const struct request *request = run->session->request;
    struct turns *turns = &run->turns;
    double all_s = turns_need_s(run->regions.n, (unsigned)run->counting.plan->n_passes);
    bool is_short = goes_by_heat(run) && run->heat.hot > 0 && request->for_s == 0 && request->hits == 0 &&
                    !run->keeps_order && all_s > LONG_S;
    turns->hot = run->heat.hot;
    turns->for_us = is_short ? SHORT_US : (int64_t)(request->for_s * 1e6);
    if (turns->for_us > run->heat.took_us)
        turns->for_us -= run->heat.took_us;
    turns->hot_us = is_short ? turns->for_us : turns->for_us / 2;
}

/* Before anything is changed; the code of as many as take little time, of others when they are reached. */
static bool check_codes(struct survey_run *run, struct error *error)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < run->regions.n; i++) {
        struct survey_region *one = &run->regions.at[i];
        struct error why = {0};
        if (one->refused || (i < MOST ? program_check_region(run->session, &one->named, &why)
                                      : program_check_quickly(run->session, &one->named, &why)))
            continue;
        if (why.kind != ERROR_ELF_MISMATCH)
            return error_copy(error, &why);
        error_on_one_line(&why, one->why, sizeof one->why);
        one->refused = true;
    }
    return true;
}

static bool survey_take_turns(struct survey_run *run, struct error *error)
{
    struct session *session = run->session;
    const struct request *request = run->session->request;
    run->turns = (struct turns){.session = session,
                                .counting = &run->counting,
                                .regions = &run->regions,
                                .progress = run->progress,
                                .begun_us = deadline_now_us(),
                                .hits = request->hits};
    look_into_regions(run);
    session->measured.by_parts = session->device.sees_exceptions = true;
    if (!trial_run(session, &run->turns.clock, &run->turns.seen_hz, error) ||
        !counting_open(&run->counting, session, &run->turns.clock, error))
        return false;
    session->device.slow_clock = clock_is_slow(&run->turns.clock);
    session_conditions(session, &run->turns.clock, run->conditions);
    limit_time(run);
    bool ok = run->begin(run->context, error) && turns_take(&run->turns, error);
    turns_end(&run->turns);
    limit_bursts(run);
    if (!ok || survey_run_has_hits(run))
        return ok;
    error_advise(&run->none, ERROR_START, "Does the program call them? A longer --for waits longer.",
                 "none of %zu functions was reached", run->regions.n);
    return where_tell(session, &run->none) || error_copy(error, &run->none);
}

bool survey_run_measure(struct survey_run *run, struct error *error)
{
    struct session *session = run->session;
    if (!session_check_run_control(session, error) ||
        (session->request->hot > 0 && !heat_choose(&run->regions, session, run->progress, error)))
        return false;
    return order_by_heat(run, false, error) && check_codes(run, error) && session_take(session, error) &&
           order_by_heat(run, true, error) && survey_take_turns(run, error);
}

/* --- the result ----------------------------------------------------------------------------------------- */

/* What those take, about, for which there was no time. */
static double survey_run_rest_s(const struct survey_run *run)
{
    size_t n = 0;
    for (size_t i = 0; i < run->regions.n; i++)
        n += turns_had_none(&run->regions.at[i]);
    return turns_need_s(n, (unsigned)run->counting.plan->n_passes);
}

static void survey_describe_region(const struct survey_run *run, struct survey_region *region)
{
    struct conditions *conditions = &region->summary->conditions;
    *conditions = *run->conditions;
    const char *no_time = conditions_no_time(conditions, region->summary->slept, region->may_sleep);
    if (no_time != NULL)
        conditions_leave_time(conditions, no_time);
    conditions->note[0] = '\0'; /* the header has it */
    region_describe(&region->named, conditions);
    process_note(&region->named.region.process, conditions->note, sizeof conditions->note);
    conditions_add_note(conditions, region->named.start.note);
    conditions_add_note(conditions, region->notes);
    doubt_add(region->summary->doubt, region->doubt);
}

static void survey_fill_row(const struct survey_run *run, struct survey_region *region,
                            struct survey_row *row)
{
    struct summary *summary = region->summary;
    *row = (struct survey_row){.name = survey_regions_name(region),
                               .summary = summary,
                               .why = region->why,
                               .start = region->named.start.name,
                               .end = region->named.region.to_return ? NULL : region->named.end.name,
                               .samples = region->samples,
                               .no_turn = turns_had_none(region),
                               .waited_s = (double)region->waited_us / 1e6};
    bool unexplained = summary == NULL && region->why[0] == '\0';
    if (unexplained && row->no_turn)
        snprintf(region->why, sizeof region->why, "the survey ended before its turn");
    if (unexplained && region->seen)
        snprintf(region->why, sizeof region->why, "it was called, but not in its turns");
    if (summary == NULL)
        return;
    survey_describe_region(run, region);
    counting_summary(&run->counting, summary->conditions.clock_hz, summary);
    if (summary_is_tainted(summary))
        snprintf(summary->advice, sizeof summary->advice, "%s", RESULT_TAINTED);
}

bool survey_run_lines(struct survey_run *run, const struct survey_judge *judge, const char *ended,
                      struct document *document, enum verdict *verdict)
{
    struct survey survey = {.conditions = *run->conditions,
                            .n = run->regions.n,
                            .samples = run->heat.samples,
                            .seconds =
                                (double)(deadline_now_us() - run->turns.begun_us + run->heat.took_us) / 1e6,
                            .rest_s = survey_run_rest_s(run)};
    struct verdict_line *budgets = NULL;
    snprintf(survey.not_sampled, sizeof survey.not_sampled, "%s", run->heat.none);
    snprintf(survey.ended, sizeof survey.ended, "%s", ended);
    survey.rows = calloc(survey.n + 1, sizeof *survey.rows);
    if (survey.rows == NULL)
        return false;
    for (size_t i = 0; i < survey.n; i++)
        survey_fill_row(run, &run->regions.at[i], &survey.rows[i]);
    bool ok = survey_judge(judge, &run->regions, run->conditions, &survey, &budgets) && survey_sort(&survey);
    *verdict = ok && survey.judged ? survey_verdict(&survey) : VERDICT_PASS;
    survey_lines(document, &survey);
    for (size_t i = 0; i < survey.n; i++)
        json_decref(survey.rows[i].comparison);
    free(budgets);
    free(survey.rows);
    return ok;
}

/* --- the regions as a file ------------------------------------------------------------------------------ */

/* The highest count and a tenth, with two digits that count. */
static double budget_for(uint64_t most)
{
    double limit = 1.1 * (double)most, step = limit > 0 ? pow(10, floor(log10(limit)) - 1) : 1;
    step = step < 1 ? 1 : step;
    return ceil(limit / step) * step;
}

static void make_line(const struct survey_region *region, struct region_line *out)
{
    const struct column *cycles = region->summary != NULL ? &region->summary->columns[0] : NULL;
    *out = (struct region_line){.threshold = -1};
    snprintf(out->name, sizeof out->name, "%s", survey_regions_name(region));
    snprintf(out->start, sizeof out->start, "%s", region->named.start.name);
    if (!region->named.region.to_return)
        snprintf(out->end, sizeof out->end, "%s", region->named.end.name);
    if (cycles != NULL && statistics_count(cycles->statistics) > 0 && cycles->at_least == 0 &&
        statistics_max(cycles->statistics) > 0)
        out->budget =
            (struct budget){.of = BUDGET_MAX, .limit = budget_for(statistics_max(cycles->statistics))};
}

bool survey_run_write_regions(const struct survey_run *run, FILE *out)
{
    bool ok =
        fputs("# name, function (or start and end), budget: the highest count that survey saw, and a tenth\n",
              out) >= 0;
    for (size_t i = 0; ok && i < run->regions.n; i++) {
        const struct survey_region *region = &run->regions.at[i];
        struct region_line line;
        if (region->summary == NULL)
            continue;
        make_line(region, &line);
        ok = region_file_write(out, &line);
    }
    return ok;
}

void survey_run_free(struct survey_run *run)
{
    survey_regions_free(&run->regions);
    region_file_free(&run->file);
    counting_close(&run->counting);
}
