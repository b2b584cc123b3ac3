/* watch: the counters while the core runs, live on a terminal, else in lines at regular intervals. */
#include "commands/command.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/screen.h"
#include "run/windows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MS = 50, SLICE_MS = 1000, NAME = 64 };

struct watching {
    const struct context *context;
    struct windows windows;
    const struct window *window, *before; /* of the first CPU: now; when the interval began */
    struct window zero;                   /* when the totals were set to zero */
    uint64_t zeros[SCREEN_ROWS];          /* with -a: the totals at that time */
    struct screen screen;
    struct screen_view shown;
    struct counts interval; /* of one core, on the screen */
    char title[320], names[SCREEN_ROWS][NAME];
    struct rates rates;
    bool paused;
    int64_t begun_us;
    uint64_t resets;
};

static double seconds(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0;
}

static const struct plan_pass *pass_of(const struct watching *self)
{
    return &self->windows.counting.plan->passes[0];
}

static const struct options *options_of(const struct watching *self)
{
    return self->context->options;
}

/* ---- one core */

static void print_text(struct watching *self, const struct counts *interval)
{
    const struct plan_pass *pass = pass_of(self);
    FILE *out = self->context->out;
    for (size_t i = 0; i < pass->n; i++) {
        const struct counts_row *count = &interval->rows[pass->column[i]];
        const struct rates_row row = {.name = count->name,
                                      .seconds = interval->since_begin,
                                      .count = count->count,
                                      .rate = count->seconds > 0 ? (double)count->count / count->seconds : 0,
                                      .total = self->window->totals[i].count,
                                      .count_at_least = count->at_least,
                                      .total_at_least = self->window->totals[i].missed > 0};
        rates_print(&self->rates, &row);
    }
    for (size_t i = 0; i < interval->n_metrics; i++) {
        const struct metric_result *metric = &interval->metrics[i];
        char value[NUMBER_ROOM] = "<not counted>";
        if (isfinite(metric->value))
            snprintf(value, sizeof value, "%.6g", metric->value);
        fprintf(out, "%-18s %8.3f s %15s%s%s\n", metric->name, interval->since_begin, value,
                metric->unit[0] != '\0' ? " " : "", metric->unit);
    }
}

/* What the screen showed, for the terminal that it leaves. */
static bool print_totals(const struct watching *self)
{
    FILE *out = self->context->out;
    const struct plan_pass *pass = pass_of(self);
    struct counts counts = {.passes = 1};
    windows_add(&self->windows, pass, &self->zero, &counts);
    for (size_t i = 0; i < pass->n; i++)
        counts.rows[i] = counts.rows[pass->column[i]];
    counts.n = pass->n;
    text_header(out, &self->windows.conditions);
    return counts_end(out, &counts, FORMAT_TEXT, ',');
}

static void put_core(struct watching *self, struct screen_view *view)
{
    const struct plan_pass *pass = pass_of(self);
    struct counts *interval = &self->interval;
    windows_interval(&self->windows, pass, interval);
    windows_metrics(&self->windows, interval);
    for (size_t i = 0; i < pass->n; i++) {
        const struct counts_row *row = &interval->rows[pass->column[i]];
        const struct window_total *total = &self->window->totals[i], *zero = &self->zero.totals[i];
        double rate = row->seconds > 0 ? (double)row->count / row->seconds : 0;
        bool has_part = view->clock_hz > 0 && strcmp(unit_of_counter(row->name), "cycles") == 0;
        view->rows[view->n++] = (struct screen_row){.name = row->name,
                                                    .rate = rate,
                                                    .of_clock = has_part ? rate / view->clock_hz : 0,
                                                    .total = total->count - zero->count,
                                                    .rate_at_least = row->at_least,
                                                    .total_at_least = total->missed > zero->missed};
    }
    view->lost = self->window->lost;
    view->n_metrics = interval->n_metrics;
    view->metrics = interval->metrics;
}

/* ---- all CPUs */

static void collect(struct watching *self)
{
    struct windows *windows = &self->windows;
    windows->interval.lost = windows->whole.lost = 0;
    windows->interval.since_begin = (double)(deadline_now_us() - self->begun_us) / 1e6;
    windows_fill(windows, &windows->interval, pass_of(self));
    windows_fill(windows, &windows->whole, pass_of(self));
}

/* The sums of all cores, event by event, then the cores; a screen shows as many as it has lines. */
static void put_all(struct watching *self, struct screen_view *view)
{
    const struct cores_table *interval = &self->windows.interval, *whole = &self->windows.whole;
    size_t first = self->windows.cpus.n, last = interval->n_rows - 1;
    collect(self);
    for (size_t k = first; k <= last; k++) {
        size_t r = k == first ? last : k - 1;
        const struct cores_row *row = &interval->rows[r];
        for (size_t i = 0; i < interval->n_columns && view->n < SCREEN_ROWS; i++) {
            char *name = self->names[view->n];
            if (row->core < 0)
                snprintf(name, NAME, "all %.*s", NAME - 8, interval->columns[i].name);
            else
                snprintf(name, NAME, "%d %.*s", row->core, NAME - 16, interval->columns[i].name);
            view->rows[view->n] =
                (struct screen_row){.name = name,
                                    .rate = row->values[i].rate,
                                    .total = whole->rows[r].values[i].count - self->zeros[view->n],
                                    .rate_at_least = row->values[i].at_least,
                                    .total_at_least = whole->rows[r].values[i].at_least,
                                    .missing = !row->values[i].counted};
            view->n++;
        }
    }
    view->lost = whole->lost;
    view->metrics = interval->rows[last].metrics;
    view->n_metrics = interval->n_metrics;
}

