/* survey: many functions in one run. */
#include "commands/survey.h"

#include "commands/command.h"
#include "profile/sampler.h"
#include "profile/shares.h"
#include "report/formats.h"
#include "report/survey.h"
#include "report/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLED_US = 1000000, SAMPLES_US = 20000 };

struct survey_command {
    struct session session;
    struct survey_regions regions;
    struct survey_turns turns;
    struct counting counting;
    struct conditions conditions;
    struct progress progress;
    bool unwritten;
};

static const struct options *options_of(const struct survey_command *self)
{
    return self->session.context->options;
}

/* --- --hot: what samples of the PC show ------------------------------------------------------------------
 */

static bool sample(struct survey_command *self, struct sampler *sampler, struct profile_tally *tally,
                   struct error *error)
{
    struct session *session = &self->session;
    struct deadline deadline = session_deadline(session);
    int64_t end_us = deadline_now_us() + SAMPLED_US;
    bool hidden;
    char place[512];
    if (!sampler_find(sampler, &session->device, &hidden, &deadline, error))
        return false;
    session_place(session, session->device.chosen->halted_at, place, sizeof place);
    session->device.looks_only = true;
    if (!device_take(&session->device, false, place, &deadline, error) ||
        (hidden && !sampler_find(sampler, &session->device, &hidden, &deadline, error)) ||
        !sampler_begin(sampler, &deadline, error))
        return false;
    while (deadline_now_us() < end_us) {
        deadline = session_deadline(session);
        progress_show(&self->progress, "sampling, to find the hottest functions");
        if (!sampler_take(sampler, SAMPLES_US, tally, &deadline, error))
            return false;
    }
    deadline = session_last_deadline(session);
    sampler_end(sampler, tally, &deadline);
    sampler_settle(sampler, tally);
    return true;
}

static bool choose_hottest(struct survey_command *self, struct profile_tally *tally, struct error *error)
{
    struct profile_interval interval = {0};
    struct shares shares = {0};
    char *names[] = {NULL};
    if (!profile_tally_close(tally, (double)SAMPLED_US / 1e6, &interval))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    const struct profile profile = {
        .about = {.cores = names, .core_count = 1}, .intervals = &interval, .interval_count = 1};
    bool ok = shares_make(&profile, 0, SHARES_FUNCTION, self->session.symbols, &shares) ||
              error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; ok && i < shares.n && self->regions.n < options_of(self)->hot; i++)
        if (shares.rows[i].state == PROFILE_STATES)
            ok = survey_choose_at(&self->regions, self->session.symbols, shares.rows[i].address,
                                  options_of(self), error);
    shares_free(&shares);
    profile_interval_free(&interval);
    return ok && (self->regions.n > 0 ||
                  error_set(error, ERROR_STATE, "no sample of the program counter is in a function of %.128s",
                            options_of(self)->elf));
}

/* Samples need another hold on the target than counting does: all is undone in between. */
static bool find_hottest(struct survey_command *self, struct error *error)
{
    struct sampler sampler = {0};
    struct profile_tally tally = {0};
    struct session *session = &self->session;
    struct error after = {0};
    bool ok = session_sees_running(session, "--hot", error) && sample(self, &sampler, &tally, error) &&
              choose_hottest(self, &tally, error);
    progress_clear(&self->progress);
    sampler_free(&sampler);
    profile_tally_free(&tally);
    return ok && (session_undo(session, &after) || error_copy(error, &after)) &&
           session_look_again(session, options_of(self)->core, error);
}

/* --- which functions ------------------------------------------------------------------------------------ */

static bool check_operands(const struct survey_command *self, struct error *error)
{
    const struct options *options = options_of(self);
    if (options->elf == NULL)
        return error_set(error, ERROR_ELF,
                         "functions are found by name, and there is no ELF file to look them up in");
    if (options->n_operands == 0 && options->hot == 0)
        return error_set(error, ERROR_USAGE,
                         "survey needs a PATTERN of function names, such as 'filter_*', or --hot N");
    return options->n_operands == 0 || options->hot == 0 ||
           error_set(error, ERROR_USAGE,
                     "a PATTERN and --hot both say which functions; leave one of them out");
}

static bool choose(struct survey_command *self, struct error *error)
{
    const struct options *options = options_of(self);
    for (size_t i = 0; i < options->n_operands; i++)
        if (!survey_choose(&self->regions, self->session.symbols, options->operands[i], options, error))
            return false;
    return true;
}

/* --- the result ----------------------------------------------------------------------------------------- */

static void add_note(struct conditions *conditions, const char *text)
{
    size_t used = strlen(conditions->note);
    if (text[0] != '\0' && used < sizeof conditions->note)
        snprintf(conditions->note + used, sizeof conditions->note - used, "%s%s", used > 0 ? "; " : "", text);
}

static void describe_region(const struct survey_command *self, struct survey_region *region)
{
    struct conditions *conditions = &region->summary->conditions;
    *conditions = self->conditions;
    conditions->note[0] = '\0'; /* the header has it */
    snprintf(conditions->start, sizeof conditions->start, "%s", region->named.start.name);
    snprintf(conditions->start_source, sizeof conditions->start_source, "%s", region->named.start.source);
    snprintf(conditions->end, sizeof conditions->end, "its return");
    conditions->start_address = region->named.region.start;
    process_note(&region->named.region.process, conditions->note, sizeof conditions->note);
    add_note(conditions, region->named.start.note);
    add_note(conditions, region->limit);
}

