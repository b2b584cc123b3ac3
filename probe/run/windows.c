#include "run/windows.h"

#include "run/program.h"
#include "run/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the tables of -a */

static int by_core(const void *a, const void *b)
{
    const struct cores_row *left = a, *right = b;
    return (left->core > right->core) - (left->core < right->core);
}

/* Rows for the CPUs, then for the cores, then for all. */
static bool make_rows(const struct windows *self, struct cores_table *table, struct error *error)
{
    const struct cpu_windows *cpus = &self->cpus;
    table->rows = calloc(2 * cpus->n + 1, sizeof *table->rows);
    if (table->rows == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < cpus->n; i++)
        table->rows[i] = (struct cores_row){.cpu = cpus->members[i].core->core.unit,
                                            .core = (int)cpus->members[i].core->view.core_id,
                                            .cpus = 1};
    table->n_rows = cpus->n;
    for (size_t i = 0; i < cpus->n; i++) {
        size_t at = cpus->n;
        while (at < table->n_rows && table->rows[at].core != table->rows[i].core)
            at++;
        if (at == table->n_rows)
            table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = table->rows[i].core};
        table->rows[at].cpus++;
    }
    qsort(table->rows + cpus->n, table->n_rows - cpus->n, sizeof *table->rows, by_core);
    table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = -1, .cpus = (unsigned)cpus->n};
    return true;
}

static bool make_table(const struct windows *self, struct cores_table *table, struct error *error)
{
    const struct plan *plan = self->counting.plan;
    table->n_columns = plan->n_columns;
    table->n_metrics = self->counting.n_metrics;
    table->passes = plan->n_passes;
    for (size_t i = 0; i < plan->n_columns; i++) {
        table->columns[i].name = plan->columns[i].name;
        table->columns[i].unsupported = plan->columns[i].unsupported;
    }
    return make_rows(self, table, error);
}

static void add_value(struct cores_value *to, const struct cores_value *value)
{
    to->count += value->count;
    to->rate += value->rate;
    to->at_least = to->at_least || value->at_least;
    to->counted = true;
}

/* `shared`: the TSC, which the threads of a core share. */
static void add_to_core(struct cores_row *core, const struct cores_row *cpu, size_t column, bool shared)
{
    if (!shared)
        add_value(&core->values[column], &cpu->values[column]);
    else if (!core->values[column].counted)
        core->values[column] = cpu->values[column];
    if (core->seconds < cpu->seconds)
        core->seconds = cpu->seconds;
}

static double value_of(const void *context, size_t column)
{
    const struct cores_value *value = &((const struct cores_row *)context)->values[column];
    return value->counted && !value->at_least ? (double)value->count : (double)NAN;
}

static void fill_cpu(const struct windows *self, size_t cpu, struct cores_table *table,
                     const struct plan_pass *pass)
{
    const struct cpu_windows_member *member = &self->cpus.members[cpu];
    const struct window *now = &member->window,
                        *from = table == &self->interval ? &member->before : &member->begin;
    struct cores_row *row = &table->rows[cpu];
    row->seconds = (double)(now->last_us - from->last_us) / 1e6;
    for (size_t k = 0; k < pass->n; k++) {
        uint64_t count = now->totals[k].count - from->totals[k].count;
        row->values[pass->column[k]] =
            (struct cores_value){.count = count,
                                 .rate = row->seconds > 0 ? (double)count / row->seconds : 0,
                                 .at_least = now->totals[k].missed > from->totals[k].missed,
                                 .counted = true};
    }
    table->skew_us = now->skew_us > table->skew_us ? now->skew_us : table->skew_us;
    table->lost += now->lost - from->lost;
}

void windows_fill(struct windows *self, struct cores_table *table, const struct plan_pass *pass)
{
    size_t n = self->cpus.n;
    struct cores_row *all = &table->rows[table->n_rows - 1];
    for (size_t i = 0; i < n; i++)
        fill_cpu(self, i, table, pass);
    for (size_t k = 0; k < pass->n; k++) {
        size_t column = pass->column[k];
        bool shared = pass->picks[k].counter == 0;
        for (size_t r = n; r < table->n_rows; r++)
            table->rows[r].values[column] = (struct cores_value){0};
        for (size_t r = n; r + 1 < table->n_rows; r++) {
            struct cores_row *core = &table->rows[r];
            for (size_t i = 0; i < n; i++)
                if (table->rows[i].core == core->core)
                    add_to_core(core, &table->rows[i], column, shared);
            add_to_core(all, core, column, false);
        }
    }
    for (size_t r = 0; r < table->n_rows; r++)
        counting_metrics(&self->counting, value_of, &table->rows[r], self->clock.hz, table->rows[r].metrics);
}

/* ---- the counts of one core */

