/* survey: many functions in one run. */
#include "run/survey.h"
#include "commands/compare.h"
#include "commands/measure.h"
#include "run/survey_judge.h"
#include "report/comparison.h"
#include "report/survey.h"
#include "report/survey_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct survey_command {
    struct measuring of;
    struct session session;
    struct survey_run run;
    struct runs *before;   /* NULL: without --baseline */
    struct output written; /* of --write-regions; its file is NULL without it */
    double threshold;
};

static const struct options *survey_options_of(const struct survey_command *self)
{
    return self->of.context->options;
}

/* --- which functions ------------------------------------------------------------------------------------ */

static bool survey_read_runs(struct survey_command *self, struct error *error)
{
    const struct options *options = survey_options_of(self);
    if (options->baseline == NULL)
        return true;
    self->before = calloc(1, sizeof *self->before);
    return (self->before != NULL || error_set(error, ERROR_SYSTEM, "out of memory")) &&
           verdicts_threshold(options, &self->threshold, error) &&
           runs_read(options->baseline, self->of.context->around.cancel, self->before, error);
}

/* Before the target is touched. */
static bool begin_regions(struct survey_command *self, struct error *error)
{
    const char *path = survey_options_of(self)->write_regions;
    if (path != NULL && output_open(&self->written, path, OUTPUT_NEW, self->of.context->around.cancel, error))
        return true;
    self->written.file = NULL;
    return path == NULL;
}

static bool survey_find(void *context, struct error *error)
{
    struct survey_command *self = context;
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
    return survey_read_runs(self, error) &&
           survey_run_choose(&self->run, options->operands, options->n_operands, options->regions, error) &&
           begin_regions(self, error);
}

/* --- the result ----------------------------------------------------------------------------------------- */

static void survey_describe_region(const struct survey_command *self, struct survey_region *region)
{
    struct conditions *conditions = &region->summary->conditions;
    *conditions = self->of.conditions;
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
    counting_summary(&self->run.counting, summary->conditions.clock_hz, summary);
    if (summary_is_tainted(summary))
        snprintf(summary->advice, sizeof summary->advice, "%s", RESULT_TAINTED);
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
    for (size_t i = 0; ok && i < self->run.regions.n; i++) {
        const struct survey_region *region = &self->run.regions.at[i];
        struct region_line line;
        if (region->summary == NULL)
            continue;
        make_line(region, &line);
        ok = region_file_write(out, &line);
    }
    return ok;
}

/* `wanted`: a function was reached, so that there is something to write. */
static bool end_regions(struct survey_command *self, bool wanted, struct error *error)
{
    struct output written = self->written;
    bool left, ok = true;
    if (written.file == NULL)
        return true;
    if (wanted)
        ok = write_regions(self);
    self->written.file = NULL;
    return output_close(&written, wanted && ok ? KEEP_ALL : KEEP_NOTHING, &left, error) &&
           (ok || error_set(error, ERROR_SYSTEM, "%.256s could not be written",
                            survey_options_of(self)->write_regions));
}

static bool survey_begin(void *context, struct error *error)
{
    struct survey_command *self = context;
    return measure_begin(
        &self->of, json_plan_header(JSON_SCHEMA_2, "survey", &self->of.conditions, self->run.counting.plan),
        error);
}

static bool survey_prepare(void *context, struct error *error)
{
    return measure_open(context, survey_find, error);
}

static bool survey_measure(void *context, struct error *error)
{
    struct survey_command *self = context;
    bool ok = survey_run_measure(&self->run, error);
    self->of.has_result = survey_run_has_result(&self->run, error);
    return ok;
}

static bool survey_conclude(void *context, struct error *error)
{
    struct survey_command *self = context;
    struct survey_run *run = &self->run;
    bool any = survey_run_has_hits(run);
    const struct survey_judge judge = {.regions = &run->regions,
                                       .conditions = &self->of.conditions,
                                       .before = self->before,
                                       .threshold = self->threshold,
                                       .checks = survey_options_of(self)->check};
    struct survey survey = {.conditions = self->of.conditions,
                            .n = run->regions.n,
                            .samples = run->heat.samples,
                            .seconds =
                                (double)(deadline_now_us() - run->turns.begun_us + run->heat.took_us) / 1e6,
                            .rest_s = survey_run_rest_s(run)};
    struct verdict_line *budgets = NULL;
    snprintf(survey.not_sampled, sizeof survey.not_sampled, "%s", run->heat.none);
    snprintf(survey.ended, sizeof survey.ended, "%s", self->of.ended);
    survey.rows = calloc(survey.n + 1, sizeof *survey.rows);
    if (survey.rows == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < survey.n; i++)
        fill_row(self, &run->regions.at[i], &survey.rows[i]);
    bool ok = survey_judge(&judge, &survey, &budgets) && survey_sort(&survey);
    if (ok && survey.judged)
        self->of.code = verdicts_exit_code(survey_verdict(&survey));
    if (self->of.code == EXIT_DONE && self->of.why->kind == ERROR_NONE && survey_run_is_tainted(run))
        self->of.code = EXIT_TAINTED;
    survey_lines(&self->of.document, &survey);
    for (size_t i = 0; i < survey.n; i++)
        json_decref(survey.rows[i].comparison);
    free(budgets);
    free(survey.rows);
    if (!ok)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (self->of.why->kind != ERROR_NONE)
        return true;
    return any ? end_regions(self, true, error) : error_copy(error, &run->none);
}

static void survey_free(void *context)
{
    struct survey_command *self = context;
    struct error none = {0};
    (void)end_regions(self, false, &none);
    if (self->before != NULL)
        runs_free(self->before);
    free(self->before);
    survey_run_free(&self->run);
}

int command_survey(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {.prepare = survey_prepare,
                                               .measure = survey_measure,
                                               .conclude = survey_conclude,
                                               .write = survey_write,
                                               .free = survey_free};
    const struct options *options = context->options;
    struct survey_command self = {
        .of = {.context = context},
        .session = {
            .request = &options->request, .around = &context->around, .needs_elf = true, .may_stop = true}};
    self.of.session = &self.session;
    self.run = (struct survey_run){.session = &self.session,
                                   .progress = &self.of.progress,
                                   .conditions = &self.of.conditions,
                                   .keeps_order = options->write_regions != NULL,
                                   .compares = options->baseline != NULL,
                                   .context = &self,
                                   .begin = survey_begin};
    return measure_command(&self, &parts, error);
}
