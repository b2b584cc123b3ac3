/* guard FUNCTION --budget: stops the core where a call has used up its budget. */
#include "profile/guard.h"
#include "base/values.h"
#include "commands/command.h"
#include "commands/profiling.h"
#include "report/canvas.h"
#include "report/json.h"
#include "report/place_report.h"
#include "report/profile_file.h"
#include "run/engine_use.h"
#include "run/pc_samples.h"
#include "run/program.h"
#include "run/region.h"
#include "run/session.h"
#include "run/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two accesses at 10 MHz SWD are some 10 us apart. */
enum { SLOW_HZ = 4000000, TRIAL_EVENTS = 1000, TRIAL_MS = 300 };

struct guarding {
    const struct context *context;
    struct session session;
    struct named_region named;
    struct conditions conditions;
    struct clock clock;
    double seen_hz;             /* of session_try_counter */
    struct budget_value wanted; /* as the user gave it */
    struct event_request event;
    char errata[EVENT_ERRATA]; /* of it */
    uint64_t budget;           /* in events */
    struct guard_way {
        struct counter_stop stop;
        struct counter_pick picks[2];
        size_t n_picks;
    } ways[EVENT_STOP_WAYS], *way; /* the one that is used */
    struct stack_reader stacks;
    struct guard guard;
    struct output text; /* what is for people, if -o names a file for the overruns */
    struct guard_report report;
    struct progress progress;
    struct profile_about about; /* of the overruns, if -o names a file for them */
    struct profile_tally tally;
    struct guard_overrun held; /* an overrun that may turn out to be none */
    bool is_held;
    bool has_begun; /* the header is written */
};

static const struct options *guard_options_of(const struct guarding *self)
{
    return self->context->options;
}

/* --- the profile of the overruns ------------------------------------------------------------------------ */

static bool has_profile(const struct guarding *self)
{
    return guard_options_of(self)->output != NULL;
}

