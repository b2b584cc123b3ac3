/* record: samples of where the core is, written as a profile: of time, while it runs on, or of events, by a
 * counter that stops it. */
#include "base/values.h"
#include "commands/measure.h"
#include "commands/profiling.h"
#include "report/number.h"
#include "report/profile_file.h"
#include "run/pc_samples.h"

#include <math.h>
#include <stdio.h>

struct recording {
    struct measuring of;
    struct pc_samples pc_samples;
    double written_s; /* up to here */
    uint64_t samples, states[PROFILE_STATES];
    unsigned resets;
};

static const struct options *record_options_of(const struct recording *self)
{
    return self->of.context->options;
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* Whatever is in the file is worth keeping from the first interval on. */
static bool write_interval(struct recording *self, size_t core, struct error *error)
{
    struct profile_interval interval;
    bool any;
    if (!pc_samples_close(&self->pc_samples, core, &interval, &any, error))
        return false;
    if (!any)
        return true;
    self->samples += profile_interval_samples(&interval);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        self->states[i] += interval.states[i];
    self->resets += interval.resets;
    int result = profile_file_add(self->of.context->out, &interval);
    profile_interval_free(&interval);
    command_has_result(self->of.context);
    return profiling_wrote(result, error);
}

static bool write_contexts(struct recording *self, size_t core, enum profile_context kind,
                           struct error *error)
{
    struct profile_interval interval;
    bool any;
    if (!pc_samples_close_contexts(&self->pc_samples, core, kind, &interval, &any, error))
        return false;
    if (!any)
        return true;
    int result = 0;
    char name[TASK_NAME];
    for (size_t i = 0; kind == PROFILE_TASKS && result == 0 && i < interval.count_count; i++)
        if (pc_samples_name_task(&self->pc_samples, core, interval.counts[i].address, name))
            result = profile_file_add_task(self->of.context->out, interval.counts[i].address, name);
    if (result == 0)
        result = profile_file_add_contexts(self->of.context->out, kind, &interval);
    profile_interval_free(&interval);
    return profiling_wrote(result, error);
}

static bool write_intervals(struct recording *self, struct error *error)
{
    self->written_s = self->pc_samples.elapsed_s;
    for (size_t i = 0; i < self->pc_samples.n; i++)
        if (!write_contexts(self, i, PROFILE_EXCEPTIONS, error) ||
            !write_contexts(self, i, PROFILE_TASKS, error) ||
            !write_contexts(self, i, PROFILE_PROCESSES, error) || !write_interval(self, i, error))
            return false;
    return true;
}

/* --- what the user sees --------------------------------------------------------------------------------- */

static void record_show_progress(struct recording *self)
{
    double for_s = record_options_of(self)->request.for_s;
    char time[NUMBER_ROOM], samples[NUMBER_ROOM];
    number_unsigned(samples, sizeof samples, self->samples);
    if (for_s > 0)
        progress_show(
            &self->of.progress, "%s samples, %s left", samples,
            number_elapsed(time, sizeof time,
                           for_s > self->pc_samples.elapsed_s ? for_s - self->pc_samples.elapsed_s : 0));
    else
        progress_show(&self->of.progress, "%s samples in %s, Ctrl-C ends it", samples,
                      number_elapsed(time, sizeof time, self->pc_samples.elapsed_s));
}

static void tell_part(const struct recording *self, uint64_t part, const char *of_what)
{
    double percent = 100 * (double)part / (double)self->samples;
    if (part > 0 && percent < 0.05)
        fprintf(stderr, ", below 0.1 %% %s", of_what);
    else if (part > 0)
        fprintf(stderr, ", %.1f %% %s", percent, of_what);
}

static void tell_end(const struct recording *self)
{
    static const char *const words[PROFILE_STATES] = {[PROFILE_ASLEEP] = "asleep",
                                                      [PROFILE_NOT_PERMITTED] = "not permitted",
                                                      [PROFILE_HALTED] = "halted",
                                                      [PROFILE_IN_RESET] = "in reset"};
    const char *file = record_options_of(self)->output;
    char time[NUMBER_ROOM], rate[NUMBER_ROOM];
    if (record_options_of(self)->request.quiet)
        return;
    number_elapsed(time, sizeof time, self->pc_samples.elapsed_s);
    number_decimal(rate, sizeof rate,
                   self->pc_samples.elapsed_s > 0 ? (double)self->samples / self->pc_samples.elapsed_s : 0,
                   0);
    fprintf(stderr, "%s sample%s in %s, %s per second", NUMBER(self->samples), PLURAL(self->samples), time,
            rate);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        tell_part(self, self->states[i], words[i]);
    double stood = 100 * pc_samples_stood(&self->pc_samples);
    if (self->pc_samples.by_stops != NULL)
        fprintf(stderr, ", the core was halted %.*f %% of the time", stood < 10 ? 1 : 0, stood);
    if (self->pc_samples.by_halts)
        fprintf(stderr, "; the core was halted at most %.0f %% of it", ceil(stood));
    if (self->resets > 0)
        fprintf(stderr, ", %u reset%s", self->resets, PLURAL(self->resets));
    fprintf(stderr, ": %s\n", file);
}

static void tell_every(const struct recording *self)
{
    const struct pc_samples *pc_samples = &self->pc_samples;
    char rate[NUMBER_ROOM], every[NUMBER_ROOM];
    if (record_options_of(self)->request.quiet || pc_samples->by_stops == NULL ||
        record_options_of(self)->request.every > 0)
        return;
    number_decimal(rate, sizeof rate, pc_samples->event_rate, 0);
    number_unsigned(every, sizeof every, pc_samples->by_stops->every);
    fprintf(stderr, "%s: %s a second, and a stop after every %s (--every)\n", pc_samples->event, rate, every);
}

/* --- the run -------------------------------------------------------------------------------------------- */

/* An interval is a few lists, so that its length is near to what it should be. */
static bool record_sample(struct recording *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    while (!pc_samples_is_over(pc_samples)) {
        double length = profile_interval_length(pc_samples->elapsed_s);
        if (!pc_samples_sample(pc_samples, length * 1e6 / 2, error))
            return false;
        if (pc_samples->elapsed_s - self->written_s < profile_interval_length(pc_samples->elapsed_s))
            continue;
        if (!write_intervals(self, error))
            return false;
        record_show_progress(self);
    }
    return true;
}

static bool record(struct recording *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    struct error why = {0};
    if (!pc_samples_take(pc_samples, error) ||
        !profiling_wrote(profile_file_begin(self->of.context->out, &pc_samples->about), error))
        return false;
    tell_every(self);
    record_sample(self, &why);
    progress_clear(&self->of.progress);
    pc_samples_end(pc_samples, &why);
    if (!write_intervals(self, error) ||
        !profiling_end(self->of.context->out, pc_samples->elapsed_s, self->samples, &why,
                       *self->of.context->around.cancel != 0, error))
        return false;
    self->of.has_result = true; /* the file has its end */
    return why.kind == ERROR_NONE || error_copy(error, &why);
}

/* --- the command ---------------------------------------------------------------------------------------- */

static bool record_prepare(void *context, struct error *error)
{
    struct recording *self = context;
    return pc_samples_open(&self->pc_samples, error);
}

static bool record_measure(void *context, struct error *error)
{
    struct recording *self = context;
    bool ok = record(self, error);
    pc_samples_let_go(&self->pc_samples);
    return ok;
}

static bool record_conclude(void *context, struct error *error)
{
    (void)error;
    tell_end(context);
    return true;
}

static void record_free(void *context)
{
    struct recording *self = context;
    pc_samples_free(&self->pc_samples);
}

int command_record(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {.prepare = record_prepare,
                                               .measure = record_measure,
                                               .conclude = record_conclude,
                                               .free = record_free};
    struct recording self = {
        .of = {.context = context},
        .pc_samples = {.session = {.request = &context->options->request, .around = &context->around},
                       .has_contexts = true}};
    self.of.session = &self.pc_samples.session;
    return measure_command(&self, &parts, error);
}