/* ---- the screen and its keys */

static void fill_view(struct watching *self)
{
    const struct conditions *conditions = &self->windows.conditions;
    double span = seconds(self->before->last_us, self->window->last_us);
    struct screen_view *view = &self->shown;
    snprintf(self->title, sizeof self->title, "%s     %s     %s", conditions->link, conditions->core,
             conditions->counter);
    *view = (struct screen_view){
        .title = self->title,
        .note = conditions->note,
        .seconds = seconds(self->zero.last_us, self->window->last_us),
        .samples_per_second = span > 0 ? (double)(self->window->samples - self->before->samples) / span : 0,
        .clock_hz = options_of(self)->request.all_cpus ? 0 : conditions->clock_hz,
        .paused = self->paused};
    if (options_of(self)->request.all_cpus)
        put_all(self, view);
    else
        put_core(self, view);
}

static void draw(struct watching *self)
{
    fill_view(self);
    screen_draw(&self->screen, &self->shown);
}

/* The rates stay as they are: an interval that has only begun has none. */
static void set_to_zero(struct watching *self)
{
    struct screen_view *view = &self->shown, before = *view;
    self->zero = *self->window;
    if (options_of(self)->request.all_cpus) {
        fill_view(self);
        for (size_t i = 0; i < view->n; i++)
            self->zeros[i] += view->rows[i].total;
        *view = before;
    }
    view->seconds = 0;
    for (size_t i = 0; i < view->n; i++) {
        view->rows[i].total = 0;
        view->rows[i].total_at_least = false;
    }
}

static void handle_key(struct watching *self, enum screen_key key)
{
    if (key == SCREEN_NO_KEY)
        return;
    if (key == SCREEN_QUIT)
        self->windows.ended = true;
    if (key == SCREEN_PAUSE)
        self->paused = self->shown.paused = !self->paused;
    if (key == SCREEN_ZERO)
        set_to_zero(self);
    screen_draw(&self->screen, &self->shown);
}

static void pause_us(struct watching *self, int64_t us)
{
    int64_t ms = us <= 0 ? 0 : us >= SLICE_MS * INT64_C(1000) ? SLICE_MS : us / 1000 + 1;
    if (self->screen.open)
        handle_key(self, screen_wait_key(&self->screen, (int)(ms < KEY_MS ? ms : KEY_MS)));
    else
        deadline_nap_us(1000 * ms);
}

/* A key may end the wait for a sample, unless the sample would halt the core or read all CPUs. */
static bool wait_for_sample(void *context, int64_t us, struct error *error)
{
    struct watching *self = context;
    const struct windows *windows = &self->windows;
    bool is_costly = self->window->halts || windows->cpus.all;
    int64_t due_us = deadline_now_us() + us;
    (void)error;
    do
        pause_us(self, due_us - deadline_now_us());
    while (is_costly && deadline_now_us() < due_us && *self->context->around.cancel == 0 && !windows->ended);
    return true;
}

static void tell_reset(struct watching *self)
{
    const struct context *context = self->context;
    double at = seconds(self->window->first_us, self->window->last_us);
    if (self->screen.open)
        snprintf(self->windows.conditions.note, sizeof self->windows.conditions.note,
                 "reset %" PRIu64 "%s; totals go on, and are lower bounds", self->resets,
                 self->resets > 1 ? " times" : " time");
    else if (context->options->format == FORMAT_JSON)
        json_reset(context->out, at); /* a failed write shows at the next line */
    else if (context->options->format == FORMAT_TEXT)
        fprintf(context->out, "%10.3f s  the target was reset; totals go on, and are lower bounds\n", at);
}

/* Keeps the counts of the last sample and goes on from them. */
static bool go_on_after_reset(void *context, struct error *error)
{
    struct watching *self = context;
    struct windows *windows = &self->windows;
    struct device *device = &windows->session.device;
    struct cpu_windows_member *member = &windows->cpus.members[0];
    const struct cpu_windows_member old = *member;
    if (error->kind != ERROR_RESET || windows->cpus.all)
        return false;
    error_clear(error);
    self->resets++;
    struct deadline deadline = session_deadline(&windows->session);
    if (!device_retake_block(device, &deadline, error) || !windows_program(windows, pass_of(self), error) ||
        !windows_begin(windows, error))
        return error_prefix(error, "the target was reset, and its counters do not count again: ");
    member->begin = old.begin;
    member->before = old.before;
    member->window.first_us = old.window.first_us;
    member->window.samples = old.window.samples;
    member->window.lost = old.window.lost;
    memcpy(member->window.totals, old.window.totals, sizeof old.window.totals);
    for (size_t i = 0; i < device->reading.counted; i++)
        member->window.totals[i].missed++; /* the counts between the last sample and the reset */
    tell_reset(self);
    return true;
}