static bool begin_profile(struct guarding *self, struct error *error)
{
    char source[sizeof self->conditions.start + EVENT_NAME + 64];
    const struct device *device = &self->session.device;
    struct profile_about *about = &self->about;
    if (!has_profile(self))
        return true;
    snprintf(source, sizeof source, "calls of %s over %" PRIu64 " %s", self->conditions.start, self->budget,
             self->way->picks[0].name);
    about->cores = calloc(1, sizeof *about->cores);
    about->numbers = calloc(1, sizeof *about->numbers);
    about->source = strdup(source);
    if (about->cores == NULL || about->numbers == NULL || about->source == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    about->cores[0] = strdup(device->chosen->core.name);
    about->numbers[0] = (unsigned)(device->chosen - device->cores);
    about->core_count = 1;
    pc_samples_about(&self->session, about);
    return profiling_wrote(profile_file_begin(self->context->out, about), error);
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
           error_set(error, ERROR_SYSTEM, "out of memory");
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
    FILE *out = self->context->out;
    struct profile_interval interval = {0};
    const struct guard_result *result = &self->guard.result;
    const struct error none = {0};
    if (!add_held(self, error))
        return false;
    if (!has_profile(self) || profile_tally_is_empty(&self->tally))
        return true;
    if (!profile_tally_close(&self->tally, result->elapsed_s, &interval))
        return error_set(error, ERROR_SYSTEM, "out of memory");
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
    progress_clear(&self->progress);
    command_has_result(self->context);
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
    progress_count(&self->progress, calls, 0, "calls", wait == WAIT_END ? "in a call" : "waiting for a call");
}

static bool guard_print_begin(struct guarding *self, const struct engine *engine, struct error *error)
{
    struct conditions *conditions = &self->conditions;
    const struct context *command = self->context;
    session_conditions(&self->session, &self->clock, conditions);
    conditions_add_note(conditions, or_empty(engine->unproved));
    region_describe(&self->named, conditions);
    self->report = (struct guard_report){.out = has_profile(self) ? self->text.file : command->out,
                                         .format = command->options->format,
                                         .symbols = self->session.symbols,
                                         .event = self->way->picks[0].name,
                                         .errata = self->errata,
                                         .way = counter_stop_name(&self->way->stop),
                                         .budget = self->budget,
                                         .budget_s = self->wanted.seconds};
    self->has_begun = true;
    return command_wrote(guard_report_begin(&self->report, conditions), error);
}

/* --- the budget ----------------------------------------------------------------------------------------- */

static bool guard_read_budget(struct guarding *self, struct error *error)
{
    const char *text = guard_options_of(self)->budget;
    size_t n = 0;
    if (text == NULL)
        return error_advise(error, ERROR_USAGE,
                            "Such as --budget 40us, --budget 1200 or --budget \"10 "
                            "L1D_CACHE_REFILL\".",
                            "guard needs --budget: what a call may use");
    if (!value_budget(text, &self->wanted))
        return error_set(error, ERROR_USAGE,
                         "--budget takes cycles, a time or a number and an event, such as 1200, 40us or \"10 "
                         "L1D_CACHE_REFILL\"; got \"%.64s\"",
                         text);
    if (strpbrk(self->wanted.event, "{,") != NULL)
        return error_set(error, ERROR_USAGE, "--budget is of one event, and %.64s are several",
                         self->wanted.event);
    self->budget = self->wanted.events;
    return event_requests_parse(self->wanted.event, &self->event, 1, &n, error);
}

static bool find_budget(struct guarding *self, struct error *error)
{
    double events = ceil(self->wanted.seconds * self->clock.hz - 1e-6);
    if (!(self->wanted.seconds > 0))
        return true;
    if (!(self->clock.hz > 0))
        return error_advise(error, ERROR_USAGE, "--freq HZ says it; or give the budget in cycles.",
                            "a budget in time needs the core's clock, which is not known%s%s",
                            self->clock.doubt[0] != '\0' ? "; " : "", self->clock.doubt);
    if (!(events <= (double)INT32_MAX))
        return error_advise(error, ERROR_USAGE, "", "a budget of %g cycles is too much for one counter",
                            events);
    self->budget = (uint64_t)events;
    return true;
}

/* --- taking the core ------------------------------------------------------------------------------------ */

static bool guard_try_block(void *context, const char *name, unsigned number, struct error *error)
{
    struct guarding *self = context;
    struct guard_way *way = &self->ways[number];
    struct session *session = &self->session;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    struct counter_pick pick;
    bool proved;
    if (!device_take_block(device, name, &deadline, error) ||
        !event_stop_find(device, &self->event, &pick, self->errata, error) ||
        !trial_counter(session, &self->clock, &self->seen_hz, error) || !find_budget(self, error))
        return false;
    way->n_picks = counter_stop_choose(device->block, &pick, guard_most(self->budget), way->picks, error);
    if (way->n_picks == 0 || !device_program(device, way->picks, way->n_picks, &deadline, error) ||
        !counter_stop_take(&way->stop, device, way->picks, way->n_picks, &deadline, error))
        return false;
    if (self->budget > way->stop.most)
        return error_advise(error, ERROR_NO_COUNTER, "",
                            "the counter can be armed for %" PRIu64 " %s at most", way->stop.most, pick.name);
    self->way = way;
    return counter_stop_prove(&way->stop, self->budget < TRIAL_EVENTS ? self->budget : TRIAL_EVENTS, TRIAL_MS,
                              &proved, &deadline, error);
}

static bool guard_take_stop(struct guarding *self, struct error *error)
{
    if (event_stop_take(&self->session.device.chosen->core, &self->event, guard_try_block, self, error))
        return true;
    if (error->kind == ERROR_NO_COUNTER) {
        error_prefix(error, "nothing can stop this core at the budget: ");
        error->advice = error->advice != NULL ? error->advice : "";
    }
    return false;
}

static bool take_watched_stop(struct guarding *self, struct error *error)
{
    struct error why = {0}, watched = {0};
    if (guard_take_stop(self, &why))
        return true;
    if (!own_code_watch(&self->session, &why))
        return error_copy(error, &why);
    if (guard_take_stop(self, &watched))
        return true;
    /* What the program writes may be why the stop cannot be proved */
    bool no_better = error_is_written(&watched) || watched.kind == ERROR_NO_COUNTER;
    return error_copy(error, no_better ? &why : &watched);
}

static bool check_run_control(const struct guarding *self, struct error *error)
{
    return device_has_run_control(&self->session.device) ||
           error_advise(error, ERROR_USAGE, "",
                        "guard stops the core by its own debug registers, which are not at hand here: it "
                        "works through OpenOCD's Tcl port or a CMSIS-DAP probe; delta works here as well");
}

static bool guard_take(struct guarding *self, struct error *error)
{
    struct session *session = &self->session;
    own_code_measured(session, &self->named, true);
    return session_take_core(session, session->request->resume, error) && take_watched_stop(self, error) &&
           stack_reader_open(&self->stacks, &session->device,
                             (struct stack_stop){.counter = &self->way->stop}, session->symbols, error);
}

/* --- the run -------------------------------------------------------------------------------------------- */

static bool guard_run_engine(void *context, struct engine *engine, const struct deadline *deadline,
                             struct error *error)
{
    struct guarding *self = context;
    const struct request *request = self->session.request;
    self->session.device.slow_clock = self->clock.hz > 0 && self->clock.hz < SLOW_HZ;
    self->guard = (struct guard){.engine = engine,
                                 .plausible = plausible_begin(&self->session.device.reading,
                                                              self->session.device.block->counts_cycles,
                                                              &self->clock, self->seen_hz),
                                 .stop = &self->way->stop,
                                 .n_picks = self->way->n_picks,
                                 .stacks = &self->stacks,
                                 .options = {.budget = self->budget,
                                             .overruns = request->hits > 0 ? request->hits : 1,
                                             .keep = request->keep,
                                             .calibrate = !request->no_calibrate,
                                             .low = self->named.region.low,
                                             .high = self->named.region.high,
                                             .for_us = (int64_t)(request->for_s * 1e6),
                                             .timeout_ms = (int64_t)(request->timeout_s * 1000)},
                                 .sink = {.context = self,
                                          .overrun = guard_on_overrun,
                                          .returned = on_returned,
                                          .left = guard_on_left,
                                          .tick = guard_on_tick}};
    bool ok = engine->ops->arm(engine, &self->named.region, deadline, error) &&
              guard_print_begin(self, engine, error) && begin_profile(self, error) &&
              guard_run(&self->guard, deadline, error);
    progress_clear(&self->progress);
    return ok;
}

/* The budget was made into cycles by the clock at the beginning. */
static bool is_misjudged(const struct guarding *self)
{
    return self->wanted.seconds > 0 && self->session.clock.change[0] != '\0';
}

static bool tell_change(struct guarding *self, struct error *error)
{
    FILE *out = self->report.out;
    const char *change = self->session.clock.change;
    if (!is_misjudged(self))
        return true;
    if (self->report.format != FORMAT_JSON)
        return command_wrote(fprintf(out, "no verdict: %s, and the budget is a time\n", change) > 0, error);
    struct json_part line = json_part_new("clock");
    json_part_text(&line, "clock_change", change);
    return command_wrote(json_part_write(out, line), error);
}

static bool guard_print_end(struct guarding *self, const struct error *why, struct error *error)
{
    if (!self->has_begun)
        return true;
    if (self->guard.result.calls > 0)
        command_has_result(self->context);
    return end_profile(self, why, error) && tell_change(self, error) &&
           command_wrote(guard_report_end(&self->report, &self->guard.result), error);
}

static bool open_text(struct guarding *self, struct error *error)
{
    if (!has_profile(self))
        return true;
    if (!output_open(&self->text, NULL, OUTPUT_REPLACES, self->context->around.cancel, error))
        return false;
    output_ends_the_run(&self->text);
    return true;
}

static bool close_text(struct guarding *self, struct error *error)
{
    bool left;
    return self->text.file == NULL || output_close(&self->text, KEEP_ALL, &left, error);
}

int command_guard(const struct context *context, struct error *error)
{
    struct guarding self = {.context = context,
                            .session = {.request = &context->options->request,
                                        .around = &context->around,
                                        .needs_name = command_names(context->options),
                                        .may_stop = true}};
    struct session *session = &self.session;
    struct error unwritten = {0}, untold = {0};
    if (!context->options->request.quiet)
        progress_begin(&self.progress, stderr);
    bool ok = open_text(&self, error) && guard_read_budget(&self, error) && program_open(session, error) &&
              region_locate(&self.named, session->symbols, context->options->operands[0], NULL,
                            &session->request->process, error) &&
              region_look_into(&self.named, session->symbols, error) && program_open_target(session, error) &&
              program_check_region(session, &self.named, error) && check_run_control(&self, error) &&
              guard_take(&self, error) && engine_use_once(session, guard_run_engine, &self, error);
    if (!guard_print_end(&self, error, &unwritten) && ok)
        ok = error_copy(error, &unwritten);
    stack_reader_close(&self.stacks); /* before its symbols */
    int code = command_code(session_finish(session, ok, error), error);
    if (!close_text(&self, &untold) && code == EXIT_DONE) {
        error_copy(error, &untold);
        code = error_exit_code(ERROR_SYSTEM);
    }
    profile_tally_free(&self.tally);
    profile_about_free(&self.about);
    bool over = self.guard.result.overruns > 0 || self.guard.result.unstopped > 0;
    if (error->kind == ERROR_USAGE && session->clock.doubt[0] != '\0') /* a budget in time */
        return EXIT_NOT_COMPARABLE;
    return code != EXIT_DONE     ? code
           : is_misjudged(&self) ? EXIT_NOT_COMPARABLE
           : over                ? EXIT_REGRESSED
                                 : command_clock_code(session, code);
}
