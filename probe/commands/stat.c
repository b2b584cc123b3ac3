/* stat: counts over a time window while the core runs; more events than counters take windows in a row. */
#include "commands/all_cpus.h"
#include "commands/command.h"
#include "commands/counting.h"
#include "commands/session.h"
#include "debuggers/debugger.h"
#include "measure/window.h"
#include "report/counts.h"
#include "report/number.h"
#include "report/progress.h"
#include "report/terminal.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct stat_command {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct window window;
    struct counts counts; /* of all windows */
    bool stopped;         /* by somebody */
    struct progress progress;
    size_t pass;
    int64_t end_us;     /* of its window */
    struct error reset; /* the target was: the counts go up to the last look before that */
};

static struct counts_row *row_of(struct stat_command *self, size_t column)
{
    return &self->counts.rows[column];
}

static void put_rows(struct stat_command *self, const struct plan_pass *pass, const struct window *from,
                     struct counts *out)
{
    const struct window *window = &self->window;
    out->seconds = (double)(window->last_us - from->last_us) / 1e6;
    out->since_begin = (double)(window->last_us - window->first_us) / 1e6;
    for (size_t i = 0; i < pass->n; i++)
        out->rows[pass->column[i]] =
            (struct counts_row){.name = self->counting.plan->columns[pass->column[i]].name,
                                .count = window->totals[i].count - from->totals[i].count,
                                .seconds = out->seconds,
                                .at_least = window->totals[i].missed > from->totals[i].missed,
                                .counted = true};
}

static bool is_over(const struct stat_command *self, int64_t end_us)
{
    const struct context *context = self->session.context;
    return *context->cancel != 0 || self->stopped || self->reset.kind != ERROR_NONE ||
           (context->options->for_s > 0 && deadline_now_us() >= end_us);
}

static void sleep_for(int64_t us, const volatile sig_atomic_t *cancel)
{
    enum { SLICE_US = 1000000 };
    for (int64_t end_us = deadline_now_us() + us; us > 0 && *cancel == 0; us = end_us - deadline_now_us()) {
        int64_t slice = us < SLICE_US ? us : SLICE_US;
        nanosleep(&(struct timespec){.tv_sec = slice / 1000000, .tv_nsec = slice % 1000000 * 1000}, NULL);
    }
}

/* Under a debugger the core runs only between samples, and each of them halts it. */
static bool pass_time(struct stat_command *self, int64_t us, struct error *error)
{
    const struct context *context = self->session.context;
    struct debugger *debugger = self->session.device.debugger;
    struct debugger_stop stop;
    if (us <= 0 || *context->cancel != 0)
        return true;
    if (debugger == NULL) {
        sleep_for(us, context->cancel);
        return true;
    }
    struct deadline deadline = deadline_in_ms((us + 999) / 1000, context->cancel);
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, error))
        return false;
    switch (debugger->ops->wait(debugger, &stop, &deadline, error)) {
    case DEBUGGER_GONE:
        return false;
    case DEBUGGER_STOPPED:
        self->stopped = true;
        device_leave_as(&self->session.device, LEAVE_HALTED_FOREIGN);
        return true;
    case DEBUGGER_RUNS:
        break;
    }
    if (!debugger_halt(debugger, &stop, error))
        return false;
    self->stopped = stop.why != DEBUGGER_REQUESTED;
    if (self->stopped)
        device_leave_as(&self->session.device, LEAVE_HALTED_FOREIGN);
    return true;
}

static bool note_reset(struct stat_command *self, struct error *error)
{
    if (error->kind != ERROR_RESET)
        return false;
    self->reset = *error;
    error_clear(error);
    return true;
}

static void show_progress(struct stat_command *self)
{
    const struct options *options = self->session.context->options;
    char time[NUMBER_ROOM], window[NUMBER_ROOM] = "";
    double left_s = (double)(self->end_us - deadline_now_us()) / 1e6;
    if (self->counting.plan->n_passes > 1)
        snprintf(window, sizeof window, "window %zu of %zu, ", self->pass + 1, self->counting.plan->n_passes);
    if (options->for_s > 0)
        progress_show(&self->progress, "%s%s left", window,
                      number_elapsed(time, sizeof time, left_s > 0 ? ceil(left_s) : 0));
    else
        progress_show(
            &self->progress, "%s, Ctrl-C ends it",
            number_elapsed(time, sizeof time, (double)(self->window.last_us - self->window.first_us) / 1e6));
}

/* Samples until `until_us`, often enough that no counter wraps unseen where that can be had. */
static bool sample_until(struct stat_command *self, int64_t until_us, struct error *error)
{
    const struct context *context = self->session.context;
    for (;;) {
        int64_t left_us = until_us - deadline_now_us();
        int64_t pace_us = window_pace_ms(&self->window) * INT64_C(1000);
        show_progress(self);
        int64_t us = left_us < pace_us ? left_us : pace_us;
        if (!pass_time(self, us, error))
            return false;
        struct deadline deadline = session_deadline(&self->session);
        deadline.cancel = NULL; /* the sample that ends the window */
        if (!window_sample(&self->window, &deadline, error))
            return note_reset(self, error);
        self->stopped = self->stopped || self->session.device.leave == LEAVE_HALTED_FOREIGN;
        if (*context->cancel != 0 || self->stopped || deadline_now_us() >= until_us)
            return true;
    }
}

