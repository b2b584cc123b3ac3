#include "commands/all_cpus.h"

#include "report/screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int by_core(const void *a, const void *b)
{
    const struct cores_row *left = a, *right = b;
    return (left->core > right->core) - (left->core < right->core);
}

/* A row a CPU, a core, and for all. */
static bool make_rows(const struct all_cpus *self, struct cores_table *table, struct error *error)
{
    const struct cpu_windows *windows = &self->windows;
    table->rows = calloc(2 * windows->n + 1, sizeof *table->rows);
    if (table->rows == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    for (size_t i = 0; i < windows->n; i++)
        table->rows[i] = (struct cores_row){.cpu = windows->members[i].core->core.unit,
                                            .core = (int)windows->members[i].core->view.core_id,
                                            .cpus = 1};
    table->n_rows = windows->n;
    for (size_t i = 0; i < windows->n; i++) {
        size_t at = windows->n;
        while (at < table->n_rows && table->rows[at].core != table->rows[i].core)
            at++;
        if (at == table->n_rows)
            table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = table->rows[i].core};
        table->rows[at].cpus++;
    }
    qsort(table->rows + windows->n, table->n_rows - windows->n, sizeof *table->rows, by_core);
    table->rows[table->n_rows++] = (struct cores_row){.cpu = -1, .core = -1, .cpus = (unsigned)windows->n};
    return true;
}

static bool make_table(const struct all_cpus *self, struct cores_table *table, struct error *error)
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

static void name_conditions(struct all_cpus *self)
{
    struct conditions *conditions = &self->conditions;
    size_t cores = self->table.n_rows - self->windows.n - 1;
    session_conditions(&self->session, &self->clock, conditions);
    snprintf(conditions->core, sizeof conditions->core, "%.31s, %zu CPUs on %zu cores",
             self->session.device.chosen->core.name, self->windows.n, cores);
}

bool all_cpus_open(struct all_cpus *self, struct error *error)
{
    struct session *session = &self->session;
    const struct options *options = session->context->options;
    if (options->core >= 0)
        return error_set(error, ERROR_USAGE, "-a takes all CPUs, -C N one: say one of them");
    if (!session_open_elf(session, error) || !session_open_target(session, error))
        return false;
    struct deadline deadline = session_deadline(session);
    if (!cpu_windows_take(&self->windows, &session->device, options->counter, &deadline, error) ||
        !session_clock(session, &self->clock, error) ||
        !counting_open(&self->counting, session, &self->clock, error) ||
        !make_table(self, &self->table, error) || !make_table(self, &self->whole, error))
        return false;
    name_conditions(self);
    return true;
}

bool all_cpus_close(struct all_cpus *self, struct error *error)
{
    counting_close(&self->counting);
    bool ok = session_close(&self->session, error);
    cpu_windows_close(&self->windows);
    free(self->table.rows);
    free(self->whole.rows);
    self->table.rows = self->whole.rows = NULL;
    return ok;
}

