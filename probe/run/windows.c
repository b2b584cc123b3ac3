/* SPDX-License-Identifier: MIT */
#include "run/windows.h"

#include "base/values.h"
#include "debuggers/debugger.h"
#include "run/program.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was counted */

static int by_core(const void *a, const void *b)
{
    const struct tally_row *left = a, *right = b;
    return (left->core > right->core) - (left->core < right->core);
}

static bool windows_make_rows(const struct windows *self, struct tally *tally, struct error *error)
{
    const struct cpu_windows *cpus = &self->cpus;
    tally->rows = calloc(2 * cpus->n + 1, sizeof *tally->rows);
    if (tally->rows == NULL)
        return error_memory(error);
    for (size_t i = 0; i < cpus->n; i++)
        tally->rows[i] = (struct tally_row){.cpu = cpus->members[i].core->core.unit,
                                            .core = (int)cpus->members[i].core->view.core_id,
                                            .cpus = 1};
    tally->n = cpus->n;
    if (!cpus->all)
        return true;
    for (size_t i = 0; i < cpus->n; i++) {
        size_t at = cpus->n;
        while (at < tally->n && tally->rows[at].core != tally->rows[i].core)
            at++;
        if (at == tally->n)
            tally->rows[tally->n++] = (struct tally_row){.cpu = -1, .core = tally->rows[i].core};
        tally->rows[at].cpus++;
    }
    qsort(tally->rows + cpus->n, tally->n - cpus->n, sizeof *tally->rows, by_core);
    tally->rows[tally->n++] = (struct tally_row){.cpu = -1, .core = -1, .cpus = (unsigned)cpus->n};
    return true;
}

static void clear(struct tally *tally)
{
    for (size_t i = 0; i < tally->n; i++) {
        tally->rows[i].seconds = 0;
        memset(tally->rows[i].values, 0, sizeof tally->rows[i].values);
    }
    *tally = (struct tally){.rows = tally->rows, .n = tally->n};
}

static void add_value(struct tally_value *to, const struct tally_value *value)
{
    to->count += value->count;
    to->rate += value->rate;
    to->at_least = to->at_least || value->at_least;
    to->counted = true;
}

/* The TSC is the core's, as some events are. */
static enum count_owner pick_owner(const struct windows *self, const struct counter_pick *pick)
{
    const struct block_kind *kind = self->cpus.kind;
    if (pick->counter == 0)
        return COUNT_OF_CORE;
    return kind->owner != NULL ? kind->owner(pick->code) : COUNT_OF_THREAD;
}

static void add_to_core(struct tally_row *core, const struct tally_row *cpu, size_t column,
                        enum count_owner owner)
{
    struct tally_value *to = &core->values[column];
    const struct tally_value *value = &cpu->values[column];
    if (owner == COUNT_OF_THREAD)
        add_value(to, value);
    else if (value->counted && (!to->counted || (owner == COUNT_OF_SOME_OF_CORE && to->count < value->count)))
        *to = *value;
    to->at_least = to->at_least || owner == COUNT_OF_SOME_OF_CORE;
    if (core->seconds < cpu->seconds)
        core->seconds = cpu->seconds;
}

static void add_sums(const struct windows *self, struct tally *tally, const struct plan_pass *pass)
{
    size_t n = self->cpus.n;
    struct tally_row *all = &tally->rows[tally->n - 1];
    for (size_t k = 0; k < pass->n; k++) {
        size_t column = pass->column[k];
        enum count_owner owner = pick_owner(self, &pass->picks[k]);
        for (size_t r = n; r < tally->n; r++)
            tally->rows[r].values[column] = (struct tally_value){0};
        for (size_t r = n; r + 1 < tally->n; r++) {
            struct tally_row *core = &tally->rows[r];
            for (size_t i = 0; i < n; i++)
                if (tally->rows[i].core == core->core)
                    add_to_core(core, &tally->rows[i], column, owner);
            add_to_core(all, core, column, COUNT_OF_THREAD);
        }
    }
}