static bool print_interval(struct stat_command *self, const struct plan_pass *pass, const struct window *from)
{
    struct counts interval = {.n = self->counts.n};
    const struct options *options = self->session.context->options;
    put_rows(self, pass, from, &interval);
    progress_clear(&self->progress);
    interval.skew_us = self->window.sample_skew_us > from->sample_skew_us ? self->window.sample_skew_us
                                                                          : from->sample_skew_us;
    command_has_result(self->session.context);
    return counts_interval(self->session.context->out, &interval, options->format, options->separator[0]);
}

static bool run_window(struct stat_command *self, const struct plan_pass *pass, struct error *error)
{
    const struct context *context = self->session.context;
    const struct options *options = context->options;
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    if (!device_program(&self->session.device, pass->picks, pass->n, &deadline, error) ||
        !window_begin(&self->window, &self->session.device, &self->clock, &deadline, error))
        return false;
    if (self->session.device.leave == LEAVE_HALTED_FOREIGN) {
        self->stopped = true;
        return true;
    }
    const struct window begin = self->window;
    int64_t begun_us = deadline_now_us(), next_us = begun_us;
    int64_t end_us = begun_us + (int64_t)(options->for_s * 1e6);
    self->end_us = end_us;
    self->pass = (size_t)(pass - self->counting.plan->passes);
    const int64_t unasked_us = self->window.halts ? INT64_MAX / 4 : 1000000;
    do {
        const struct window from = self->window;
        next_us =
            deadline_next_us(next_us, options->interval_said ? options->interval_ms * 1000 : unasked_us);
        if (options->for_s > 0 && next_us > end_us)
            next_us = end_us;
        if (!sample_until(self, next_us, error))
            return false;
        if (options->interval_said && self->window.last_us > from.last_us &&
            !print_interval(self, pass, &from))
            return error_set(error, ERROR_SYSTEM, "the output could not be written");
    } while (!is_over(self, end_us));
    if (self->window.halts) {
        self->counts.halts += self->window.samples + 1;
        self->counts.halted_us += self->window.halted_us;
    }
    put_rows(self, pass, &begin, &self->counts);
    if (self->window.skew_us > self->counts.skew_us)
        self->counts.skew_us = self->window.skew_us;
    self->counts.lost += self->window.lost;
    return true;
}

static double row_mean(const void *context, size_t i)
{
    const struct counts_row *row = &((const struct counts *)context)->rows[i];
    return row->counted && !row->at_least ? (double)row->count : (double)NAN;
}

static bool run_windows(struct stat_command *self, struct error *error)
{
    const struct context *context = self->session.context;
    const struct plan *plan = self->counting.plan;
    if (plan->n_passes > 1 && !(context->options->for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    self->counts.n = plan->n_columns;
    self->counts.passes = plan->n_passes;
    self->counts.clock_hz = self->clock.hz;
    for (size_t i = 0; i < plan->n_columns; i++)
        *row_of(self, i) =
            (struct counts_row){.name = plan->columns[i].name, .unsupported = plan->columns[i].unsupported};
    if (!counts_begin(context->out, &self->conditions, &self->counts, context->options->format,
                      context->options->separator[0]))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    bool ran = true;
    if (!context->options->quiet)
        progress_begin(&self->progress, stderr);
    for (size_t i = 0; ran && i < plan->n_passes && *context->cancel == 0 && !self->stopped &&
                       self->reset.kind == ERROR_NONE;
         i++)
        ran = run_window(self, &plan->passes[i], error);
    progress_clear(&self->progress);
    if (!ran)
        return false;
    struct deadline deadline = session_last_deadline();
    if (self->reset.kind == ERROR_NONE && !device_check_witness(&self->session.device, &deadline, error))
        return false;
    self->counts.slept = self->session.device.slept;
    self->counts.n_metrics =
        counting_metrics(&self->counting, row_mean, &self->counts, self->clock.hz, self->counts.metrics);
    command_has_result(context);
    return counts_end(context->out, &self->counts, context->options->format,
                      context->options->separator[0]) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

/* What CSV has no place for. */
static void tell_halts(const struct stat_command *self)
{
    const struct options *options = self->session.context->options;
    if (options->format == FORMAT_CSV && self->counts.halts > 0 && !options->quiet)
        fprintf(stderr, "pmu-probe: the core was halted %" PRIu64 " times to read its counters\n",
                self->counts.halts);
}

/* The counts go up to there. */
static bool check_stop(struct stat_command *self, struct error *error)
{
    char place[512];
    if (!self->stopped || self->session.device.debugger != NULL)
        return true;
    session_place(&self->session, self->session.device.stopped_at, place, sizeof place);
    return error_set(error, ERROR_FOREIGN_STOP, "halted by someone else at %s", place);
}

int command_stat(const struct context *context, struct error *error)
{
    struct stat_command self = {.session.context = context};
    double seen_hz;
    if (context->options->all_cpus)
        return all_cpus_stat(context, error);
    bool ok = session_open_elf(&self.session, error) && session_open_target(&self.session, error) &&
              session_take(&self.session, error) &&
              session_trial(&self.session, &self.clock, &seen_hz, error) &&
              counting_open(&self.counting, &self.session, &self.clock, error);
    if (ok) {
        session_conditions(&self.session, &self.clock, &self.conditions);
        if (self.session.device.debugger != NULL)
            snprintf(self.conditions.note, sizeof self.conditions.note,
                     "each sample halts the core briefly; that cost is included in the counts");
        ok = run_windows(&self, error) && check_stop(&self, error);
        tell_halts(&self);
        if (ok && self.reset.kind != ERROR_NONE)
            ok = error_set(error, ERROR_RESET, "%s after %.3f s; the counts above go up to then",
                           self.reset.text, self.counts.since_begin);
    }
    struct error after = {0};
    counting_close(&self.counting);
    if (!session_close(&self.session, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