bool all_cpus_sample_until(struct all_cpus *self, int64_t until_us, struct error *error)
{
    const struct context *context = self->session.context;
    for (;;) {
        int64_t left_us = until_us - deadline_now_us();
        int64_t pace_us = cpu_windows_pace_ms(&self->windows) * INT64_C(1000);
        int64_t us = left_us < pace_us ? left_us : pace_us;
        if (us > 0 && *context->cancel == 0)
            nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
        struct deadline deadline = session_deadline(&self->session);
        deadline.cancel = NULL; /* the sample that ends the window */
        if (!cpu_windows_sample(&self->windows, &deadline, error))
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

static void fill_cpus(const struct all_cpus *self, struct cores_table *table, const struct plan_pass *pass,
                      bool interval)
{
    for (size_t i = 0; i < self->windows.n; i++) {
        const struct cpu_windows_member *member = &self->windows.members[i];
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

void all_cpus_fill(struct all_cpus *self, struct cores_table *table, const struct plan_pass *pass,
                   bool interval)
{
    size_t n = self->windows.n;
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

static bool run_pass(struct all_cpus *self, const struct plan_pass *pass, struct error *error)
{
    const struct context *context = self->session.context;
    struct deadline deadline = session_deadline(&self->session);
    deadline.cancel = NULL;
    if (!cpu_windows_program(&self->windows, pass->picks, pass->n, &deadline, error) ||
        !cpu_windows_begin(&self->windows, &self->clock, &deadline, error))
        return false;
    int64_t for_us = context->options->for_s > 0 ? (int64_t)(context->options->for_s * 1e6) : INT64_MAX / 4;
    if (!all_cpus_sample_until(self, deadline_now_us() + for_us, error))
        return false;
    all_cpus_fill(self, &self->table, pass, false);
    return true;
}

static bool run(struct all_cpus *self, struct error *error)
{
    const struct context *context = self->session.context;
    const struct options *options = context->options;
    const struct plan *plan = self->counting.plan;
    if (plan->n_passes > 1 && !(options->for_s > 0))
        return error_set(error, ERROR_USAGE,
                         "these events take %zu windows in a row: say with --for how long each is",
                         plan->n_passes);
    if (!cores_begin(context->out, &self->conditions, &self->table, options->format))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    for (size_t i = 0; i < plan->n_passes && (i == 0 || *context->cancel == 0); i++)
        if (!run_pass(self, &plan->passes[i], error))
            return false;
    return cores_print(context->out, &self->table, options->format, options->separator[0]) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

int all_cpus_stat(const struct context *context, struct error *error)
{
    struct all_cpus self = {.session.context = context};
    bool ok =
        !context->options->interval_said ||
        error_set(error, ERROR_USAGE, "stat -a prints once; watch -a -I MS prints every MS milliseconds");
    ok = ok && all_cpus_open(&self, error) && run(&self, error);
    struct error after = {0};
    if (!all_cpus_close(&self, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}

enum { KEY_MS = 50, NAME = 64 };

struct watching {
    struct all_cpus all;
    struct screen screen;
    struct cores_value zero[SCREEN_ROWS]; /* totals when they were set to zero */
    bool paused, pause_shown, quit, zero_wanted;
    int64_t begun_us;
};

/* The sums of all cores, event by event, then the cores; a screen shows as many as it has lines. */
static void draw(struct watching *self, const struct cores_table *interval, const struct cores_table *whole)
{
    static const size_t SUMS_FIRST = 1;
    const struct conditions *conditions = &self->all.conditions;
    char title[320], names[SCREEN_ROWS][NAME];
    snprintf(title, sizeof title, "%s     %s     %s", conditions->link, conditions->core,
             conditions->counter);
    struct screen_view view = {.title = title,
                               .note = conditions->note,
                               .seconds = (double)(deadline_now_us() - self->begun_us) / 1e6,
                               .lost = whole->lost,
                               .paused = self->paused};
    const struct cpu_windows_member *member = &self->all.windows.members[0];
    if (interval->rows[0].seconds > 0)
        view.samples_per_second =
            (double)(member->window.samples - member->before.samples) / interval->rows[0].seconds;
    size_t first = self->all.windows.n, cores = interval->n_rows - first - 1;
    for (size_t k = 0; k < cores + SUMS_FIRST; k++) {
        size_t r = k == 0 ? interval->n_rows - 1 : first + k - 1;
        const struct cores_row *row = &interval->rows[r];
        for (size_t i = 0; i < interval->n_columns && view.n < SCREEN_ROWS; i++) {
            const struct cores_value *total = &whole->rows[r].values[i], *zero = &self->zero[view.n];
            if (self->zero_wanted)
                self->zero[view.n] = *total;
            if (row->core < 0)
                snprintf(names[view.n], NAME, "all %.*s", NAME - 8, interval->columns[i].name);
            else
                snprintf(names[view.n], NAME, "%d %.*s", row->core, NAME - 16, interval->columns[i].name);
            view.rows[view.n] = (struct screen_row){.name = names[view.n],
                                                    .rate = row->values[i].rate,
                                                    .total = total->count - zero->count,
                                                    .rate_at_least = row->values[i].at_least,
                                                    .total_at_least = total->at_least,
                                                    .missing = !row->values[i].counted};
            view.n++;
        }
    }
    self->zero_wanted = false;
    view.metrics = interval->rows[interval->n_rows - 1].metrics;
    view.n_metrics = interval->n_metrics;
    screen_draw(&self->screen, &view);
}

static void handle_key(struct watching *self, enum screen_key key)
{
    if (key == SCREEN_QUIT)
        self->quit = true;
    if (key == SCREEN_PAUSE)
        self->paused = !self->paused;
    if (key == SCREEN_ZERO)
        self->zero_wanted = true;
}

/* A screen's keys are looked at in between. */
static bool wait_and_sample(struct watching *self, int64_t until_us, struct error *error)
{
    if (!self->screen.open)
        return all_cpus_sample_until(&self->all, until_us, error);
    const struct context *context = self->all.session.context;
    do
        handle_key(self, screen_wait_key(&self->screen, KEY_MS));
    while (!self->quit && *context->cancel == 0 && deadline_now_us() < until_us);
    return all_cpus_sample_until(&self->all, deadline_now_us(), error);
}

static bool show(struct watching *self, const struct plan_pass *pass, struct error *error)
{
    const struct context *context = self->all.session.context;
    struct cores_table *interval = &self->all.table, *whole = &self->all.whole;
    interval->lost = whole->lost = 0;
    interval->since_begin = (double)(deadline_now_us() - self->begun_us) / 1e6;
    all_cpus_fill(&self->all, interval, pass, true);
    all_cpus_fill(&self->all, whole, pass, false);
    if (self->screen.open) {
        if (!self->paused || !self->pause_shown)
            draw(self, interval, whole);
        self->pause_shown = self->paused;
        return true;
    }
    command_has_result(context);
    return cores_print(context->out, interval, context->options->format, context->options->separator[0]) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

static bool watch(struct watching *self, struct error *error)
{
    const struct context *context = self->all.session.context;
    const struct options *options = context->options;
    const struct plan *plan = self->all.counting.plan;
    struct deadline deadline = session_deadline(&self->all.session);
    if (plan->n_passes > 1)
        return error_set(error, ERROR_USAGE, "watch counts in one pass: these events take %zu",
                         plan->n_passes);
    if (!cpu_windows_program(&self->all.windows, plan->passes[0].picks, plan->passes[0].n, &deadline,
                             error) ||
        !cpu_windows_begin(&self->all.windows, &self->all.clock, &deadline, error))
        return false;
    self->begun_us = deadline_now_us();
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if ((plain || !screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO)) &&
        !cores_begin(context->out, &self->all.conditions, &self->all.table, options->format))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    int64_t next_us = self->begun_us, for_us = (int64_t)(options->for_s * 1e6);
    bool ok = true;
    while (ok && !self->quit && *context->cancel == 0 && (for_us == 0 || next_us - self->begun_us < for_us)) {
        cpu_windows_begin_interval(&self->all.windows);
        next_us = deadline_next_us(next_us, options->interval_ms * 1000);
        ok = wait_and_sample(self, next_us, error) && show(self, &plan->passes[0], error);
    }
    bool was_shown = self->screen.open && self->all.whole.rows[self->all.whole.n_rows - 1].seconds > 0;
    screen_close(&self->screen);
    self->all.whole.since_begin = 0;
    if (was_shown && (!cores_begin(context->out, &self->all.conditions, &self->all.whole, FORMAT_TEXT) ||
                      !cores_print(context->out, &self->all.whole, FORMAT_TEXT, ',')))
        ok = error_set(error, ERROR_SYSTEM, "the output could not be written");
    return ok && (options->format != FORMAT_JSON || cores_end(context->out, &self->all.whole) ||
                  error_set(error, ERROR_SYSTEM, "the output could not be written"));
}

int all_cpus_watch(const struct context *context, struct error *error)
{
    struct watching self = {.all.session.context = context};
    bool ok = all_cpus_open(&self.all, error) && watch(&self, error);
    struct error after = {0};
    if (!all_cpus_close(&self.all, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
