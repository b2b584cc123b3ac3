/* stat: counts over a time window while the core runs. More events than counters take successive windows. */
#include "commands/command.h"
#include "debuggers/debugger.h"
#include "report/canvas.h"
#include "report/number.h"
#include "run/trial.h"
#include "run/windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct stat_command {
    const struct context *context;
    struct windows windows;
    struct progress progress;
    size_t pass;
    int64_t end_us;     /* of its window */
    struct error reset; /* the target was reset; the counts end at the last sample before it */
};

static const struct options *stat_options_of(const struct stat_command *self)
{
    return self->context->options;
}

static void stat_sleep_for(int64_t us, const volatile sig_atomic_t *cancel)
{
    enum { SLICE_US = 1000000 };
    for (int64_t end_us = deadline_now_us() + us; us > 0 && *cancel == 0; us = end_us - deadline_now_us()) {
        int64_t slice = us < SLICE_US ? us : SLICE_US;
        deadline_nap_us(slice);
    }
}

static void stat_show_progress(struct stat_command *self)
{
    const struct options *options = stat_options_of(self);
    size_t n_passes = self->windows.counting.plan->n_passes;
    char time[NUMBER_ROOM], number[NUMBER_ROOM] = "";
    const struct window *window = windows_window(&self->windows);
    double left_s = (double)(self->end_us - deadline_now_us()) / 1e6;
    if (n_passes > 1)
        snprintf(number, sizeof number, "window %zu of %zu, ", self->pass + 1, n_passes);
    if (options->request.for_s > 0)
        progress_show(&self->progress, "%s%s left", number,
                      number_elapsed(time, sizeof time, left_s > 0 ? ceil(left_s) : 0));
    else
        progress_show(&self->progress, "%s, Ctrl-C ends it",
                      number_elapsed(time, sizeof time, (double)(window->last_us - window->first_us) / 1e6));
}

/* Through a debugger the core runs only between samples, and each sample halts it. */
static bool pass_time(void *context, int64_t us, struct error *error)
{
    struct stat_command *self = context;
    struct windows *windows = &self->windows;
    const volatile sig_atomic_t *cancel = self->context->around.cancel;
    struct debugger *debugger = windows->session.device.debugger;
    struct debugger_stop stop;
    stat_show_progress(self);
    if (us <= 0 || *cancel != 0)
        return true;
    if (debugger == NULL) {
        stat_sleep_for(us, cancel);
        return true;
    }
    struct deadline deadline = deadline_in_ms((us + 999) / 1000, cancel);
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, error))
        return false;
    switch (debugger->ops->wait(debugger, &stop, &deadline, error)) {
    case DEBUGGER_GONE:
        return false;
    case DEBUGGER_STOPPED:
        device_leave_as(&windows->session.device, LEAVE_HALTED_FOREIGN);
        return true;
    case DEBUGGER_RUNS:
        break;
    }
    if (!debugger_halt(debugger, &stop, error))
        return false;
    if (stop.why != DEBUGGER_REQUESTED)
        device_leave_as(&windows->session.device, LEAVE_HALTED_FOREIGN);
    return true;
}

static bool stat_note_reset(void *context, struct error *error)
{
    struct stat_command *self = context;
    if (error->kind != ERROR_RESET && !error->may_be_reset)
        return false;
    self->reset = *error;
    self->windows.ended = true;
    error_clear(error);
    return true;
}

static bool print_interval(struct stat_command *self, const struct plan_pass *pass)
{
    struct windows *windows = &self->windows;
    windows_tally(windows, &windows->interval, pass);
    progress_clear(&self->progress);
    command_has_result(self->context);
    return windows_print(windows, windows_lines(windows, &windows->interval));
}

static bool run_window(struct stat_command *self, const struct plan_pass *pass, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct options *options = stat_options_of(self);
    if (!windows_program(windows, pass, error) || !windows_begin(windows, error))
        return false;
    if (windows->stopped)
        return true;
    const struct window *window = windows_window(windows), *from = &windows->cpus.members[0].before;
    int64_t next_us = deadline_now_us();
    self->end_us = next_us + (int64_t)(options->request.for_s * 1e6);
    self->pass = (size_t)(pass - windows->counting.plan->passes);
    const int64_t unasked_us = window->halts ? INT64_MAX / 4 : 1000000;
    do {
        cpu_windows_begin_interval(&windows->cpus);
        next_us = deadline_next_us(
            next_us, options->request.interval_said ? options->request.interval_ms * 1000 : unasked_us);
        if (options->request.for_s > 0 && next_us > self->end_us)
            next_us = self->end_us;
        if (!windows_until(windows, next_us, error))
            return false;
        if (options->request.interval_said && window->last_us > from->last_us && !print_interval(self, pass))
            return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    } while (*self->context->around.cancel == 0 && !windows->ended &&
             (options->request.for_s <= 0 || deadline_now_us() < self->end_us));
    windows_tally(windows, &windows->whole, pass);
    return true;
}

static bool stat_print_end(struct windows *self)
{
    if (!self->cpus.all)
        self->clock_change = trial_clock_change(&self->session);
    if (self->clock_change != NULL && self->clock_change[0] != '\0')
        self->clock.hz = 0; /* no metric may use it */
    return windows_print(self, windows_lines(self, &self->whole));
}

static bool run_windows(struct stat_command *self, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct context *context = self->context;
    const struct plan *plan = windows->counting.plan;
    if (plan->n_passes > 1 && !(context->options->request.for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    const struct rendering to = command_rendering(context);
    if (!windows_print_begin(windows, &to))
        return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    bool ran = true;
    if (!context->options->request.quiet)
        progress_begin(&self->progress, stderr);
    for (size_t i = 0; ran && i < plan->n_passes && *context->around.cancel == 0 && !windows->ended; i++)
        ran = run_window(self, &plan->passes[i], error);
    progress_clear(&self->progress);
    if (!ran)
        return false;
    struct deadline deadline = session_last_deadline(&windows->session);
    if (!context->options->request.all_cpus && self->reset.kind == ERROR_NONE &&
        !device_check_witness(&windows->session.device, &deadline, error))
        return false;
    command_has_result(context);
    return stat_print_end(windows) || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

/* CSV has no place for it. */
static void warn_of_halts(const struct stat_command *self)
{
    const struct options *options = stat_options_of(self);
    if (options->format == FORMAT_CSV && self->windows.whole.halts > 0 && !options->request.quiet)
        fprintf(stderr, "pmu-probe: the core was halted %" PRIu64 " times to read its counters\n",
                self->windows.whole.halts);
}

int command_stat(const struct context *context, struct error *error)
{
    struct stat_command self = {
        .context = context,
        .windows = {.session = {.request = &context->options->request, .around = &context->around},
                    .context = &self,
                    .wait = pass_time,
                    .recover = stat_note_reset}};
    struct windows *windows = &self.windows;
    bool ok = windows_open(windows, NULL, error);
    if (ok) {
        if (windows->session.device.debugger != NULL)
            snprintf(windows->conditions.note, sizeof windows->conditions.note,
                     "each sample halts the core briefly; that cost is included in the counts");
        ok = run_windows(&self, error) && windows_check_stop(windows, error);
        warn_of_halts(&self);
        if (ok && self.reset.kind != ERROR_NONE)
            ok = error_set(error, self.reset.kind, "%s after %.3f s; the counts above go up to then",
                           self.reset.text, windows->whole.since_begin);
    }
    return command_clock_code(&windows->session, command_code(windows_finish(windows, ok, error), error));
}