void windows_name(const struct windows *self, struct counts *out)
{
    const struct plan *plan = self->counting.plan;
    out->n = plan->n_columns;
    out->passes = plan->n_passes;
    out->clock_hz = self->clock.hz;
    for (size_t i = 0; i < plan->n_columns; i++)
        out->rows[i] =
            (struct counts_row){.name = plan->columns[i].name, .unsupported = plan->columns[i].unsupported};
}

static void put_rows(const struct windows *self, const struct plan_pass *pass, const struct window *from,
                     struct counts *out)
{
    const struct window *window = windows_window(self);
    out->n = self->counting.plan->n_columns;
    out->seconds = (double)(window->last_us - from->last_us) / 1e6;
    out->since_begin = (double)(window->last_us - window->first_us) / 1e6;
    out->samples += window->samples - from->samples;
    out->lost += window->lost - from->lost;
    for (size_t i = 0; i < pass->n; i++)
        out->rows[pass->column[i]] =
            (struct counts_row){.name = self->counting.plan->columns[pass->column[i]].name,
                                .count = window->totals[i].count - from->totals[i].count,
                                .seconds = out->seconds,
                                .at_least = window->totals[i].missed > from->totals[i].missed,
                                .counted = true};
}

void windows_interval(const struct windows *self, const struct plan_pass *pass, struct counts *out)
{
    const struct cpu_windows_member *member = &self->cpus.members[0];
    uint64_t first = member->before.sample_skew_us, last = member->window.sample_skew_us;
    *out = (struct counts){.skew_us = first > last ? first : last};
    put_rows(self, pass, &member->before, out);
}

void windows_add(const struct windows *self, const struct plan_pass *pass, const struct window *from,
                 struct counts *out)
{
    const struct window *window = windows_window(self);
    put_rows(self, pass, from, out);
    out->skew_us = window->skew_us > out->skew_us ? window->skew_us : out->skew_us;
    if (window->halts) {
        out->halts += window->samples + 1;
        out->halted_us += window->halted_us;
    }
}

static double count_of(const void *context, size_t column)
{
    const struct counts_row *row = &((const struct counts *)context)->rows[column];
    return row->counted && !row->at_least ? (double)row->count : (double)NAN;
}

void windows_metrics(const struct windows *self, struct counts *out)
{
    out->n_metrics = counting_metrics(&self->counting, count_of, out, self->clock.hz, out->metrics);
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
        !cpu_windows_take_chosen(&self->cpus, &session->device, error))
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
        !make_table(self, &self->interval, error) || !make_table(self, &self->whole, error))
        return false;
    session_conditions(session, &self->clock, conditions);
    snprintf(conditions->core, sizeof conditions->core, "%.31s, %zu CPUs on %zu cores",
             session->device.chosen->core.name, self->cpus.n, self->whole.n_rows - self->cpus.n - 1);
    return true;
}

bool windows_open(struct windows *self, const char *sees_running, struct error *error)
{
    struct session *session = &self->session;
    const struct request *request = session->request;
    return program_open(session, error) && program_open_target(session, error) &&
           (request->all_cpus ? open_all(self, error) : open_chosen(self, sees_running, error));
}

bool windows_finish(struct windows *self, bool ok, struct error *error)
{
    counting_close(&self->counting);
    ok = session_finish(&self->session, ok, error);
    cpu_windows_close(&self->cpus);
    free(self->interval.rows);
    free(self->whole.rows);
    return ok;
}

struct window *windows_window(const struct windows *self)
{
    return &self->cpus.members[0].window;
}

/* Ctrl-C ends a window with one more sample, so it does not cancel that sample. */
static struct deadline uncancelled(const struct windows *self)
{
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    return deadline;
}

bool windows_program(struct windows *self, const struct plan_pass *pass, struct error *error)
{
    struct deadline deadline = uncancelled(self);
    return cpu_windows_program(&self->cpus, pass->picks, pass->n, &deadline, error);
}

static void note_stop(struct windows *self)
{
    self->stopped = self->stopped || self->session.device.leave == LEAVE_HALTED_FOREIGN;
    self->ended = self->ended || self->stopped;
}

bool windows_begin(struct windows *self, struct error *error)
{
    struct deadline deadline = uncancelled(self);
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
        struct deadline deadline = uncancelled(self);
        if (!cpu_windows_sample(&self->cpus, &deadline, error) && !self->recover(self->context, error))
            return false;
        note_stop(self);
    } while (*cancel == 0 && !self->ended && deadline_now_us() < until_us);
    return true;
}

bool windows_check_stop(const struct windows *self, struct error *error)
{
    char place[512];
    if (!self->stopped || self->session.device.debugger != NULL)
        return true;
    session_place(&self->session, self->session.device.stopped_at, place, sizeof place);
    return error_set(error, ERROR_FOREIGN_STOP, "halted by someone else at %s", place);
}
