/* SPDX-License-Identifier: MIT */
/* lines: what each line of a function costs, by stops at all places where another line begins. */
#include "run/lines.h"
#include "commands/cockpit.h"
#include "commands/measure.h"
#include "report/json.h"
#include "report/line_table.h"

#include <stdio.h>

struct lines_command {
    struct measuring of;
    struct lines_run run;
};

static bool lines_begin(void *context, struct error *error)
{
    struct lines_command *self = context;
    return measure_begin(&self->of, json_plan_header(JSON_SCHEMA_2, "lines", &self->of.conditions, NULL),
                         error);
}

static bool lines_find(void *context, struct error *error)
{
    struct lines_command *self = context;
    return lines_run_find(&self->run, self->of.context->options->operands[0], error);
}

static bool lines_walk(void *context, struct error *error)
{
    struct lines_command *self = context;
    bool ok = lines_run_measure(&self->run, error);
    self->of.has_result = self->run.costs.calls > 0 && error->kind != ERROR_WRITTEN;
    return ok;
}

static bool lines_conclude(void *context, struct error *error)
{
    struct lines_command *self = context;
    struct lines_run *run = &self->run;
    struct line_report report = {.conditions = self->of.conditions,
                                 .function = &run->named.start,
                                 .listing = &run->listing,
                                 .texts = run->texts,
                                 .costs = &run->costs,
                                 .whole = &run->whole};
    (void)error;
    snprintf(report.limit, sizeof report.limit, "%s", run->limit);
    snprintf(report.ended, sizeof report.ended, "%s", self->of.ended);
    line_costs_end(&run->costs);
    for (size_t i = 0; i < run->blocks.n; i++)
        report.unframed =
            report.unframed || (run->blocks.at[i].is_unframed && run->costs.of_block[i].all.hits > 0);
    line_report_lines(&self->of.document, &report);
    return true;
}

static void lines_free(void *context)
{
    struct lines_command *self = context;
    lines_run_free(&self->run);
}

static int lines_run_command(struct session *session, const struct context *context, bool within,
                             struct error *error)
{
    static const struct measure_parts parts = {.find = lines_find,
                                               .measure = lines_walk,
                                               .conclude = lines_conclude,
                                               .write = line_write,
                                               .free = lines_free};
    struct lines_command self = {.of = {.context = context, .session = session, .within = within}};
    self.run = (struct lines_run){.session = session,
                                  .progress = &self.of.progress,
                                  .conditions = &self.of.conditions,
                                  .context = &self,
                                  .begin = lines_begin};
    return measure_command(&self, &parts, error);
}

bool lines_within(struct session *session, const void *context, struct error *error)
{
    return lines_run_command(session, context, true, error) == EXIT_DONE;
}

int command_lines(const struct context *context, struct error *error)
{
    struct session session = {.request = &context->options->request,
                              .around = &context->around,
                              .needs_name = command_names(context->options),
                              .may_stop = true};
    return lines_run_command(&session, context, false, error);
}