static uint64_t greater(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Through a debugger the core runs between the halts only. */
static double seconds_between(const struct window *from, const struct window *now)
{
    bool halts = now->device->debugger != NULL;
    return (double)(halts ? now->ran_us - from->ran_us : now->last_us - from->last_us) / 1e6;
}

static void add_halts(const struct window *now, struct tally *tally)
{
    bool debugged = now->device->debugger != NULL;
    if (!now->halts && !debugged)
        return;
    tally->halts += now->samples + 1;
    tally->halted_us += debugged ? us_between(now->first_us + now->ran_us, now->last_us) : now->halted_us;
}

static void windows_add_cpu(const struct windows *self, size_t cpu, struct tally *tally,
                            const struct plan_pass *pass)
{
    const struct cpu_windows_member *member = &self->cpus.members[cpu];
    const struct window *now = &member->window;
    bool is_interval = tally == &self->interval;
    const struct window *from = is_interval ? &member->before : &member->begin;
    struct tally_row *row = &tally->rows[cpu];
    row->seconds = seconds_between(from, now);
    bool has_cycles = !self->cpus.all && pass->n > 0 && pass->column[0] == 0;
    uint64_t cycles = has_cycles ? now->totals[0].count - from->totals[0].count : 0;
    for (size_t k = 0; k < pass->n; k++) {
        uint64_t count = now->totals[k].count - from->totals[k].count;
        row->values[pass->column[k]] =
            (struct tally_value){.count = count,
                                 .cycles = cycles,
                                 .seconds = row->seconds,
                                 .rate = row->seconds > 0 ? (double)count / row->seconds : 0,
                                 .at_least = now->totals[k].missed > from->totals[k].missed,
                                 .counted = true};
    }
    tally->skew_us = greater(tally->skew_us,
                             is_interval ? greater(from->sample_skew_us, now->sample_skew_us) : now->skew_us);
    tally->samples += now->samples - from->samples;
    tally->lost += now->lost - from->lost;
    if (!is_interval)
        add_halts(now, tally);
}

void windows_tally(struct windows *self, struct tally *tally, const struct plan_pass *pass)
{
    const struct window *first = windows_window(self);
    if (tally == &self->interval || pass == self->counting.plan->passes)
        clear(tally);
    for (size_t i = 0; i < self->cpus.n; i++)
        windows_add_cpu(self, i, tally, pass);
    if (self->cpus.all)
        add_sums(self, tally, pass);
    if (!self->cpus.all)
        tally->since_begin = (double)(first->last_us - first->first_us) / 1e6;
    else if (tally == &self->interval)
        tally->since_begin = (double)(deadline_now_us() - self->begun_us) / 1e6;
}

/* ---- its lines */

static struct json_part windows_columns_of(const struct windows *self, const struct tally *tally,
                                           const struct tally_row *row)
{
    const struct plan *plan = self->counting.plan;
    struct json_part columns = json_part_new(NULL);
    bool all = self->cpus.all;
    for (size_t i = 0; i < plan->n_columns; i++) {
        const struct tally_value *value = &row->values[i];
        struct json_part one = json_part_new(NULL);
        if (all ? row->cpu < 0 : tally == &self->whole)
            json_part_text(&one, "not_supported", plan->columns[i].unsupported);
        if (value->counted) {
            json_part_unsigned(&one, "count", value->count);
            if (!all)
                json_part_real(&one, "seconds", value->seconds);
            json_part_bool(&one, "at_least", value->at_least);
            json_part_text(&one, "errata", plan->columns[i].errata);
            if (all && row->cpu < 0)
                json_part_real(&one, "per_second", value->rate);
        }
        json_part_object(&columns, plan->columns[i].name, one);
    }
    return columns;
}

/* For metrics, whose events may be of several windows: as many as would be in the cycles of column 0. */
static double windows_value_of(const void *context, size_t column)
{
    const struct tally_row *row = context;
    const struct tally_value *value = &row->values[column];
    if (!value->counted || value->at_least)
        return (double)NAN;
    return (double)value->count *
           (value->cycles > 0 ? (double)row->values[0].count / (double)value->cycles : 1);
}

static void windows_put_counts(const struct windows *self, const struct tally *tally,
                               const struct tally_row *row, struct json_part *line)
{
    struct metric_result metrics[RESULT_METRICS];
    size_t n = counting_metrics(&self->counting, windows_value_of, row, self->clock.hz, metrics);
    struct json_part columns = windows_columns_of(self, tally, row), values = json_metrics(metrics, n);
    if (!self->cpus.all) {
        json_part_object(line, "columns", columns);
        json_part_object(line, "metrics", values);
    } else {
        line->ok = line->ok && columns.ok && values.ok &&
                   json_object_set_new(line->json, "columns", columns.json) == 0 && /* even if empty */
                   json_object_set_new(line->json, "metrics", values.json) == 0;
    }
    if (!self->cpus.all || row->cpu < 0)
        json_metric_words(line, metrics, n);
}

static struct json_part line_of_core(const struct windows *self, const struct tally *tally)
{
    bool whole = tally == &self->whole;
    struct json_part line = json_part_new(whole ? "summary" : "sample");
    json_part_real(&line, "seconds", tally->rows[0].seconds);
    json_part_real(&line, "since_begin", tally->since_begin);
    windows_put_counts(self, tally, &tally->rows[0], &line);
    if (whole && self->counting.plan->n_passes > 1)
        json_part_unsigned(&line, "passes", self->counting.plan->n_passes);
    json_part_unsigned(&line, "skew_us", tally->skew_us);
    if (tally->halts > 0) {
        json_part_unsigned(&line, "halts", tally->halts);
        json_part_unsigned(&line, "halted_us", tally->halted_us);
    }
    if (tally->samples > 0)
        json_part_unsigned(&line, "samples", tally->samples);
    json_part_unsigned(&line, "lost", tally->lost);
    if (self->session.device.debugger != NULL)
        json_part_bool(&line, "seconds_at_most", true);
    if (self->session.device.slept)
        json_part_bool(&line, "slept", true);
    if (whole && self->clock_change != NULL)
        json_part_text(&line, "clock_change", self->clock_change);
    return line;
}

static struct json_part line_of_row(const struct windows *self, const struct tally *tally,
                                    const struct tally_row *row)
{
    struct json_part line = json_part_new(row->cpu >= 0 ? "cpu" : row->core >= 0 ? "core" : "all");
    if (row->cpu >= 0)
        json_part_unsigned(&line, "cpu", (uint64_t)row->cpu);
    if (row->core >= 0)
        json_part_unsigned(&line, "core", (uint64_t)row->core);
    if (tally == &self->interval)
        json_part_real(&line, "since_begin", tally->since_begin);
    json_part_unsigned(&line, "cpus", row->cpus);
    json_part_real(&line, "seconds", row->seconds);
    windows_put_counts(self, tally, row, &line);
    return line;
}

struct document windows_lines(const struct windows *self, const struct tally *tally)
{
    struct document lines = document_new();
    if (!self->cpus.all) {
        document_add(&lines, line_of_core(self, tally));
        return lines;
    }
    for (size_t r = 0; r < tally->n; r++)
        document_add(&lines, line_of_row(self, tally, &tally->rows[r]));
    if (tally == &self->whole) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "passes", self->counting.plan->n_passes);
        json_part_unsigned(&line, "skew_us", tally->skew_us);
        json_part_unsigned(&line, "lost", tally->lost);
        document_add(&lines, line);
    }
    return lines;
}