/* ---- the run */

static bool print_begin(struct watching *self)
{
    const struct windows *windows = &self->windows;
    const struct options *options = options_of(self);
    FILE *out = self->context->out;
    struct counts counts = {0};
    if (options->request.all_cpus)
        return cores_begin(out, &windows->conditions, &windows->interval, options->format,
                           options->separator[0]);
    windows_name(windows, &counts);
    bool ok = counts_begin(out, &windows->conditions, &counts, options->format, options->separator[0]);
    if (options->format == FORMAT_TEXT)
        rates_begin(&self->rates, out);
    return ok;
}

static bool print_interval(struct watching *self)
{
    const struct options *options = options_of(self);
    FILE *out = self->context->out;
    if (options->request.all_cpus) {
        collect(self);
        return cores_print(out, &self->windows.interval, options->format, options->separator[0]);
    }
    struct counts interval;
    windows_interval(&self->windows, pass_of(self), &interval);
    windows_metrics(&self->windows, &interval);
    if (options->format == FORMAT_JSON)
        return json_counts(out, "sample", &interval);
    if (options->format == FORMAT_CSV)
        return counts_interval(out, &interval, FORMAT_CSV, options->separator[0]);
    print_text(self, &interval);
    return fflush(out) == 0 && !ferror(out);
}

static bool print_end(struct watching *self, bool was_shown)
{
    const struct windows *windows = &self->windows;
    const struct cores_table *whole = &windows->whole;
    const struct options *options = options_of(self);
    FILE *out = self->context->out;
    if (was_shown && options->request.all_cpus)
        return cores_begin(out, &windows->conditions, whole, FORMAT_TEXT, ',') &&
               cores_print(out, whole, FORMAT_TEXT, ',');
    if (was_shown)
        return print_totals(self);
    if (options->format != FORMAT_JSON)
        return true;
    if (options->request.all_cpus)
        return cores_end(out, whole);
    struct counts counts = {0};
    windows_add(windows, pass_of(self), &windows->cpus.members[0].begin, &counts);
    windows_metrics(windows, &counts);
    return json_counts(out, "summary", &counts);
}

static bool watch_interval(struct watching *self, int64_t *next_us, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct context *context = self->context;
    cpu_windows_begin_interval(&windows->cpus);
    *next_us = deadline_next_us(*next_us, context->options->request.interval_ms * 1000);
    if (!windows_until(windows, *next_us, error) || !windows_check_stop(windows, error))
        return false;
    if (self->screen.open && self->paused)
        return true;
    bool ok = true;
    if (self->screen.open) {
        fill_view(self);
        screen_remember(&self->screen, &self->shown, (double)(deadline_now_us() - self->begun_us) / 1e6);
        screen_draw(&self->screen, &self->shown);
    } else {
        ok = print_interval(self);
    }
    command_has_result(context);
    return ok || error_set(error, ERROR_UNWRITTEN, "the output could not be written");
}

static bool watch(struct watching *self, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct context *context = self->context;
    const struct options *options = context->options;
    const struct plan *plan = windows->counting.plan;
    if (plan->n_passes > 1)
        return error_set(error, ERROR_USAGE, "watch counts in one pass: these events take %zu",
                         plan->n_passes);
    self->window = windows_window(windows);
    self->before = &windows->cpus.members[0].before;
    /* A single core is programmed already */
    if ((options->request.all_cpus && !windows_program(windows, pass_of(self), error)) ||
        !windows_begin(windows, error) || !windows_check_stop(windows, error))
        return false;
    self->zero = *self->window;
    self->begun_us = deadline_now_us();
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if (!plain && screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO))
        draw(self);
    else if (!print_begin(self))
        return error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    int64_t next_us = self->begun_us, for_us = (int64_t)(options->request.for_s * 1e6);
    bool ok = true;
    while (ok && !windows->ended && *context->around.cancel == 0 &&
           (for_us == 0 || next_us - self->begun_us < for_us))
        ok = watch_interval(self, &next_us, error);
    bool was_shown = self->screen.open;
    screen_close(&self->screen);
    struct deadline deadline = session_last_deadline(&windows->session);
    if (ok && !options->request.all_cpus)
        ok = device_check_witness(&windows->session.device, &deadline, error);
    if ((ok || was_shown) && !print_end(self, was_shown))
        ok = error_set(error, ERROR_UNWRITTEN, "the output could not be written");
    return ok;
}

int command_watch(const struct context *context, struct error *error)
{
    struct watching self = {
        .context = context,
        .windows = {.session = {.request = &context->options->request, .around = &context->around},
                    .context = &self,
                    .wait = wait_for_sample,
                    .recover = go_on_after_reset}};
    bool ok = windows_open(&self.windows, "watch", error) && watch(&self, error);
    return command_code(windows_finish(&self.windows, ok, error), error);
}
