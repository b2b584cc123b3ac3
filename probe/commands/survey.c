/* survey: many functions in one run. */
#include "run/turns.h"

#include "commands/command.h"
#include "commands/compare.h"
#include "report/comparison.h"
#include "report/formats.h"
#include "report/survey.h"
#include "report/survey_report.h"
#include "report/terminal.h"
#include "run/counting.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region.h"
#include "run/region_notes.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A survey that takes longer than the first ends after the second, if nothing else was asked for. */
enum { LONG_S = 60, SHORT_US = 5000000 };

struct survey_command {
    const struct context *context;
    struct session session;
    struct region_file file;
    struct runs *before; /* NULL: without --baseline */
    double threshold;
    struct survey_regions regions;
    struct heat heat;
    struct turns turns;
    struct counting counting;
    struct conditions conditions;
    struct progress progress;
    struct document document; /* the result */
    struct output written;    /* of --write-regions; its file is NULL without it */
    struct error none;        /* of the functions was reached */
    bool unwritten;
};

static const struct options *survey_options_of(const struct survey_command *self)
{
    return self->context->options;
}

/* --- which functions ------------------------------------------------------------------------------------ */

static bool begin_verdicts(struct survey_command *self, struct error *error)
{
    const struct options *options = survey_options_of(self);
    if (options->baseline == NULL)
        return true;
    self->before = calloc(1, sizeof *self->before);
    return (self->before != NULL || error_set(error, ERROR_SYSTEM, "out of memory")) &&
           verdicts_threshold(options, &self->threshold, error) &&
           runs_read(options->baseline, self->context->around.cancel, self->before, error);
}

static bool survey_check_operands(struct survey_command *self, struct error *error)
{
    const struct options *options = survey_options_of(self);
    unsigned ways = (options->n_operands > 0) + (options->request.hot > 0) + (options->regions != NULL);
    if (ways == 0)
        return error_set(error, ERROR_USAGE,
                         "survey needs a PATTERN of function names, such as 'filter_*', --hot N or "
                         "--regions FILE");
    if (ways > 1)
        return error_set(
            error, ERROR_USAGE,
            "a PATTERN, --hot and --regions all say which functions; leave all but one of them out");
    return begin_verdicts(self, error);
}

static bool choose(struct survey_command *self, struct error *error)
{
    const struct options *options = survey_options_of(self);
    if (options->regions != NULL &&
        (!region_file_read(options->regions, self->context->around.cancel, &self->file, error) ||
         !survey_regions_choose_lines(&self->regions, self->session.symbols, &self->file,
                                      &options->request.process, error)))
        return false;
    for (size_t i = 0; i < options->n_operands; i++)
        if (!survey_regions_choose(&self->regions, self->session.symbols, options->operands[i],
                                   &options->request.process, error))
            return false;
    return true;
}

/* --- the result ----------------------------------------------------------------------------------------- */

static void name_ends(const struct survey_region *region, struct conditions *conditions)
{
    snprintf(conditions->start, sizeof conditions->start, "%s", region->named.start.name);
    snprintf(conditions->end, sizeof conditions->end, "%s",
             region->named.region.to_return ? "its return" : region->named.end.name);
}

static void survey_describe_region(const struct survey_command *self, struct survey_region *region)
{
    struct conditions *conditions = &region->summary->conditions;
    *conditions = self->conditions;
    conditions->note[0] = '\0'; /* the header has it */
    region_describe(&region->named, conditions);
    process_note(&region->named.region.process, conditions->note, sizeof conditions->note);
    conditions_add_note(conditions, region->named.start.note);
    conditions_add_note(conditions, region->doubt);
    conditions_add_note(conditions, region->notes);
}

