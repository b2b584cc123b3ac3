/* SPDX-License-Identifier: MIT */
/* delta FUNCTION, delta START END: the main job. */
#include "run/delta.h"
#include "base/values.h"
#include "commands/cockpit.h"
#include "commands/compare.h"
#include "commands/measure.h"
#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/delta_report.h"
#include "report/json.h"
#include "report/stays_report.h"

#include <stdio.h>
#include <stdlib.h>

struct delta_command {
    struct measuring of;
    struct delta_run run;
    struct hit_times *times;   /* of --format html; NULL: none yet */
    struct baseline *baseline; /* NULL: without --baseline */
    struct timeline timeline;  /* of FORMAT_PERFETTO */
};

static bool delta_draws(const struct delta_command *self)
{
    return self->of.context->options->format == FORMAT_PERFETTO;
}

static void delta_stay(void *context, const struct trace_stay *stay)
{
    struct delta_command *self = context;
    if (delta_draws(self))
        timeline_stay(&self->timeline, stay);
}

static void delta_lost(void *context, uint64_t cycles)
{
    struct delta_command *self = context;
    if (delta_draws(self))
        timeline_lost(&self->timeline, cycles);
}

static void delta_put_hit(void *context, const struct hit_result *hit)
{
    struct delta_command *self = context;
    const struct context *command = self->of.context;
    if (command->options->format == FORMAT_JSON && !json_hit(command->out, hit, &self->run.summary))
        self->of.unwritten = true;
    else if (command->options->format == FORMAT_HTML)
        delta_keep_hit(&self->of.document, self->times, json_hit_part(hit, &self->run.summary),
                       self->run.summary.columns[0].name);
}

static bool delta_begin_result(void *context, struct error *error)
{
    struct delta_command *self = context;
    free(self->times); /* of a run with another counter */
    self->times = calloc(1, sizeof *self->times);
    if (self->times == NULL)
        return error_memory(error);
    if (!measure_begin(&self->of,
                       json_plan_header(JSON_SCHEMA, NULL, &self->of.conditions, self->run.counting.plan),
                       error))
        return false;
    if (!delta_draws(self))
        return true;
    self->timeline = (struct timeline){.out = self->of.context->out, .hz = self->of.conditions.clock_hz};
    timeline_begin(&self->timeline, &self->of.conditions);
    timeline_name(&self->timeline, 1, self->run.named.start.name);
    return command_wrote(self->timeline.ok, error);
}

static bool delta_read_baseline(struct delta_command *self, struct error *error)
{
    const struct options *options = self->of.context->options;
    if (options->baseline == NULL)
        return true;
    self->baseline = calloc(1, sizeof *self->baseline);
    if (self->baseline == NULL)
        return error_memory(error);
    return verdicts_threshold(options, &self->run.threshold, error) &&
           baseline_read(options->baseline, self->of.context->around.cancel, self->baseline, error);
}

static bool delta_find(void *context, struct error *error)
{
    struct delta_command *self = context;
    const struct options *options = self->of.context->options;
    if (delta_draws(self) && !options->request.no_halt)
        return error_set(error, ERROR_USAGE, "--format perfetto needs --no-halt");
    return delta_run_find(&self->run, options->operands[0],
                          options->n_operands > 1 ? options->operands[1] : NULL, error);
}

static bool delta_prepare(void *context, struct error *error)
{
    struct delta_command *self = context;
    return self->of.within || delta_read_baseline(self, error);
}

static bool delta_run(void *context, struct error *error)
{
    struct delta_command *self = context;
    bool ok = delta_run_measure(&self->run, error);
    self->of.has_result = delta_run_has_result(&self->run, error);
    if (delta_draws(self) && !self->timeline.ok)
        self->of.unwritten = self->of.has_result;
    return ok;
}

static bool delta_conclude(void *context, struct error *error)
{
    struct delta_command *self = context;
    struct document *document = &self->of.document;
    struct summary *summary = &self->run.summary;
    struct json_part line = json_part_new("summary");
    bool tainted = summary_is_tainted(summary), ok = true;
    delta_run_end(&self->run);
    if (tainted && self->of.why->kind == ERROR_NONE)
        snprintf(summary->advice, sizeof summary->advice, "%s", RESULT_TAINTED);
    snprintf(summary->ended, sizeof summary->ended, "%s", self->of.ended);
    json_summary_fill(&line, summary);
    slowest_lines(self->run.slowest, document, summary, &line);
    document_add(document, line);
    document->times = self->times;
    if (self->baseline != NULL) {
        struct baseline now;
        ok = baseline_live(&now, summary);
        struct json_part verdict =
            runs_compare(self->baseline, &now, self->run.threshold, baseline_columns(&now));
        baseline_free(&now);
        self->of.code = verdicts_exit_code(line_verdict(verdict.json));
        document_add(document, verdict);
    }
    bool no_mean = summary->calls.seen > 0 && summary->columns[0].unsupported[0] != '\0';
    measure_tainted(&self->of, tainted || no_mean);
    return ok || error_memory(error);
}

static void delta_free(void *context)
{
    struct delta_command *self = context;
    if (self->baseline != NULL)
        baseline_free(self->baseline);
    free(self->baseline);
    free(self->times);
    delta_run_free(&self->run);
}

static int run_delta(struct session *session, const struct context *context, bool within, struct error *error)
{
    static const struct measure_parts parts = {.prepare = delta_prepare,
                                               .find = delta_find,
                                               .measure = delta_run,
                                               .conclude = delta_conclude,
                                               .write = delta_write,
                                               .free = delta_free};
    struct delta_command self = {.of = {.context = context, .session = session, .within = within}};
    self.run = (struct delta_run){.session = session,
                                  .progress = &self.of.progress,
                                  .conditions = &self.of.conditions,
                                  .hits_are_final = context->options->format == FORMAT_JSON,
                                  .context = &self,
                                  .begin = delta_begin_result,
                                  .hit = delta_put_hit,
                                  .stay = delta_stay,
                                  .lost = delta_lost};
    return measure_command(&self, &parts, error);
}

bool delta_within(struct session *session, const void *context, struct error *error)
{
    return run_delta(session, context, true, error) == EXIT_DONE;
}

int command_delta(const struct context *context, struct error *error)
{
    struct session session = {.request = &context->options->request,
                              .around = &context->around,
                              .needs_name = command_names(context->options),
                              .may_stop = !context->options->request.no_halt};
    return run_delta(&session, context, false, error);
}
