#include "commands/everyone.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int by_core(const void *a, const void *b)
{
    const struct cores_row *left = a, *right = b;
    return (left->core > right->core) - (left->core < right->core);
}

/* A row a CPU, a core, and for all. */
static bool make_rows(const struct everyone *self, struct cores_table *table, struct error *error)
{
    const struct crowd *crowd = &self->crowd;
    table->rows = calloc(2 * crowd->n + 1, sizeof *table->rows);
    if (table->rows == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < crowd->n; i++)
        table->rows[i] = (struct cores_row){.cpu = crowd->members[i].core->core.unit,
                                            .core = (int)crowd->members[i].core->view.core_id,
                                            .cpus = 1};
    table->n_rows = crowd->n;
    for (size_t i = 0; i < crowd->n; i++) {
        size_t at = crowd->n;
        while (at < table->n_rows && table->rows[at].core != table->rows[i].core)
            at++;
        if (at == table->n_rows)
            table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = table->rows[i].core};
        table->rows[at].cpus++;
    }
    qsort(table->rows + crowd->n, table->n_rows - crowd->n, sizeof *table->rows, by_core);
    table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = -1, .cpus = (unsigned)crowd->n};
    return true;
}

static bool make_table(const struct everyone *self, struct cores_table *table, struct error *error)
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

static void name_conditions(struct everyone *self)
{
    struct conditions *conditions = &self->conditions;
    size_t cores = self->table.n_rows - self->crowd.n - 1;
    session_conditions(&self->session, &self->clock, conditions);
    snprintf(conditions->core, sizeof conditions->core, "%.31s, %zu CPUs on %zu cores",
             self->session.target.chosen->core.name, self->crowd.n, cores);
}

bool everyone_open(struct everyone *self, struct error *error)
{
    struct session *session = &self->session;
    const struct options *options = session->context->options;
    if (options->core >= 0)
        return error_set(error, ERROR_USAGE, "-a takes all CPUs, -C N one: say one of them");
    if (!session_open_elf(session, error) || !session_open_target(session, error))
        return false;
    struct deadline deadline = session_deadline(session);
    if (!crowd_take(&self->crowd, &session->target, options->counter, &deadline, error) ||
        !session_clock(session, &self->clock, error) ||
        !counting_open(&self->counting, session, &self->clock, error) ||
        !make_table(self, &self->table, error) || !make_table(self, &self->whole, error))
        return false;
    name_conditions(self);
    return true;
}

bool everyone_close(struct everyone *self, struct error *error)
{
    counting_close(&self->counting);
    bool ok = session_close(&self->session, error);
    crowd_close(&self->crowd);
    free(self->table.rows);
    free(self->whole.rows);
    self->table.rows = self->whole.rows = NULL;
    return ok;
}

bool everyone_sample_until(struct everyone *self, int64_t until_us, struct error *error)
{
    const struct context *context = self->session.context;
    for (;;) {
        int64_t left_us = until_us - deadline_now_us();
        int64_t pace_us = crowd_pace_ms(&self->crowd) * INT64_C(1000);
        int64_t us = left_us < pace_us ? left_us : pace_us;
        if (us > 0 && *context->cancel == 0)
            nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
        struct deadline deadline = session_deadline(&self->session);
        deadline.cancel = NULL; /* the sample that ends the window */
        if (!crowd_sample(&self->crowd, &deadline, error))
            return false;
        if (*context->cancel != 0 || deadline_now_us() >= until_us)
            return true;
    }
}

static void add_value(struct cores_value *to, const struct cores_value *value)
{
    to->count += value->count;
    to->rate += value->rate;
    to->at_least = to->at_least || value->at_least;
    to->counted = true;
}

/* The TSC is one for the threads of a core: of them all, any says how many cycles there were. */
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

static void fill_cpus(const struct everyone *self, struct cores_table *table, const struct plan_pass *pass,
                      bool interval)
{
    for (size_t i = 0; i < self->crowd.n; i++) {
        const struct crowd_member *member = &self->crowd.members[i];
        const struct window *now = &member->window, *from = interval ? &member->before : &member->begin;
        struct cores_row *row = &table->rows[i];
        row->seconds = (double)(now->last_us - from->last_us) / 1e6;
        for (size_t k = 0; k < pass->n; k++)
            row->values[pass->column[k]] = (struct cores_value){
                .count = now->totals[k].count - from->totals[k].count,
                .rate = row->seconds > 0
                            ? (double)(now->totals[k].count - from->totals[k].count) / row->seconds
                            : 0,
                .at_least = now->totals[k].missed > from->totals[k].missed,
                .counted = true};
        table->skew_us = now->skew_us > table->skew_us ? now->skew_us : table->skew_us;
        table->lost += now->lost - from->lost;
    }
}

void everyone_fill(struct everyone *self, struct cores_table *table, const struct plan_pass *pass,
                   bool interval)
{
    size_t n = self->crowd.n;
    struct cores_row *all = &table->rows[table->n_rows - 1];
    fill_cpus(self, table, pass, interval);
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
