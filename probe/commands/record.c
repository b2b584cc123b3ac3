/* SPDX-License-Identifier: MIT */
/* record: samples of where the core is, written as a profile: of time, while it runs on, or of events, by a
 * counter that stops it. */
#include "base/values.h"
#include "commands/measure.h"
#include "report/number.h"
#include "run/recording.h"

#include <math.h>
#include <stdio.h>

struct record_command {
    struct measuring of;
    struct recording recording;
};

static const struct options *record_options_of(const struct record_command *self)
{
    return self->of.context->options;
}

static void record_show_progress(void *context)
{
    struct record_command *self = context;
    double for_s = record_options_of(self)->request.for_s;
    char time[NUMBER_ROOM], samples[NUMBER_ROOM];
    number_unsigned(samples, sizeof samples, self->recording.samples);
    if (for_s > 0)
        progress_show(&self->of.progress, "%s samples, %s left", samples,
                      number_elapsed(time, sizeof time,
                                     for_s > self->recording.pc_samples.elapsed_s
                                         ? for_s - self->recording.pc_samples.elapsed_s
                                         : 0));
    else
        progress_show(&self->of.progress, "%s samples in %s, Ctrl-C ends it", samples,
                      number_elapsed(time, sizeof time, self->recording.pc_samples.elapsed_s));
}

static void tell_part(const struct record_command *self, uint64_t part, const char *of_what)
{
    double percent = 100 * (double)part / (double)self->recording.samples;
    if (part > 0 && percent < 0.05)
        fprintf(stderr, ", below 0.1 %% %s", of_what);
    else if (part > 0)
        fprintf(stderr, ", %.1f %% %s", percent, of_what);
}

static void tell_end(const struct record_command *self)
{
    static const char *const words[PROFILE_STATES] = {[PROFILE_ASLEEP] = "asleep",
                                                      [PROFILE_NOT_PERMITTED] = "not permitted",
                                                      [PROFILE_HALTED] = "halted",
                                                      [PROFILE_IN_RESET] = "in reset"};
    const char *file = record_options_of(self)->output;
    char time[NUMBER_ROOM], rate[NUMBER_ROOM];
    if (record_options_of(self)->request.quiet)
        return;
    number_elapsed(time, sizeof time, self->recording.pc_samples.elapsed_s);
    number_decimal(rate, sizeof rate,
                   self->recording.pc_samples.elapsed_s > 0
                       ? (double)self->recording.samples / self->recording.pc_samples.elapsed_s
                       : 0,
                   0);
    fprintf(stderr, "%s sample%s in %s, %s per second", NUMBER(self->recording.samples),
            PLURAL(self->recording.samples), time, rate);
    for (size_t i = 0; i < PROFILE_STATES; i++)
        tell_part(self, self->recording.states[i], words[i]);
    double stood = 100 * pc_samples_stood(&self->recording.pc_samples);
    if (self->recording.pc_samples.by_stops != NULL)
        fprintf(stderr, ", the core was halted %.*f %% of the time", stood < 10 ? 1 : 0, stood);
    if (self->recording.pc_samples.by_halts)
        fprintf(stderr, "; the core was halted at most %.0f %% of it", ceil(stood));
    if (self->recording.resets > 0)
        fprintf(stderr, ", %u reset%s", self->recording.resets, PLURAL(self->recording.resets));
    fprintf(stderr, ": %s\n", file);
}

static void tell_every(void *context)
{
    const struct record_command *self = context;
    const struct pc_samples *pc_samples = &self->recording.pc_samples;
    char rate[NUMBER_ROOM], every[NUMBER_ROOM];
    if (record_options_of(self)->request.quiet || pc_samples->by_stops == NULL ||
        record_options_of(self)->request.every > 0)
        return;
    number_decimal(rate, sizeof rate, pc_samples->event_rate, 0);
    number_unsigned(every, sizeof every, pc_samples->by_stops->every);
    fprintf(stderr, "%s: %s a second, and a stop after every %s (--every)\n", pc_samples->event, rate, every);
}

static void record_kept(void *context)
{
    command_has_result(((struct record_command *)context)->of.context);
}

static void record_ended(void *context)
{
    progress_clear(&((struct record_command *)context)->of.progress);
}

static bool record_prepare(void *context, struct error *error)
{
    struct record_command *self = context;
    return pc_samples_open(&self->recording.pc_samples, error);
}

static bool record_measure(void *context, struct error *error)
{
    struct record_command *self = context;
    bool ok = recording_make(&self->recording, error);
    self->of.has_result = self->recording.whole;
    pc_samples_let_go(&self->recording.pc_samples);
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
    struct record_command *self = context;
    pc_samples_free(&self->recording.pc_samples);
}

int command_record(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {.prepare = record_prepare,
                                               .measure = record_measure,
                                               .conclude = record_conclude,
                                               .free = record_free};
    struct record_command self = {
        .of = {.context = context},
        .recording = {
            .pc_samples = {.session = {.request = &context->options->request, .around = &context->around},
                           .has_contexts = true},
            .out = context->out,
            .begun = tell_every,
            .kept = record_kept,
            .show = record_show_progress,
            .ended = record_ended}};
    self.recording.context = &self;
    self.of.session = &self.recording.pc_samples.session;
    return measure_command(&self, &parts, error);
}