bool windows_print_begin(struct windows *self, const struct rendering *to)
{
    json_decref((json_t *)self->report.header);
    struct json_part header = json_plan_header(JSON_SCHEMA, NULL, &self->conditions, self->counting.plan);
    self->report.header = header.json;
    self->report.of_cores = self->cpus.all;
    self->report.to = *to;
    return header.ok && counts_begin(&self->report);
}

bool windows_print(struct windows *self, struct document lines)
{
    bool ok = counts_put(&self->report, &lines);
    document_free(&lines);
    return ok;
}

/* ---- opening, closing and windows */

static bool open_chosen(struct windows *self, const char *sees_running, struct error *error)
{
    struct session *session = &self->session;
    double seen_hz;
    session->polls = true;
    if ((sees_running != NULL && !session_sees_running(session, sees_running, error)) ||
        !session_take(session, error) || !trial_run(session, &self->clock, &seen_hz, error) ||
        !counting_open(&self->counting, session, &self->clock, error) ||
        !cpu_windows_take_chosen(&self->cpus, &session->device, error) ||
        !windows_make_rows(self, &self->interval, error) || !windows_make_rows(self, &self->whole, error))
        return false;
    session_conditions(session, &self->clock, &self->conditions);
    return true;
}

static bool open_all(struct windows *self, struct error *error)
{
    struct session *session = &self->session;
    struct conditions *conditions = &self->conditions;
    struct deadline deadline = session_deadline(session);
    if (!cpu_windows_take_all(&self->cpus, &session->device, session->request->counter, &deadline, error) ||
        !trial_clock(session, &self->clock, error) ||
        !counting_open(&self->counting, session, &self->clock, error) ||
        !windows_make_rows(self, &self->interval, error) || !windows_make_rows(self, &self->whole, error))
        return false;
    session_conditions(session, &self->clock, conditions);
    size_t cores = self->whole.n - self->cpus.n - 1;
    snprintf(conditions->core, sizeof conditions->core, "%.31s, %zu CPU%s on %zu core%s",
             session->device.chosen->core.name, self->cpus.n, PLURAL(self->cpus.n), cores, PLURAL(cores));
    return true;
}

