/* SPDX-License-Identifier: MIT */
/* stat: counts over a time window while the core runs. More events than counters take successive windows. */
#include "commands/measure.h"
#include "report/number.h"
#include "run/trial.h"
#include "run/windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct stat_command {
    struct measuring of;
    struct windows windows;
    struct error reset; /* the target was reset; the counts end at the last sample before it */
};

static const struct options *stat_options_of(const struct stat_command *self)
{
    return self->of.context->options;
}

static void stat_show_progress(struct stat_command *self)
{
    const struct options *options = stat_options_of(self);
    size_t n_passes = self->windows.counting.plan->n_passes;
    char time[NUMBER_ROOM], number[NUMBER_ROOM] = "";
    const struct window *window = windows_window(&self->windows);
    double left_s = (double)(self->windows.end_us - deadline_now_us()) / 1e6;
    if (n_passes > 1)
        snprintf(number, sizeof number, "window %zu of %zu, ", self->windows.pass + 1, n_passes);
    if (options->request.for_s > 0)
        progress_show(&self->of.progress, "%s%s left", number,
                      number_elapsed(time, sizeof time, left_s > 0 ? ceil(left_s) : 0));
    else
        progress_show(&self->of.progress, "%s, Ctrl-C ends it",
                      number_elapsed(time, sizeof time, (double)(window->last_us - window->first_us) / 1e6));
}

static bool pass_time(void *context, int64_t us, struct error *error)
{
    struct stat_command *self = context;
    stat_show_progress(self);
    return windows_pass_time(&self->windows, us, error);
}

static bool stat_note_reset(void *context, struct error *error)
{
    struct stat_command *self = context;
    if (error->kind != ERROR_RESET && error->kind != ERROR_MOVED && !error->may_be_reset)
        return false;
    self->reset = *error;
    self->windows.ended = true;
    error_clear(error);
    return true;
}

static bool stat_begin(void *context, struct error *error)
{
    struct stat_command *self = context;
    const struct rendering to = command_rendering(self->of.context);
    return command_wrote(windows_print_begin(&self->windows, &to), error);
}

static bool stat_show(void *context, struct error *error)
{
    struct stat_command *self = context;
    struct windows *windows = &self->windows;
    progress_clear(&self->of.progress);
    command_has_result(self->of.context);
    return command_wrote(windows_print(windows, windows_lines(windows, &windows->interval)), error);
}

static bool stat_prepare(void *context, struct error *error)
{
    struct stat_command *self = context;
    struct windows *windows = &self->windows;
    if (!windows_open(windows, NULL, error))
        return false;
    if (windows->session.device.debugger != NULL)
        snprintf(windows->conditions.note, sizeof windows->conditions.note,
                 "each sample halts the core briefly, which the counts include");
    return true;
}

static bool stat_check_witness(struct stat_command *self, struct error *error)
{
    struct session *session = &self->windows.session;
    struct deadline deadline = session_last_deadline(session);
    return stat_options_of(self)->request.all_cpus || self->reset.kind != ERROR_NONE ||
           device_check_witness(&session->device, &deadline, error);
}

static bool stat_measure(void *context, struct error *error)
{
    struct stat_command *self = context;
    struct windows *windows = &self->windows;
    self->of.has_result = windows_run(windows, error) && stat_check_witness(self, error);
    if (!self->of.has_result)
        return false;
    if (!windows->cpus.all)
        windows->clock_change = trial_clock_change(&windows->session);
    return windows_check_stop(windows, error);
}

static bool stat_conclude(void *context, struct error *error)
{
    struct stat_command *self = context;
    struct windows *windows = &self->windows;
    const struct options *options = stat_options_of(self);
    if (windows->clock_change != NULL && windows->clock_change[0] != '\0')
        windows->clock.hz = 0; /* no metric may use it */
    command_has_result(self->of.context);
    if (!command_wrote(windows_print(windows, windows_lines(windows, &windows->whole)), error))
        return false;
    if (options->format == FORMAT_CSV && windows->whole.halts > 0 && !options->request.quiet)
        fprintf(stderr, "pmu-probe: the core was halted %" PRIu64 " times to read its counters\n",
                windows->whole.halts); /* CSV has no place for it */
    return self->reset.kind == ERROR_NONE || error_advise(error, self->reset.kind, self->reset.advice,
                                                          "%s after %.3f s; the counts above go up to then",
                                                          self->reset.text, windows->whole.since_begin);
}

static void stat_free(void *context)
{
    struct stat_command *self = context;
    windows_free(&self->windows);
}

int command_stat(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = stat_prepare, .measure = stat_measure, .conclude = stat_conclude, .free = stat_free};
    struct stat_command self = {
        .of = {.context = context},
        .windows = {.session = {.request = &context->options->request, .around = &context->around},
                    .begin = stat_begin,
                    .show = stat_show,
                    .wait = pass_time,
                    .recover = stat_note_reset}};
    self.of.session = &self.windows.session;
    self.windows.context = &self;
    return measure_command(&self, &parts, error);
}
