/* watch: the counters while the core runs, live on a terminal, else in lines at regular intervals. */
#include "commands/command.h"
#include "commands/sampling.h"
#include "report/json.h"
#include "report/number.h"
#include "report/screen.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_MS = 50, SLICE_MS = 1000, NAME = 64 };

struct watching {
    struct sampling sampling;
    const struct window *window, *before; /* of the first CPU: now; when the interval began */
    struct window zero;                   /* when the totals were set to zero */
    uint64_t zeros[SCREEN_ROWS];          /* with -a: the totals at that time */
    struct screen screen;
    struct screen_view shown;
    struct metric_result metrics[RESULT_METRICS]; /* of the screen */
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
    return &self->sampling.counting.plan->passes[0];
}

static const struct options *options_of(const struct watching *self)
{
    return self->sampling.session.context->options;
}

/* ---- one core */

/* A time from which metrics are computed: the interval's begin or the first sample. */
struct stretch {
    const struct watching *self;
    const struct window *from;
};

static double count_of(const void *context, size_t column)
{
    const struct stretch *stretch = context;
    const struct plan_pass *pass = pass_of(stretch->self);
    for (size_t i = 0; i < pass->n; i++)
        if (pass->column[i] == column) {
            const struct window_total *to = &stretch->self->window->totals[i],
                                      *from = &stretch->from->totals[i];
            return to->missed > from->missed ? (double)NAN : (double)(to->count - from->count);
        }
    return (double)NAN;
}

static size_t make_metrics(const struct watching *self, const struct window *from, struct metric_result *out)
{
    const struct stretch stretch = {.self = self, .from = from};
    return counting_metrics(&self->sampling.counting, count_of, &stretch, self->sampling.clock.hz, out);
}

static struct json_part metrics_since(const struct watching *self, const struct window *from)
{
    struct metric_result metrics[RESULT_METRICS];
    return json_metrics(metrics, make_metrics(self, from, metrics));
}

static bool print_json(const struct watching *self)
{
    const struct window *window = self->window, *before = self->before;
    const struct reading *reading = &self->sampling.session.device.reading;
    struct json_part line = json_part_new("sample"), values = json_part_new(NULL);
    json_part_real(&line, "seconds", seconds(window->first_us, window->last_us));
    json_part_unsigned(&line, "count", window->totals[0].count - before->totals[0].count);
    json_part_unsigned(&line, "total", window->totals[0].count);
    json_part_bool(&line, "at_least", window->totals[0].missed > before->totals[0].missed);
    json_part_unsigned(&line, "samples", window->samples - before->samples);
    json_part_unsigned(&line, "lost", window->lost);
    for (size_t i = 0; i < reading->counted; i++) {
        struct json_part value = json_part_new(NULL);
        json_part_unsigned(&value, "count", window->totals[i].count - before->totals[i].count);
        json_part_unsigned(&value, "total", window->totals[i].count);
        json_part_bool(&value, "at_least", window->totals[i].missed > 0);
        json_part_object(&values, reading->counters[i].name, value);
    }
    json_part_object(&line, "values", values);
    json_part_object(&line, "metrics", metrics_since(self, before));
    return json_part_write(self->sampling.session.context->out, line);
}

static bool print_json_summary(const struct watching *self)
{
    const struct window *window = self->window, begin = {0};
    const struct reading *reading = &self->sampling.session.device.reading;
    struct json_part line = json_part_new("summary"), values = json_part_new(NULL);
    json_part_real(&line, "seconds", seconds(window->first_us, window->last_us));
    json_part_unsigned(&line, "samples", window->samples);
    json_part_unsigned(&line, "lost", window->lost);
    for (size_t i = 0; i < reading->counted; i++) {
        struct json_part value = json_part_new(NULL);
        json_part_unsigned(&value, "total", window->totals[i].count);
        json_part_bool(&value, "at_least", window->totals[i].missed > 0);
        json_part_object(&values, reading->counters[i].name, value);
    }
    json_part_object(&line, "values", values);
    json_part_object(&line, "metrics", metrics_since(self, &begin));
    json_part_unsigned(&line, "skew_us", window->skew_us);
    return json_part_write(self->sampling.session.context->out, line);
}

