/* watch -a: what all CPUs do, core by core; live on a terminal, else a table an interval. */
#include "commands/everyone.h"
#include "report/screen.h"

#include <stdio.h>
#include <unistd.h>

enum { KEY_MS = 50, NAME = 64 };

struct watching {
    struct everyone all;
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
    const struct crowd_member *member = &self->all.crowd.members[0];
    if (interval->rows[0].seconds > 0)
        view.samples_per_second =
            (double)(member->window.samples - member->before.samples) / interval->rows[0].seconds;
    size_t first = self->all.crowd.n, cores = interval->n_rows - first - 1;
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
        return everyone_sample_until(&self->all, until_us, error);
    const struct context *context = self->all.session.context;
    do
        handle_key(self, screen_wait_key(&self->screen, KEY_MS));
    while (!self->quit && *context->cancel == 0 && deadline_now_us() < until_us);
    return everyone_sample_until(&self->all, deadline_now_us(), error);
}

static bool show(struct watching *self, const struct plan_pass *pass, struct error *error)
{
    const struct context *context = self->all.session.context;
    struct cores_table *interval = &self->all.table, *whole = &self->all.whole;
    interval->lost = whole->lost = 0;
    interval->since_begin = (double)(deadline_now_us() - self->begun_us) / 1e6;
    everyone_fill(&self->all, interval, pass, true);
    everyone_fill(&self->all, whole, pass, false);
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
    if (!crowd_program(&self->all.crowd, plan->passes[0].picks, plan->passes[0].n, &deadline, error) ||
        !crowd_begin(&self->all.crowd, &self->all.clock, &deadline, error))
        return false;
    self->begun_us = deadline_now_us();
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if ((plain || !screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO)) &&
        !cores_begin(context->out, &self->all.conditions, &self->all.table, options->format))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    int64_t next_us = self->begun_us, for_us = (int64_t)(options->for_s * 1e6);
    bool ok = true;
    while (ok && !self->quit && *context->cancel == 0 && (for_us == 0 || next_us - self->begun_us < for_us)) {
        crowd_begin_interval(&self->all.crowd);
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

int everyone_watch(const struct context *context, struct error *error)
{
    struct watching self = {.all.session.context = context};
    bool ok = everyone_open(&self.all, error) && watch(&self, error);
    struct error after = {0};
    if (!everyone_close(&self.all, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