bool windows_open(struct windows *self, const char *sees_running, struct error *error)
{
    struct session *session = &self->session;
    return program_open(session, error) && program_open_target(session, error) &&
           (session->request->all_cpus ? open_all(self, error) : open_chosen(self, sees_running, error));
}

static void windows_sleep_for(int64_t us, const volatile sig_atomic_t *cancel)
{
    enum { SLICE_US = 1000000 };
    for (int64_t end_us = deadline_now_us() + us; us > 0 && *cancel == 0; us = end_us - deadline_now_us()) {
        int64_t slice = us < SLICE_US ? us : SLICE_US;
        deadline_nap_us(slice);
    }
}

static bool windows_let_run(struct windows *self, struct debugger *debugger, int64_t us, struct error *error)
{
    struct deadline deadline = deadline_in_ms((us + 999) / 1000, self->session.around->cancel);
    struct debugger_stop stop;
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, &deadline, error))
        return false;
    switch (debugger->ops->wait(debugger, &stop, &deadline, error)) {
    case DEBUGGER_GONE:
        return false;
    case DEBUGGER_STOPPED:
        device_leave_as(&self->session.device, LEAVE_HALTED_FOREIGN);
        return true;
    case DEBUGGER_RUNS:
        break;
    }
    if (!debugger_halt(debugger, &stop, error))
        return false;
    if (stop.why != DEBUGGER_REQUESTED)
        device_leave_as(&self->session.device, LEAVE_HALTED_FOREIGN);
    return true;
}

bool windows_pass_time(struct windows *self, int64_t us, struct error *error)
{
    const volatile sig_atomic_t *cancel = self->session.around->cancel;
    struct debugger *debugger = self->session.device.debugger;
    if (us <= 0 || *cancel != 0)
        return true;
    if (debugger == NULL) {
        windows_sleep_for(us, cancel);
        return true;
    }
    int64_t went_us = deadline_now_us();
    bool ok = windows_let_run(self, debugger, us, error);
    windows_window(self)->ran_us += us_between((uint64_t)went_us, (uint64_t)deadline_now_us());
    return ok;
}

