/* stat: counts over a time window while the core runs. More events than counters take successive windows. */
#include "commands/command.h"
#include "commands/sampling.h"
#include "debuggers/debugger.h"
#include "report/number.h"
#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct stat_command {
    struct sampling sampling;
    struct progress progress;
    size_t pass;
    int64_t end_us;     /* of its window */
    struct error reset; /* the target was reset; the counts end at the last sample before it */
};

static const struct options *options_of(const struct stat_command *self)
{
    return self->sampling.session.context->options;
}

static void sleep_for(int64_t us, const volatile sig_atomic_t *cancel)
{
    enum { SLICE_US = 1000000 };
    for (int64_t end_us = deadline_now_us() + us; us > 0 && *cancel == 0; us = end_us - deadline_now_us()) {
        int64_t slice = us < SLICE_US ? us : SLICE_US;
        deadline_nap_us(slice);
    }
}

static void show_progress(struct stat_command *self)
{
    const struct options *options = options_of(self);
    size_t n_passes = self->sampling.counting.plan->n_passes;
    char time[NUMBER_ROOM], number[NUMBER_ROOM] = "";
    const struct window *window = sampling_window(&self->sampling);
    double left_s = (double)(self->end_us - deadline_now_us()) / 1e6;
    if (n_passes > 1)
        snprintf(number, sizeof number, "window %zu of %zu, ", self->pass + 1, n_passes);
    if (options->for_s > 0)
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
    struct sampling *sampling = &self->sampling;
    const volatile sig_atomic_t *cancel = sampling->session.context->cancel;
    struct debugger *debugger = sampling->session.device.debugger;
    struct debugger_stop stop;
    show_progress(self);
    if (us <= 0 || *cancel != 0)
        return true;
    if (debugger == NULL) {
        sleep_for(us, cancel);
        return true;
    }
    struct deadline deadline = deadline_in_ms((us + 999) / 1000, cancel);
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, error))
        return false;
    switch (debugger->ops->wait(debugger, &stop, &deadline, error)) {
    case DEBUGGER_GONE:
        return false;
    case DEBUGGER_STOPPED:
        device_leave_as(&sampling->session.device, LEAVE_HALTED_FOREIGN);
        return true;
    case DEBUGGER_RUNS:
        break;
    }
    if (!debugger_halt(debugger, &stop, error))
        return false;
    if (stop.why != DEBUGGER_REQUESTED)
        device_leave_as(&sampling->session.device, LEAVE_HALTED_FOREIGN);
    return true;
}

static bool note_reset(void *context, struct error *error)
{
    struct stat_command *self = context;
    if (error->kind != ERROR_RESET)
        return false;
    self->reset = *error;
    self->sampling.ended = true;
    error_clear(error);
    return true;
}

static bool print_interval(struct stat_command *self, const struct plan_pass *pass)
{
    struct sampling *sampling = &self->sampling;
    sampling_tally(sampling, &sampling->interval, pass);
    progress_clear(&self->progress);
    command_has_result(sampling->session.context);
    return sampling_print(sampling, sampling_lines(sampling, &sampling->interval));
}

static bool run_window(struct stat_command *self, const struct plan_pass *pass, struct error *error)
{
    struct sampling *sampling = &self->sampling;
    const struct options *options = options_of(self);
    if (!sampling_program(sampling, pass, error) || !sampling_begin(sampling, error))
        return false;
    if (sampling->stopped)
        return true;
    const struct window *window = sampling_window(sampling), *from = &sampling->windows.members[0].before;
    int64_t next_us = deadline_now_us();
    self->end_us = next_us + (int64_t)(options->for_s * 1e6);
    self->pass = (size_t)(pass - sampling->counting.plan->passes);
    const int64_t unasked_us = window->halts ? INT64_MAX / 4 : 1000000;
    do {
        cpu_windows_begin_interval(&sampling->windows);
        next_us =
            deadline_next_us(next_us, options->interval_said ? options->interval_ms * 1000 : unasked_us);
        if (options->for_s > 0 && next_us > self->end_us)
            next_us = self->end_us;
        if (!sampling_until(sampling, next_us, error))
            return false;
        if (options->interval_said && window->last_us > from->last_us && !print_interval(self, pass))
            return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    } while (*sampling->session.context->cancel == 0 && !sampling->ended &&
             (options->for_s <= 0 || deadline_now_us() < self->end_us));
    sampling_tally(sampling, &sampling->whole, pass);
    return true;
}

static bool print_end(struct sampling *self)
{
    if (!self->windows.all)
        self->clock_change = session_clock_change(&self->session);
    if (self->clock_change != NULL && self->clock_change[0] != '\0')
        self->clock.hz = 0; /* no metric may use it */
    return sampling_print(self, sampling_lines(self, &self->whole));
}

static bool run_windows(struct stat_command *self, struct error *error)
{
    struct sampling *sampling = &self->sampling;
    const struct context *context = sampling->session.context;
    const struct plan *plan = sampling->counting.plan;
    if (plan->n_passes > 1 && !(context->options->for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    if (!sampling_print_begin(sampling, context->options->format))
        return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    bool ran = true;
    if (!context->options->quiet)
        progress_begin(&self->progress, stderr);
    for (size_t i = 0; ran && i < plan->n_passes && *context->cancel == 0 && !sampling->ended; i++)
        ran = run_window(self, &plan->passes[i], error);
    progress_clear(&self->progress);
    if (!ran)
        return false;
    struct deadline deadline = session_last_deadline(&sampling->session);
    if (!context->options->all_cpus && self->reset.kind == ERROR_NONE &&
        !device_check_witness(&sampling->session.device, &deadline, error))
        return false;
    command_has_result(context);
    return print_end(sampling) || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

/* CSV has no place for it. */
static void warn_of_halts(const struct stat_command *self)
{
    const struct options *options = options_of(self);
    if (options->format == FORMAT_CSV && self->sampling.whole.halts > 0 && !options->quiet)
        fprintf(stderr, "pmu-probe: the core was halted %" PRIu64 " times to read its counters\n",
                self->sampling.whole.halts);
}

int command_stat(const struct context *context, struct error *error)
{
    struct stat_command self = {
        .sampling = {.session.context = context, .context = &self, .wait = pass_time, .recover = note_reset}};
    struct sampling *sampling = &self.sampling;
    bool ok = sampling_open(sampling, NULL, error);
    if (ok) {
        if (sampling->session.device.debugger != NULL)
            snprintf(sampling->conditions.note, sizeof sampling->conditions.note,
                     "each sample halts the core briefly; that cost is included in the counts");
        ok = run_windows(&self, error) && sampling_check_stop(sampling, error);
        warn_of_halts(&self);
        if (ok && self.reset.kind != ERROR_NONE)
            ok = error_set(error, ERROR_RESET, "%s after %.3f s; the counts above go up to then",
                           self.reset.text, sampling->whole.since_begin);
    }
    return sampling_finish(sampling, ok, error);
}
