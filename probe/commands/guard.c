/* SPDX-License-Identifier: MIT */
/* guard FUNCTION --budget: stops the core where a call has used up its budget. */
#include "commands/measure.h"
#include "report/json.h"
#include "report/place_report.h"
#include "run/budget.h"
#include "run/overruns.h"

#include <stdio.h>

struct guarding {
    struct measuring of;
    struct session session;
    struct budget_run run;
    struct output text; /* what is for people, if -o names a file for the overruns */
    struct guard_report report;
    struct overruns overruns; /* of its `out`, if -o names a file for them */
};

static bool guard_on_overrun(void *context, const struct guard_overrun *overrun, struct error *error)
{
    struct guarding *self = context;
    progress_clear(&self->of.progress);
    command_has_result(self->of.context);
    return overruns_add(&self->overruns, overrun, error) &&
           command_wrote(guard_report_overrun(&self->report, overrun), error);
}

static void on_returned(void *context, uint64_t number, struct guard_count counted, bool unproved)
{
    struct guarding *self = context;
    guard_report_returned(&self->report, number, counted, unproved);
}

static void guard_on_left(void *context, uint64_t number)
{
    struct guarding *self = context;
    overruns_left(&self->overruns);
    guard_report_left(&self->report, number);
}

static void guard_on_tick(void *context, uint64_t calls, enum engine_wait wait)
{
    struct guarding *self = context;
    progress_count(&self->of.progress, calls, 0, "calls",
                   wait == WAIT_END ? "in a call" : "waiting for a call");
}

static bool guard_begin(void *context, struct error *error)
{
    struct guarding *self = context;
    const struct context *command = self->of.context;
    struct budget_run *run = &self->run;
    self->report = (struct guard_report){.out = self->overruns.out != NULL ? self->text.file : command->out,
                                         .format = command->options->format,
                                         .symbols = self->session.symbols,
                                         .event = run->way->picks[0].name,
                                         .errata = run->errata,
                                         .way = counter_stop_name(&run->way->stop),
                                         .budget = run->budget,
                                         .budget_s = run->wanted.seconds};
    self->of.has_result = true;
    bool ok = command_wrote(guard_report_begin(&self->report, &self->of.conditions), error);
    if (conditions_no_time(&self->of.conditions, false, self->session.measured.may_sleep) != NULL)
        self->report.budget_s = 0; /* amounts are in the event alone */
    return ok && overruns_begin(&self->overruns, run, error);
}

static bool tell_change(struct guarding *self)
{
    FILE *out = self->report.out;
    const char *change = self->session.clock.change;
    bool misjudged = budget_run_is_misjudged(&self->run);
    if (!(self->run.wanted.seconds > 0) || (!misjudged && !self->session.clock.stops))
        return true;
    self->report.budget_s = 0;
    if (self->report.format != FORMAT_JSON)
        return fprintf(out, "%s: %s, and the budget is a time\n", misjudged ? "no verdict" : "no times",
                       change) > 0;
    struct json_part line = json_part_new("clock");
    json_part_text(&line, "clock_change", change);
    return json_part_write(out, line);
}

static bool guard_find(void *context, struct error *error)
{
    struct guarding *self = context;
    return budget_run_find(&self->run, self->of.context->options->operands[0], error);
}

static bool guard_prepare(void *context, struct error *error)
{
    struct guarding *self = context;
    if (self->overruns.out != NULL) {
        if (!output_open(&self->text, NULL, OUTPUT_REPLACES, self->of.context->around.cancel, error))
            return false;
        output_ends_the_run(&self->text);
    }
    return budget_run_read(&self->run, self->of.context->options->budget, error);
}

static bool guard_measure(void *context, struct error *error)
{
    struct guarding *self = context;
    return budget_run_measure(&self->run, error);
}

static bool guard_conclude(void *context, struct error *error)
{
    struct guarding *self = context;
    const struct guard_result *result = &self->run.guard.result;
    bool over = guard_is_over(result);
    self->of.code = budget_run_is_misjudged(&self->run) ? EXIT_NOT_COMPARABLE
                    : over                              ? EXIT_REGRESSED
                    : result->unclear > 0               ? EXIT_INCONCLUSIVE
                                                        : EXIT_DONE;
    self->of.cut = result->end == GUARD_CANCELLED && !over;
    if (over) /* however the run ended, and if nobody reads the rest */
        command_judges(self->of.context, self->of.code);
    if (!overruns_end(&self->overruns, result, self->of.why, error))
        return false;
    self->report.doubt = self->run.doubt;
    if (!tell_change(self) || !guard_report_end(&self->report, result))
        self->of.unwritten = true;
    return result->calls > 0 || self->of.why->kind == ERROR_NONE;
}

static void guard_free(void *context)
{
    struct guarding *self = context;
    bool left = false;
    struct error untold = {0};
    if (self->text.file != NULL && !output_close(&self->text, KEEP_ALL, &left, &untold))
        self->of.unwritten = true;
    if (left)
        command_is_left(self->of.context);
    overruns_free(&self->overruns);
}

int command_guard(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {.prepare = guard_prepare,
                                               .find = guard_find,
                                               .measure = guard_measure,
                                               .conclude = guard_conclude,
                                               .free = guard_free};
    struct guarding self = {.of = {.context = context},
                            .overruns.out = context->options->output != NULL ? context->out : NULL,
                            .session = {.request = &context->options->request,
                                        .around = &context->around,
                                        .needs_name = command_names(context->options),
                                        .may_stop = true}};
    self.of.session = &self.session;
    self.run = (struct budget_run){.session = &self.session,
                                   .progress = &self.of.progress,
                                   .conditions = &self.of.conditions,
                                   .context = &self,
                                   .begin = guard_begin,
                                   .sink = {.context = &self,
                                            .overrun = guard_on_overrun,
                                            .returned = on_returned,
                                            .left = guard_on_left,
                                            .tick = guard_on_tick}};
    int code = measure_command(&self, &parts, error);
    bool no_clock = error->kind == ERROR_USAGE && self.session.clock.doubt[0] != '\0'; /* a budget in time */
    return no_clock ? EXIT_NOT_COMPARABLE : code;
}