static void fill_row(const struct survey_command *self, struct survey_region *region, struct survey_row *row)
{
    struct summary *summary = region->summary;
    *row = (struct survey_row){.name = survey_regions_name(region),
                               .summary = summary,
                               .why = region->why,
                               .end = region->named.region.to_return ? NULL : region->named.end.name,
                               .samples = region->samples,
                               .no_turn = turns_had_none(region),
                               .waited_s = (double)region->waited_us / 1e6};
    bool unexplained = summary == NULL && region->why[0] == '\0';
    if (unexplained && row->no_turn)
        snprintf(region->why, sizeof region->why, "the survey ended before its turn");
    if (unexplained && region->seen)
        snprintf(region->why, sizeof region->why, "it was called, but not again while it had its turns");
    if (summary == NULL)
        return;
    survey_describe_region(self, region);
    counting_summary(&self->counting, summary->conditions.clock_hz, summary);
    if (summary_is_tainted(summary))
        snprintf(summary->advice, sizeof summary->advice, "%s", RESULT_TAINTED);
}

/* Of the file of --baseline; NULL: it lacks this region. */
static const struct baseline *find_before(const struct survey_command *self,
                                          const struct survey_region *region)
{
    struct conditions wanted = {0}, clean = {0};
    name_ends(region, &wanted);
    utf8_clean(clean.start, sizeof clean.start, wanted.start);
    utf8_clean(clean.end, sizeof clean.end, wanted.end);
    for (size_t i = 0; i < self->before->n; i++)
        if (runs_are_of_one_region(&self->before->of[i]->conditions, &clean))
            return self->before->of[i];
    return NULL;
}

/* NULL, without an error: neither run has the region. */
static json_t *compare_one(const struct survey_command *self, const struct survey_region *region,
                           size_t family, bool *ok)
{
    const struct baseline *before = find_before(self, region);
    struct baseline now = {.conditions = self->conditions}, missing = {.missing = true};
    if (before == NULL && region->summary == NULL)
        return NULL;
    name_ends(region, &now.conditions);
    bool live = region->summary == NULL || baseline_live(&now, region->summary);
    now.is_named = true;
    missing.conditions = now.conditions;
    memcpy(missing.file, self->before->file, sizeof missing.file);
    double threshold =
        region->line != NULL && region->line->threshold >= 0 ? region->line->threshold : self->threshold;
    struct json_part line = runs_compare(before != NULL ? before : &missing, &now, threshold, family);
    *ok = live && line.ok;
    baseline_free(&now);
    return line.json;
}

/* A hit above a budget is a fact, whatever else is judged. */
static size_t survey_family_of(const struct survey_command *self)
{
    size_t family = 0;
    for (size_t i = 0; i < self->regions.n; i++) {
        const struct survey_region *region = &self->regions.at[i];
        family += survey_options_of(self)->check && region->line->budget.of == BUDGET_MEAN;
        if (self->before != NULL && region->summary != NULL && find_before(self, region) != NULL)
            family += region->summary->n;
    }
    return family;
}

/* *budgets: a verdict for each, owned by the caller as are the comparisons. */
static bool survey_judge(const struct survey_command *self, struct survey *survey,
                         struct verdict_line **budgets)
{
    const struct options *options = survey_options_of(self);
    size_t family = survey_family_of(self);
    bool ok = true;
    *budgets = calloc(survey->n + 1, sizeof **budgets);
    if (*budgets == NULL)
        return false;
    survey->judged = options->check || self->before != NULL;
    for (size_t i = 0; ok && i < survey->n; i++) {
        struct survey_region *region = &self->regions.at[i];
        struct survey_row *row = &survey->rows[i];
        if (self->before != NULL)
            row->comparison = compare_one(self, region, family, &ok);
        if (!options->check || region->line->budget.of == BUDGET_NONE)
            continue;
        struct verdict_line *line = &(*budgets)[i];
        *line = budget_decide(&region->line->budget, region->summary, family);
        if (region->summary == NULL && region->why[0] != '\0') {
            line->verdict = VERDICT_NOT_COMPARABLE;
            snprintf(line->why, sizeof line->why, "%.380s", region->why);
        }
        row->budget = line;
    }
    return ok;
}