void windows_free(struct windows *self)
{
    counting_close(&self->counting);
    cpu_windows_close(&self->cpus);
    free(self->interval.rows);
    free(self->whole.rows);
    json_decref((json_t *)self->report.header);
}

struct window *windows_window(const struct windows *self)
{
    return &self->cpus.members[0].window;
}

/* Ctrl-C ends a window with one more sample, so it does not cancel that sample. NULL would say that something
 * is put back. */
static struct deadline windows_uncancelled(const struct windows *self)
{
    static const volatile sig_atomic_t never;
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = &never;
    return deadline;
}

bool windows_program(struct windows *self, const struct plan_pass *pass, struct error *error)
{
    struct deadline deadline = windows_uncancelled(self);
    return cpu_windows_program(&self->cpus, pass->picks, pass->n, &deadline, error);
}

static void note_stop(struct windows *self)
{
    self->stopped = self->stopped || self->session.device.leave == LEAVE_HALTED_FOREIGN;
    self->ended = self->ended || self->stopped;
}

bool windows_begin(struct windows *self, struct error *error)
{
    struct deadline deadline = windows_uncancelled(self);
    if (!cpu_windows_begin(&self->cpus, &self->clock, &deadline, error))
        return false;
    note_stop(self);
    return true;
}

bool windows_until(struct windows *self, int64_t until_us, struct error *error)
{
    const volatile sig_atomic_t *cancel = self->session.around->cancel;
    do {
        int64_t left_us = until_us - deadline_now_us();
        int64_t pace_us = cpu_windows_pace_ms(&self->cpus) * INT64_C(1000);
        if (!self->wait(self->context, left_us < pace_us ? left_us : pace_us, error))
            return false;
        struct deadline deadline = windows_uncancelled(self);
        if (!cpu_windows_sample(&self->cpus, &deadline, error) && !self->recover(self->context, error))
            return false;
        note_stop(self);
    } while (*cancel == 0 && !self->ended && deadline_now_us() < until_us);
    return true;
}

bool windows_check_stop(const struct windows *self, struct error *error)
{
    return !self->stopped || self->session.device.debugger != NULL ||
           session_refuse_stop(&self->session, error);
}

static bool windows_run_pass(struct windows *windows, const struct plan_pass *pass, struct error *error)
{
    const struct request *request = windows->session.request;
    if (!windows_program(windows, pass, error) || !windows_begin(windows, error))
        return false;
    if (windows->stopped)
        return true;
    const struct window *window = windows_window(windows), *from = &windows->cpus.members[0].before;
    int64_t next_us = deadline_now_us();
    windows->end_us = next_us + (int64_t)(request->for_s * 1e6);
    windows->pass = (size_t)(pass - windows->counting.plan->passes);
    const int64_t unasked_us = window->halts ? INT64_MAX / 4 : 1000000;
    do {
        cpu_windows_begin_interval(&windows->cpus);
        next_us =
            deadline_next_us(next_us, request->interval_said ? request->interval_ms * 1000 : unasked_us);
        if (request->for_s > 0 && next_us > windows->end_us)
            next_us = windows->end_us;
        if (!windows_until(windows, next_us, error))
            return false;
        if (!request->interval_said || window->last_us <= from->last_us)
            continue;
        windows_tally(windows, &windows->interval, pass);
        if (!windows->show(windows->context, error))
            return false;
    } while (*windows->session.around->cancel == 0 && !windows->ended &&
             (request->for_s <= 0 || deadline_now_us() < windows->end_us));
    windows_tally(windows, &windows->whole, pass);
    return true;
}

bool windows_run(struct windows *windows, struct error *error)
{
    const struct request *request = windows->session.request;
    const struct plan *plan = windows->counting.plan;
    if (plan->n_passes > 1 && !(request->for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    if (!windows->begin(windows->context, error))
        return false;
    for (size_t i = 0; i < plan->n_passes && *windows->session.around->cancel == 0 && !windows->ended; i++)
        if (!windows_run_pass(windows, &plan->passes[i], error))
            return false;
    return true;
}
