/* SPDX-License-Identifier: MIT */
/* survey: many functions in one run. */
#include "run/survey.h"
#include "commands/compare.h"
#include "commands/measure.h"
#include "report/survey_report.h"

#include <stdlib.h>

struct survey_command {
    struct measuring of;
    struct session session;
    struct survey_run run;
    struct survey_judge judge;
    struct runs *before;   /* its, owned; NULL: without --baseline */
    struct output written; /* of --write-regions; its file is NULL without it */
};

static const struct options *survey_options_of(const struct survey_command *self)
{
    return self->of.context->options;
}

static bool survey_read_runs(struct survey_command *self, struct error *error)
{
    const struct options *options = survey_options_of(self);
    self->judge.checks = options->check;
    if (options->baseline == NULL)
        return true;
    self->judge.before = self->before = calloc(1, sizeof *self->before);
    return (self->before != NULL || error_memory(error)) &&
           verdicts_threshold(options, &self->judge.threshold, error) &&
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
                         "survey needs a PATTERN such as 'filter_*', --hot N or --regions FILE");
    if (ways > 1)
        return error_set(error, ERROR_USAGE, "give one of PATTERN, --hot and --regions");
    return survey_read_runs(self, error) &&
           survey_run_choose(&self->run, options->operands, options->n_operands, options->regions, error) &&
           begin_regions(self, error);
}

/* `wanted`: a function was reached, so that there is something to write. */
static bool end_regions(struct survey_command *self, bool wanted, struct error *error)
{
    struct output written = self->written;
    bool left, ok = true;
    if (written.file == NULL)
        return true;
    if (wanted)
        ok = survey_run_write_regions(&self->run, written.file);
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
    enum verdict verdict;
    if (!survey_run_lines(run, &self->judge, self->of.ended, &self->of.document, &verdict))
        return error_memory(error);
    self->of.code = verdicts_exit_code(verdict);
    measure_tainted(&self->of, survey_run_is_tainted(run));
    if (self->of.why->kind != ERROR_NONE)
        return true;
    return survey_run_has_hits(run) ? end_regions(self, true, error) : error_copy(error, &run->none);
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
    static const struct measure_parts parts = {.find = survey_find,
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