static double column_mean(const void *context, size_t i)
{
    const struct column *column = &((const struct summary *)context)->columns[i];
    if (column->at_least > 0 || statistics_count(column->statistics) == 0)
        return (double)NAN;
    return statistics_mean(column->statistics);
}

static bool print(struct survey_command *self, const struct error *why)
{
    const struct context *context = self->session.context;
    struct survey survey = {.conditions = self->conditions,
                            .n = self->regions.n,
                            .seconds = (double)(deadline_now_us() - self->turns.begun_us) / 1e6};
    survey.rows = calloc(survey.n + 1, sizeof *survey.rows);
    if (survey.rows == NULL)
        return false;
    for (size_t i = 0; i < survey.n; i++) {
        struct survey_region *region = &self->regions.at[i];
        struct summary *summary = region->summary;
        survey.rows[i] =
            (struct survey_row){.name = region->named.start.name, .summary = summary, .why = region->why};
        if (summary == NULL) {
            if (region->why[0] == '\0' && region->seen)
                snprintf(region->why, sizeof region->why,
                         "it was called, but not again while it had its turns");
            continue;
        }
        describe_region(self, region);
        summary->n_metrics = counting_metrics(&self->counting, column_mean, summary,
                                              summary->conditions.clock_hz, summary->metrics);
    }
    if (why->kind != ERROR_NONE)
        snprintf(survey.ended, sizeof survey.ended, "%.255s",
                 why->kind == ERROR_CANCELLED ? "Ctrl-C" : why->text);
    bool ok = survey_sort(&survey);
    if (ok && context->options->format == FORMAT_JSON)
        ok = survey_json(context->out, &survey);
    else if (ok)
        survey_table(context->out, &survey, terminal_columns(context->out));
    free(survey.rows);
    return ok;
}

static void print_header(struct survey_command *self)
{
    const struct context *context = self->session.context;
    const struct plan *plan = self->counting.plan;
    struct column columns[PLAN_COLUMNS] = {0};
    for (size_t i = 0; i < plan->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    if (context->options->format == FORMAT_TEXT)
        text_header(context->out, &self->conditions);
    else if (!survey_json_header(context->out, &self->conditions, columns, plan->n_columns))
        self->unwritten = true;
}

/* --- the command ---------------------------------------------------------------------------------------- */

static bool measure(struct survey_command *self, struct error *error)
{
    struct session *session = &self->session;
    const struct options *options = options_of(self);
    self->turns = (struct survey_turns){.session = session,
                                        .counting = &self->counting,
                                        .regions = &self->regions,
                                        .progress = &self->progress,
                                        .begun_us = deadline_now_us(),
                                        .for_us = (int64_t)(options->for_s * 1e6),
                                        .hits = options->hits};
    if (!session_trial(session, &self->turns.clock, &self->turns.seen_hz, error) ||
        !counting_open(&self->counting, session, &self->turns.clock, error))
        return false;
    session->device.slow_clock = clock_is_slow(&self->turns.clock);
    session_conditions(session, &self->turns.clock, &self->conditions);
    print_header(self);
    bool ok = survey_take_turns(&self->turns, error);
    survey_end_turns(&self->turns);
    progress_clear(&self->progress);
    return ok;
}

static bool any_hits(const struct survey_command *self)
{
    for (size_t i = 0; i < self->regions.n; i++)
        if (self->regions.at[i].summary != NULL)
            return true;
    return false;
}

/* Readings that mean nothing must not end in a table. */
static bool is_printable(const struct survey_command *self, const struct error *error)
{
    return self->counting.plan != NULL && error->kind != ERROR_WRITTEN &&
           (error->kind == ERROR_NONE || any_hits(self));
}

int command_survey(const struct context *context, struct error *error)
{
    struct survey_command self = {.session = {.context = context, .may_stop = true}};
    if (!context->options->quiet)
        progress_begin(&self.progress, stderr);
    bool ok = check_operands(&self, error) && session_open_elf(&self.session, error) &&
              counting_check_tick(&self.session, error) && choose(&self, error) &&
              session_open_target(&self.session, error) && session_check_run_control(&self.session, error) &&
              (context->options->hot == 0 || find_hottest(&self, error)) &&
              session_take(&self.session, error) && measure(&self, error);
    struct error after = {0};
    bool closed = session_close(&self.session, &after);
    if (closed)
        session_forgive(&self.session, error);
    if (is_printable(&self, error)) {
        if (any_hits(&self))
            command_has_result(context);
        self.unwritten = !print(&self, error) || self.unwritten;
    }
    if (error->kind == ERROR_CANCELLED && any_hits(&self)) { /* Ctrl-C ends a survey that has enough */
        error_clear(error);
        ok = true;
    }
    if (ok && !any_hits(&self))
        ok = error_advise(error, ERROR_START, "Does the program call them? A longer --for looks longer.",
                          "none of %zu functions was reached", self.regions.n);
    survey_regions_free(&self.regions);
    counting_close(&self.counting);
    if (!closed) {
        ok = error_add(error, &after);
        error->advice = after.advice != NULL ? after.advice : error->advice;
    }
    if (self.unwritten)
        ok = error_set(error, ERROR_SYSTEM, "the output could not be written");
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