/* Of JSON the header is written already. */
static bool write_out(struct survey_command *self, const struct survey *survey)
{
    struct rendering to = command_rendering(self->context);
    to.begun = true;
    if (to.format == FORMAT_JSON) {
        document_free(&self->document);
        self->document = document_new();
    }
    survey_lines(&self->document, survey);
    return survey_write(&to, &self->document);
}

/* What those take, about, for which there was no time. */
static double rest_s(const struct survey_command *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->regions.n; i++)
        n += turns_had_none(&self->regions.at[i]);
    return turns_need_s(n, (unsigned)self->counting.plan->n_passes);
}

static bool survey_print(struct survey_command *self, const struct error *why, int *code)
{
    trial_end_conditions(&self->session, &self->conditions);
    struct survey survey = {
        .conditions = self->conditions,
        .n = self->regions.n,
        .samples = self->heat.samples,
        .seconds = (double)(deadline_now_us() - self->turns.begun_us + self->heat.took_us) / 1e6};
    snprintf(survey.not_sampled, sizeof survey.not_sampled, "%s", self->heat.none);
    struct verdict_line *budgets = NULL;
    survey.rows = calloc(survey.n + 1, sizeof *survey.rows);
    if (survey.rows == NULL)
        return false;
    for (size_t i = 0; i < survey.n; i++)
        fill_row(self, &self->regions.at[i], &survey.rows[i]);
    survey.rest_s = rest_s(self);
    if (why->kind != ERROR_NONE)
        command_ended(self->context, why, survey.ended, sizeof survey.ended);
    bool ok = survey_judge(self, &survey, &budgets) && survey_sort(&survey);
    if (ok && survey.judged)
        *code = verdicts_exit_code(survey_verdict(&survey));
    ok = ok && write_out(self, &survey);
    for (size_t i = 0; i < survey.n; i++)
        json_decref(survey.rows[i].comparison);
    free(budgets);
    free(survey.rows);
    return ok;
}

/* --- --write-regions ------------------------------------------------------------------------------------ */

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

static bool write_regions(const struct survey_command *self)
{
    FILE *out = self->written.file;
    bool ok =
        fputs("# name, function (or start and end), budget: the highest count that survey saw, and a tenth\n",
              out) >= 0;
    for (size_t i = 0; ok && i < self->regions.n; i++) {
        const struct survey_region *region = &self->regions.at[i];
        struct region_line line;
        if (region->summary == NULL)
            continue;
        make_line(region, &line);
        ok = region_file_write(out, &line);
    }
    return ok;
}

