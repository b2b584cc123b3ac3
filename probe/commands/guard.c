/* guard FUNCTION --budget: stops the core where a call has used up its budget. */
#include "commands/measure.h"
#include "commands/profiling.h"
#include "report/json.h"
#include "report/place_report.h"
#include "report/profile_file.h"
#include "run/budget.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct guarding {
    struct measuring of;
    struct session session;
    struct budget_run run;
    struct output text; /* what is for people, if -o names a file for the overruns */
    struct guard_report report;
    struct profile_about about; /* of the overruns, if -o names a file for them */
    struct profile_tally tally;
    struct guard_overrun held; /* an overrun that may turn out to be none */
    bool is_held;
};

/* --- the profile of the overruns ------------------------------------------------------------------------ */

static bool has_profile(const struct guarding *self)
{
    return self->of.context->options->output != NULL;
}

static bool begin_profile(struct guarding *self, struct error *error)
{
    char source[sizeof self->of.conditions.start + EVENT_NAME + 64];
    const struct device *device = &self->session.device;
    struct profile_about *about = &self->about;
    if (!has_profile(self))
        return true;
    snprintf(source, sizeof source, "calls of %s over %" PRIu64 " %s", self->of.conditions.start,
             self->run.budget, self->run.way->picks[0].name);
    about->cores = calloc(1, sizeof *about->cores);
    about->numbers = calloc(1, sizeof *about->numbers);
    about->source = strdup(source);
    if (about->cores == NULL || about->numbers == NULL || about->source == NULL)
        return error_memory(error);
    about->cores[0] = strdup(device->chosen->core.name);
    about->numbers[0] = (unsigned)(device->chosen - device->cores);
    about->core_count = 1;
    pc_samples_about(&self->session, about);
    return profiling_wrote(profile_file_begin(self->of.context->out, about), error);
}

static bool add_sample(struct guarding *self, const struct guard_overrun *overrun, struct error *error)
{
    const struct unwind_stack *stack = &overrun->place.stack;
    if (!has_profile(self))
        return true;
    if (!overrun->has_pc) {
        self->tally.now.states[PROFILE_NOT_PERMITTED]++;
        return true;
    }
    return (call_stacks_add_found(&self->tally.now.stacks, stack) &&
            profile_tally_add(&self->tally, unwind_place(&stack->at[0]), 1)) ||
           error_memory(error);
}

/* Whether such a call was left is known later. */
static bool hold_sample(struct guarding *self, const struct guard_overrun *overrun)
{
    self->held = *overrun;
    self->is_held = true;
    return true;
}

static bool add_held(struct guarding *self, struct error *error)
{
    bool was_held = self->is_held;
    self->is_held = false;
    return !was_held || add_sample(self, &self->held, error);
}

static bool end_profile(struct guarding *self, const struct error *why, struct error *error)
{
    FILE *out = self->of.context->out;
    struct profile_interval interval = {0};
    const struct guard_result *result = &self->run.guard.result;
    const struct error none = {0};
    if (!add_held(self, error))
        return false;
    if (!has_profile(self) || profile_tally_is_empty(&self->tally))
        return true;
    if (!profile_tally_close(&self->tally, result->elapsed_s, &interval))
        return error_memory(error);
    int written = profile_file_add(out, &interval);
    profile_interval_free(&interval);
    return profiling_wrote(written, error) &&
           profiling_end(out, result->elapsed_s, result->overruns, result->end == GUARD_FAILED ? why : &none,
                         result->end == GUARD_CANCELLED, error);
}

/* --- what the user sees --------------------------------------------------------------------------------- */

static bool guard_on_overrun(void *context, const struct guard_overrun *overrun, struct error *error)
{
    struct guarding *self = context;
    progress_clear(&self->of.progress);
    command_has_result(self->of.context);
    return add_held(self, error) &&
           (overrun->is_elsewhere ? hold_sample(self, overrun) : add_sample(self, overrun, error)) &&
           command_wrote(guard_report_overrun(&self->report, overrun), error);
}

static void on_returned(void *context, uint64_t number, uint64_t counted)
{
    struct guarding *self = context;
    guard_report_returned(&self->report, number, counted);
}

static void guard_on_left(void *context, uint64_t number)
{
    struct guarding *self = context;
    self->is_held = false;
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
    self->report = (struct guard_report){.out = has_profile(self) ? self->text.file : command->out,
                                         .format = command->options->format,
                                         .symbols = self->session.symbols,
                                         .event = run->way->picks[0].name,
                                         .errata = run->errata,
                                         .way = counter_stop_name(&run->way->stop),
                                         .budget = run->budget,
                                         .budget_s = run->wanted.seconds};
    self->of.has_result = true;
    return command_wrote(guard_report_begin(&self->report, &self->of.conditions), error) &&
           begin_profile(self, error);
}

static bool tell_change(struct guarding *self, struct error *error)
{
    FILE *out = self->report.out;
    const char *change = self->session.clock.change;
    if (!budget_run_is_misjudged(&self->run))
        return true;
    if (self->report.format != FORMAT_JSON)
        return command_wrote(fprintf(out, "no verdict: %s, and the budget is a time\n", change) > 0, error);
    struct json_part line = json_part_new("clock");
    json_part_text(&line, "clock_change", change);
    return command_wrote(json_part_write(out, line), error);
}

/* --- the command ---------------------------------------------------------------------------------------- */

static bool guard_find(void *context, struct error *error)
{
    struct guarding *self = context;
    return budget_run_find(&self->run, self->of.context->options->operands[0], error);
}

static bool guard_prepare(void *context, struct error *error)
{
    struct guarding *self = context;
    if (has_profile(self)) {
        if (!output_open(&self->text, NULL, OUTPUT_REPLACES, self->of.context->around.cancel, error))
            return false;
        output_ends_the_run(&self->text);
    }
    return budget_run_read(&self->run, self->of.context->options->budget, error) &&
           measure_open(self, guard_find, error);
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
    bool over = result->overruns > 0 || result->unstopped > 0;
    self->of.code = budget_run_is_misjudged(&self->run) ? EXIT_NOT_COMPARABLE
                    : over                              ? EXIT_REGRESSED
                                                        : EXIT_DONE;
    return end_profile(self, self->of.why, error) && tell_change(self, error) &&
           command_wrote(guard_report_end(&self->report, result), error) &&
           (result->calls > 0 || self->of.why->kind == ERROR_NONE);
}

static void guard_free(void *context)
{
    struct guarding *self = context;
    bool left;
    struct error untold = {0};
    if (self->text.file != NULL && !output_close(&self->text, KEEP_ALL, &left, &untold))
        self->of.unwritten = true;
    profile_tally_free(&self->tally);
    profile_about_free(&self->about);
}

int command_guard(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = guard_prepare, .measure = guard_measure, .conclude = guard_conclude, .free = guard_free};
    struct guarding self = {.of = {.context = context},
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
