/* SPDX-License-Identifier: MIT */
#include "run/watch.h"

#include "run/trial.h"

#include <string.h>

static const struct plan_pass *watch_run_pass(const struct watch_run *self)
{
    return &self->windows.counting.plan->passes[0];
}

struct document watch_run_lines(struct watch_run *self, bool whole)
{
    struct windows *windows = &self->windows;
    struct tally *tally = whole ? &windows->whole : &windows->interval;
    windows_tally(windows, tally, watch_run_pass(self));
    return windows_lines(windows, tally);
}

/* The rates stay as they are: an interval that has only begun has none. */
void watch_run_zero(struct watch_run *self)
{
    struct cpu_windows *cpus = &self->windows.cpus;
    for (size_t i = 0; i < cpus->n; i++)
        cpus->members[i].begin = cpus->members[i].window;
}

bool watch_run_is_over(const struct watch_run *self)
{
    const struct session *session = &self->windows.session;
    int64_t for_us = (int64_t)(session->request->for_s * 1e6);
    return self->windows.ended || *session->around->cancel != 0 ||
           (for_us > 0 && self->next_us - self->windows.begun_us >= for_us);
}

/* A key may end the wait for a sample, unless the sample would halt the core or read all CPUs. */
static bool wait_for_sample(void *context, int64_t us, struct error *error)
{
    struct watch_run *self = context;
    const struct windows *windows = &self->windows;
    bool is_costly = self->window->halts || windows->cpus.all;
    int64_t due_us = deadline_now_us() + us;
    (void)error;
    do
        self->pause(self->context, due_us - deadline_now_us());
    while (is_costly && deadline_now_us() < due_us && *windows->session.around->cancel == 0 &&
           !windows->ended);
    return true;
}

/* Keeps the counts of the last sample and goes on from them. */
static bool go_on_after_reset(void *context, struct error *error)
{
    struct watch_run *self = context;
    struct windows *windows = &self->windows;
    struct device *device = &windows->session.device;
    struct cpu_windows_member *member = &windows->cpus.members[0];
    const struct cpu_windows_member old = *member;
    if (error->kind != ERROR_RESET || windows->cpus.all)
        return false;
    error_clear(error);
    self->resets++;
    struct deadline deadline = session_deadline(&windows->session);
    if (!device_retake_block(device, &deadline, error) ||
        !windows_program(windows, watch_run_pass(self), error) || !windows_begin(windows, error))
        return error_prefix(error, "the target was reset, and its counters do not count again: ");
    member->begin = old.begin;
    member->before = old.before;
    member->window.first_us = old.window.first_us;
    member->window.samples = old.window.samples;
    member->window.lost = old.window.lost;
    memcpy(member->window.totals, old.window.totals, sizeof old.window.totals);
    for (size_t i = 0; i < device->reading.counted; i++)
        member->window.totals[i].missed++; /* the counts between the last sample and the reset */
    self->reset(self->context);
    return true;
}

bool watch_run_open(struct watch_run *self, struct error *error)
{
    struct windows *windows = &self->windows;
    windows->context = self;
    windows->wait = wait_for_sample;
    windows->recover = go_on_after_reset;
    return windows_open(windows, "watch", error);
}

bool watch_run_begin(struct watch_run *self, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct plan *plan = windows->counting.plan;
    if (plan->n_passes > 1)
        return error_set(error, ERROR_USAGE, "watch counts in one pass: these events take %zu",
                         plan->n_passes);
    self->window = windows_window(windows);
    self->before = &windows->cpus.members[0].before;
    /* A single core is programmed already */
    if ((windows->session.request->all_cpus && !windows_program(windows, watch_run_pass(self), error)) ||
        !windows_begin(windows, error) || !windows_check_stop(windows, error))
        return false;
    self->next_us = windows->begun_us = deadline_now_us();
    return true;
}

bool watch_run_interval(struct watch_run *self, struct error *error)
{
    struct windows *windows = &self->windows;
    cpu_windows_begin_interval(&windows->cpus);
    self->next_us = deadline_next_us(self->next_us, windows->session.request->interval_ms * 1000);
    return windows_until(windows, self->next_us, error) && windows_check_stop(windows, error);
}

bool watch_run_end(struct watch_run *self, struct error *error)
{
    struct session *session = &self->windows.session;
    struct deadline deadline = session_last_deadline(session);
    if (!session->request->all_cpus)
        self->windows.clock_change = trial_clock_change(session);
    return session->request->all_cpus || device_check_witness(&session->device, &deadline, error);
}