static void print_header(struct survey_command *self)
{
    const struct context *context = self->context;
    const struct plan *plan = self->counting.plan;
    struct column columns[PLAN_COLUMNS] = {0};
    for (size_t i = 0; i < plan->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    self->document = document_new();
    document_add(&self->document, survey_header(&self->conditions, columns, plan->n_columns));
    if (context->options->format == FORMAT_TEXT)
        text_header(context->out, &self->conditions);
    if (context->options->format == FORMAT_JSON && !document_write(context->out, &self->document))
        self->unwritten = true;
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* Functions that can write the counter themselves are watched, or left out.
 */
static void look_into_regions(struct survey_command *self)
{
    for (size_t i = 0; i < self->regions.n; i++) {
        struct survey_region *one = &self->regions.at[i];
        const struct extent code = region_code(&one->named);
        char what[112];
        uint64_t first;
        region_notes(&self->session, &one->named, one->notes, sizeof one->notes);
        if (one->refused || code.low == 0 ||
            !own_code_writes_inside(&self->session, &code, 1, what, sizeof what) ||
            own_code_watch_region(&self->session, &code, &one->named.region, &first))
            continue;
        snprintf(one->why, sizeof one->why, "the program can write the counter in it: %s", what);
        one->refused = true;
    }
}

static bool any_hits(const struct survey_command *self)
{
    for (size_t i = 0; i < self->regions.n; i++)
        if (self->regions.at[i].summary != NULL)
            return true;
    return false;
}

/* None of those that were reached has a number. */
static bool all_tainted(const struct survey_command *self)
{
    bool all = any_hits(self);
    for (size_t i = 0; all && i < self->regions.n; i++) {
        const struct summary *summary = self->regions.at[i].summary;
        all = summary == NULL || summary_is_tainted(summary);
    }
    return all;
}

enum { CALLERS_MOST = 64 };

/* The region that holds a call; NULL: the survey has none. */
static const struct survey_region *region_around(const struct survey_command *self, uint64_t address)
{
    for (size_t i = 0; i < self->regions.n; i++) {
        const struct survey_region *one = &self->regions.at[i];
        if (one->named.region.to_return && address >= one->named.region.low &&
            address < one->named.region.high)
            return one;
    }
    return NULL;
}

/* A function takes no longer than what calls it. */
static void limit_by_callers(const struct survey_command *self, struct survey_region *region)
{
    const struct extent code = {region->named.region.low, region->named.region.high};
    uint64_t calls[CALLERS_MOST];
    size_t n = symbols_callers(self->session.symbols, &code, calls, CALLERS_MOST);
    double most = 0;
    for (size_t i = 0; i < n && n <= CALLERS_MOST; i++) {
        const struct survey_region *caller = region_around(self, calls[i]);
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again = again || region_around(self, calls[k]) == caller;
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

static void limit_bursts(const struct survey_command *self)
{
    for (size_t i = 0; i < self->regions.n; i++) {
        struct survey_region *one = &self->regions.at[i];
        if (one->named.region.to_return && survey_rate(one->summary).bursts)
            limit_by_callers(self, one);
    }
}

/* Regions of a file, and what is compared with a baseline, are measured as they always were. Of a few
 * functions each has its turns soon anyway. */
static bool goes_by_heat(const struct survey_command *self)
{
    const struct options *options = survey_options_of(self);
    return options->n_operands > 0 && options->baseline == NULL && self->regions.n > TURNS_FEW;
}

/* `taken`: the session has the target. */
static bool order_by_heat(struct survey_command *self, bool taken, struct error *error)
{
    if (!goes_by_heat(self) || device_sees_running(&self->session.device) == taken)
        return true;
    return heat_order(&self->regions, &self->session, &self->progress, &self->heat, error);
}

/* Samples are a part of the time. Without a word of it, what would take long shows the hottest first. */
static void limit_time(struct survey_command *self)
{
    const struct options *options = survey_options_of(self);
    struct turns *turns = &self->turns;
    double all_s = turns_need_s(self->regions.n, (unsigned)self->counting.plan->n_passes);
    bool is_short = goes_by_heat(self) && self->heat.hot > 0 && options->request.for_s == 0 &&
                    options->request.hits == 0 && options->write_regions == NULL && all_s > LONG_S;
    turns->hot = self->heat.hot;
    turns->for_us = is_short ? SHORT_US : (int64_t)(options->request.for_s * 1e6);
    if (turns->for_us > self->heat.took_us)
        turns->for_us -= self->heat.took_us;
    turns->hot_us = is_short ? turns->for_us : turns->for_us / 2;
}

static bool survey_measure(struct survey_command *self, struct error *error)
{
    struct session *session = &self->session;
    const struct options *options = survey_options_of(self);
    self->turns = (struct turns){.session = session,
                                 .counting = &self->counting,
                                 .regions = &self->regions,
                                 .progress = &self->progress,
                                 .begun_us = deadline_now_us(),
                                 .hits = options->request.hits};
    look_into_regions(self);
    session->measured.by_parts = true;
    if (!trial_run(session, &self->turns.clock, &self->turns.seen_hz, error) ||
        !counting_open(&self->counting, session, &self->turns.clock, error))
        return false;
    session->device.slow_clock = clock_is_slow(&self->turns.clock);
    session_conditions(session, &self->turns.clock, &self->conditions);
    limit_time(self);
    print_header(self);
    bool ok = turns_take(&self->turns, error);
    turns_end(&self->turns);
    limit_bursts(self);
    progress_clear(&self->progress);
    if (!ok || any_hits(self))
        return ok;
    error_advise(&self->none, ERROR_START, "Does the program call them? A longer --for waits longer.",
                 "none of %zu functions was reached", self->regions.n);
    return where_tell(session, &self->none) || error_copy(error, &self->none);
}

/* Readings that mean nothing must not end in a table. */
static bool survey_is_printable(const struct survey_command *self, const struct error *error)
{
    return self->counting.plan != NULL && error->kind != ERROR_WRITTEN &&
           (error->kind == ERROR_NONE || any_hits(self));
}

/* Before the target is touched. */
static bool begin_regions(struct survey_command *self, struct error *error)
{
    const char *path = survey_options_of(self)->write_regions;
    if (path != NULL && output_open(&self->written, path, OUTPUT_NEW, self->context->around.cancel, error))
        return true;
    self->written.file = NULL;
    return path == NULL;
}

/* Without a function that was reached there is nothing to write. */
static bool end_regions(struct survey_command *self, bool wanted, struct error *error)
{
    bool left, ok = true;
    if (self->written.file == NULL)
        return true;
    if (wanted)
        ok = write_regions(self);
    return output_close(&self->written, wanted && ok ? KEEP_ALL : KEEP_NOTHING, &left, error) &&
           (ok || error_set(error, ERROR_SYSTEM, "%.256s could not be written",
                            survey_options_of(self)->write_regions));
}

/* Before anything is changed; of many, as many as take little time. */
static bool check_codes(struct survey_command *self, struct error *error)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < self->regions.n && i < MOST; i++) {
        struct survey_region *one = &self->regions.at[i];
        struct error why = {0};
        if (one->refused || program_check_region(&self->session, &one->named, &why))
            continue;
        if (why.kind != ERROR_ELF_MISMATCH)
            return error_copy(error, &why);
        error_on_one_line(&why, one->why, sizeof one->why);
        one->refused = true;
    }
    return true;
}

int command_survey(const struct context *context, struct error *error)
{
    struct survey_command self = {.context = context,
                                  .session = {.request = &context->options->request,
                                              .around = &context->around,
                                              .needs_elf = true,
                                              .may_stop = true}};
    int code = EXIT_DONE;
    if (!context->options->request.quiet)
        progress_begin(&self.progress, stderr);
    bool ok = program_open(&self.session, error) && survey_check_operands(&self, error) &&
              counting_check_tick(&self.session, error) && choose(&self, error) &&
              begin_regions(&self, error) && program_open_target(&self.session, error) &&
              session_check_run_control(&self.session, error) &&
              (context->options->request.hot == 0 ||
               heat_choose(&self.regions, &self.session, &self.progress, error)) &&
              order_by_heat(&self, false, error) && check_codes(&self, error) &&
              session_take(&self.session, error) && order_by_heat(&self, true, error) &&
              survey_measure(&self, error);
    struct error after = {0};
    if (session_close(&self.session, &after))
        session_forgive(&self.session, error);
    if (survey_is_printable(&self, error)) {
        if (any_hits(&self))
            command_has_result(context);
        self.unwritten = !survey_print(&self, error, &code) || self.unwritten;
        code = code == EXIT_DONE && error->kind == ERROR_NONE && all_tainted(&self) ? EXIT_TAINTED : code;
    }
    if (error->kind == ERROR_CANCELLED && any_hits(&self)) {
        code = command_interrupted(context, error);
        ok = true;
    }
    ok = end_regions(&self, ok && code != EXIT_INTERRUPTED && any_hits(&self), error) && ok;
    if (ok && !any_hits(&self))
        ok = error_copy(error, &self.none);
    document_free(&self.document);
    survey_regions_free(&self.regions);
    region_file_free(&self.file);
    if (self.before != NULL)
        runs_free(self.before);
    free(self.before);
    counting_close(&self.counting);
    return command_end(ok, command_clock_code(&self.session, code), self.unwritten, &after, error);
}