static bool print_json_reset(const struct watching *self, double at)
{
    struct json_part line = json_part_new("reset");
    json_part_real(&line, "seconds", at);
    return json_part_write(self->sampling.session.context->out, line);
}

static bool print_json_header(const struct watching *self)
{
    const struct plan *plan = self->sampling.counting.plan;
    struct column columns[PLAN_COLUMNS] = {0};
    for (size_t i = 0; i < plan->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    return json_header(self->sampling.session.context->out, &self->sampling.conditions, columns,
                       plan->n_columns, time(NULL));
}

static void print_text(struct watching *self)
{
    const struct window *window = self->window;
    const struct reading *reading = &self->sampling.session.device.reading;
    double span = seconds(self->before->last_us, window->last_us);
    for (size_t i = 0; i < reading->counted; i++) {
        uint64_t count = window->totals[i].count - self->before->totals[i].count;
        const struct rates_row row = {.name = reading->counters[i].name,
                                      .seconds = seconds(window->first_us, window->last_us),
                                      .count = count,
                                      .rate = span > 0 ? (double)count / span : 0,
                                      .total = window->totals[i].count,
                                      .count_at_least =
                                          window->totals[i].missed > self->before->totals[i].missed,
                                      .total_at_least = window->totals[i].missed > 0};
        rates_print(&self->rates, &row);
    }
    struct metric_result metrics[RESULT_METRICS];
    size_t n = make_metrics(self, self->before, metrics);
    for (size_t i = 0; i < n; i++) {
        char value[NUMBER_ROOM] = "<not counted>";
        if (isfinite(metrics[i].value))
            snprintf(value, sizeof value, "%.6g", metrics[i].value);
        fprintf(self->sampling.session.context->out, "%-18s %8.3f s %15s%s%s\n", metrics[i].name,
                seconds(window->first_us, window->last_us), value, metrics[i].unit[0] != '\0' ? " " : "",
                metrics[i].unit);
    }
}

/* What the screen showed, for the terminal that it leaves. */
static bool print_totals(const struct watching *self)
{
    FILE *out = self->sampling.session.context->out;
    const struct window *window = self->window;
    const struct reading *reading = &self->sampling.session.device.reading;
    struct counts counts = {.passes = 1,
                            .seconds = seconds(self->zero.last_us, window->last_us),
                            .skew_us = window->skew_us,
                            .lost = window->lost,
                            .halts = window->halts ? window->samples + 1 : 0,
                            .halted_us = window->halted_us};
    for (size_t i = 0; i < reading->counted && i < READING_ROOM; i++)
        counts.rows[counts.n++] =
            (struct counts_row){.name = reading->counters[i].name,
                                .count = window->totals[i].count - self->zero.totals[i].count,
                                .seconds = counts.seconds,
                                .at_least = window->totals[i].missed > self->zero.totals[i].missed,
                                .counted = true};
    text_header(out, &self->sampling.conditions);
    return counts_end(out, &counts, FORMAT_TEXT, ',');
}

static void put_core(struct watching *self, struct screen_view *view)
{
    const struct window *window = self->window, *before = self->before;
    const struct reading *reading = &self->sampling.session.device.reading;
    double span = seconds(before->last_us, window->last_us);
    for (size_t i = 0; i < reading->counted && i < READING_ROOM; i++)
        view->rows[view->n++] = (struct screen_row){
            .name = reading->counters[i].name,
            .rate = span > 0 ? (double)(window->totals[i].count - before->totals[i].count) / span : 0,
            .total = window->totals[i].count - self->zero.totals[i].count,
            .rate_at_least = window->totals[i].missed > before->totals[i].missed,
            .total_at_least = window->totals[i].missed > self->zero.totals[i].missed};
    view->lost = window->lost;
    view->n_metrics = make_metrics(self, before, self->metrics);
    view->metrics = self->metrics;
}

/* ---- all CPUs */

static void collect(struct watching *self)
{
    struct sampling *sampling = &self->sampling;
    sampling->interval.lost = sampling->whole.lost = 0;
    sampling->interval.since_begin = (double)(deadline_now_us() - self->begun_us) / 1e6;
    sampling_fill(sampling, &sampling->interval, pass_of(self));
    sampling_fill(sampling, &sampling->whole, pass_of(self));
}

/* The sums of all cores, event by event, then the cores; a screen shows as many as it has lines. */
static void put_all(struct watching *self, struct screen_view *view)
{
    const struct cores_table *interval = &self->sampling.interval, *whole = &self->sampling.whole;
    size_t first = self->sampling.windows.n, last = interval->n_rows - 1;
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
    const struct conditions *conditions = &self->sampling.conditions;
    double span = seconds(self->before->last_us, self->window->last_us);
    struct screen_view *view = &self->shown;
    snprintf(self->title, sizeof self->title, "%s     %s     %s", conditions->link, conditions->core,
             conditions->counter);
    *view = (struct screen_view){
        .title = self->title,
        .note = conditions->note,
        .seconds = seconds(self->zero.last_us, self->window->last_us),
        .samples_per_second = span > 0 ? (double)(self->window->samples - self->before->samples) / span : 0,
        .paused = self->paused};
    if (options_of(self)->all_cpus)
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
    if (options_of(self)->all_cpus) {
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
        self->sampling.ended = true;
    if (key == SCREEN_PAUSE)
        self->paused = self->shown.paused = !self->paused;
    if (key == SCREEN_ZERO)
        set_to_zero(self);
    screen_draw(&self->screen, &self->shown);
}

static void pause_us(struct watching *self, int64_t us)
{
    int64_t ms = us <= 0 ? 0 : us >= SLICE_MS * 1000 ? SLICE_MS : us / 1000 + 1;
    if (self->screen.open)
        handle_key(self, screen_wait_key(&self->screen, (int)(ms < KEY_MS ? ms : KEY_MS)));
    else
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* A key may end the wait for a sample, unless the sample would halt the core or read all CPUs. */
static bool wait_for_sample(void *context, int64_t us, struct error *error)
{
    struct watching *self = context;
    const struct sampling *sampling = &self->sampling;
    bool is_costly = self->window->halts || sampling->windows.all;
    int64_t due_us = deadline_now_us() + us;
    (void)error;
    do
        pause_us(self, due_us - deadline_now_us());
    while (is_costly && deadline_now_us() < due_us && *sampling->session.context->cancel == 0 &&
           !sampling->ended);
    return true;
}

static void tell_reset(struct watching *self)
{
    const struct context *context = self->sampling.session.context;
    double at = seconds(self->window->first_us, self->window->last_us);
    if (self->screen.open)
        snprintf(self->sampling.conditions.note, sizeof self->sampling.conditions.note,
                 "reset %" PRIu64 "%s; totals go on, and are lower bounds", self->resets,
                 self->resets > 1 ? " times" : " time");
    else if (context->options->format == FORMAT_JSON)
        print_json_reset(self, at); /* a failed write shows at the next line */
    else
        fprintf(context->out, "%10.3f s  the target was reset; totals go on, and are lower bounds\n", at);
}

/* Keeps the counts of the last sample and goes on from them. */
static bool go_on_after_reset(void *context, struct error *error)
{
    struct watching *self = context;
    struct sampling *sampling = &self->sampling;
    struct device *device = &sampling->session.device;
    struct cpu_windows_member *member = &sampling->windows.members[0];
    const struct cpu_windows_member old = *member;
    if (error->kind != ERROR_RESET || sampling->windows.all)
        return false;
    error_clear(error);
    self->resets++;
    struct deadline deadline = session_deadline(&sampling->session);
    if (!device_retake_block(device, &deadline, error) || !sampling_program(sampling, pass_of(self), error) ||
        !sampling_begin(sampling, error))
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
    const struct sampling *sampling = &self->sampling;
    const struct options *options = options_of(self);
    FILE *out = sampling->session.context->out;
    if (options->all_cpus)
        return cores_begin(out, &sampling->conditions, &sampling->interval, options->format);
    if (options->format == FORMAT_JSON)
        return print_json_header(self);
    text_header(out, &sampling->conditions);
    rates_begin(&self->rates, out);
    return true;
}

static bool print_interval(struct watching *self)
{
    const struct options *options = options_of(self);
    FILE *out = self->sampling.session.context->out;
    if (options->all_cpus) {
        collect(self);
        return cores_print(out, &self->sampling.interval, options->format, options->separator[0]);
    }
    if (options->format == FORMAT_JSON)
        return print_json(self);
    print_text(self);
    return fflush(out) == 0 && !ferror(out);
}

static bool print_end(struct watching *self, bool was_shown)
{
    const struct sampling *sampling = &self->sampling;
    const struct cores_table *whole = &sampling->whole;
    const struct options *options = options_of(self);
    FILE *out = sampling->session.context->out;
    if (was_shown && options->all_cpus)
        return cores_begin(out, &sampling->conditions, whole, FORMAT_TEXT) &&
               cores_print(out, whole, FORMAT_TEXT, ',');
    if (was_shown)
        return print_totals(self);
    if (options->format != FORMAT_JSON)
        return true;
    return options->all_cpus ? cores_end(out, whole) : print_json_summary(self);
}

static bool watch_interval(struct watching *self, int64_t *next_us, struct error *error)
{
    struct sampling *sampling = &self->sampling;
    const struct context *context = sampling->session.context;
    cpu_windows_begin_interval(&sampling->windows);
    *next_us = deadline_next_us(*next_us, context->options->interval_ms * 1000);
    if (!sampling_until(sampling, *next_us, error) || !sampling_check_stop(sampling, error))
        return false;
    if (self->screen.open && self->paused)
        return true;
    bool ok = true;
    if (self->screen.open)
        draw(self);
    else
        ok = print_interval(self);
    command_has_result(context);
    return ok || error_set(error, ERROR_SYSTEM, "the output could not be written");
}

static bool watch(struct watching *self, struct error *error)
{
    struct sampling *sampling = &self->sampling;
    const struct context *context = sampling->session.context;
    const struct options *options = context->options;
    const struct plan *plan = sampling->counting.plan;
    if (plan->n_passes > 1)
        return error_set(error, ERROR_USAGE, "watch counts in one pass: these events take %zu",
                         plan->n_passes);
    self->window = sampling_window(sampling);
    self->before = &sampling->windows.members[0].before;
    /* A single core is programmed already */
    if ((options->all_cpus && !sampling_program(sampling, pass_of(self), error)) ||
        !sampling_begin(sampling, error) || !sampling_check_stop(sampling, error))
        return false;
    self->zero = *self->window;
    self->begun_us = deadline_now_us();
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if (!plain && screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO))
        draw(self);
    else if (!print_begin(self))
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    int64_t next_us = self->begun_us, for_us = (int64_t)(options->for_s * 1e6);
    bool ok = true;
    while (ok && !sampling->ended && *context->cancel == 0 &&
           (for_us == 0 || next_us - self->begun_us < for_us))
        ok = watch_interval(self, &next_us, error);
    bool was_shown = self->screen.open;
    screen_close(&self->screen);
    struct deadline deadline = session_last_deadline();
    if (ok && !options->all_cpus)
        ok = device_check_witness(&sampling->session.device, &deadline, error);
    if ((ok || was_shown) && !print_end(self, was_shown))
        ok = error_set(error, ERROR_SYSTEM, "the output could not be written");
    return ok;
}

int command_watch(const struct context *context, struct error *error)
{
    struct watching self = {.sampling = {.session.context = context,
                                         .context = &self,
                                         .wait = wait_for_sample,
                                         .recover = go_on_after_reset}};
    bool ok = sampling_open(&self.sampling, "watch", error) && watch(&self, error);
    return sampling_finish(&self.sampling, ok, error);
}
