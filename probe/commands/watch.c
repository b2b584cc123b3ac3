/* watch: what the counters do while the core runs, live on a terminal, else a line an interval. */
#include "commands/all_cpus.h"
#include "commands/command.h"
#include "commands/counting.h"
#include "commands/session.h"
#include "measure/window.h"
#include "report/counts.h"
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

enum { KEY_MS = 50, SLICE_MS = 1000 };

struct watching {
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct window window, before, zero; /* now; when the interval began; when the totals were set to zero */
    struct screen screen;
    struct screen_view shown;
    struct metric_result metrics[RESULT_METRICS]; /* that it shows */
    char title[320];
    struct rates rates;
    bool paused, quit;
    uint64_t resets;
};

static double seconds(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0;
}

/* Of the interval or, for the summary, since the begin. */
struct stretch {
    const struct watching *self;
    const struct window *from;
};

static double count_of(const void *context, size_t column)
{
    const struct stretch *stretch = context;
    const struct plan_pass *pass = &stretch->self->counting.plan->passes[0];
    for (size_t i = 0; i < pass->n; i++)
        if (pass->column[i] == column) {
            const struct window_total *to = &stretch->self->window.totals[i],
                                      *from = &stretch->from->totals[i];
            return to->missed > from->missed ? (double)NAN : (double)(to->count - from->count);
        }
    return (double)NAN;
}

static size_t make_metrics(const struct watching *self, const struct window *from, struct metric_result *out)
{
    const struct stretch stretch = {.self = self, .from = from};
    return counting_metrics(&self->counting, count_of, &stretch, self->clock.hz, out);
}

static struct json_part metrics_since(const struct watching *self, const struct window *from)
{
    struct metric_result metrics[RESULT_METRICS];
    return json_metrics(metrics, make_metrics(self, from, metrics));
}

static bool print_json(const struct watching *self)
{
    const struct window *window = &self->window, *before = &self->before;
    const struct reading *reading = &self->session.device.reading;
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
    return json_part_write(self->session.context->out, line);
}

static bool print_json_summary(const struct watching *self)
{
    const struct window *window = &self->window, begin = {0};
    const struct reading *reading = &self->session.device.reading;
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
    return json_part_write(self->session.context->out, line);
}

static bool print_json_reset(const struct watching *self, double at)
{
    struct json_part line = json_part_new("reset");
    json_part_real(&line, "seconds", at);
    return json_part_write(self->session.context->out, line);
}

static bool print_json_header(const struct watching *self)
{
    const struct plan *plan = self->counting.plan;
    struct column columns[PLAN_COLUMNS] = {0};
    for (size_t i = 0; i < plan->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    return json_header(self->session.context->out, &self->conditions, columns, plan->n_columns, time(NULL));
}

static void print_text(struct watching *self)
{
    const struct window *window = &self->window;
    const struct reading *reading = &self->session.device.reading;
    double span = seconds(self->before.last_us, window->last_us);
    for (size_t i = 0; i < reading->counted; i++) {
        uint64_t count = window->totals[i].count - self->before.totals[i].count;
        const struct rates_row row = {.name = reading->counters[i].name,
                                      .seconds = seconds(window->first_us, window->last_us),
                                      .count = count,
                                      .rate = span > 0 ? (double)count / span : 0,
                                      .total = window->totals[i].count,
                                      .count_at_least =
                                          window->totals[i].missed > self->before.totals[i].missed,
                                      .total_at_least = window->totals[i].missed > 0};
        rates_print(&self->rates, &row);
    }
    struct metric_result metrics[RESULT_METRICS];
    size_t n = make_metrics(self, &self->before, metrics);
    for (size_t i = 0; i < n; i++) {
        char value[NUMBER_ROOM] = "<not counted>";
        if (isfinite(metrics[i].value))
            snprintf(value, sizeof value, "%.6g", metrics[i].value);
        fprintf(self->session.context->out, "%-18s %8.3f s %15s%s%s\n", metrics[i].name,
                seconds(window->first_us, window->last_us), value, metrics[i].unit[0] != '\0' ? " " : "",
                metrics[i].unit);
    }
}

static void draw(struct watching *self)
{
    const struct window *window = &self->window;
    const struct reading *reading = &self->session.device.reading;
    struct screen_view *view = &self->shown;
    snprintf(self->title, sizeof self->title, "%s     %s     %s", self->conditions.link,
             self->conditions.core, self->conditions.counter);
    *view = (struct screen_view){.title = self->title,
                                 .note = self->conditions.note,
                                 .seconds = seconds(self->zero.last_us, window->last_us),
                                 .lost = window->lost};
    double span = seconds(self->before.last_us, window->last_us);
    view->samples_per_second = span > 0 ? (double)(window->samples - self->before.samples) / span : 0;
    for (size_t i = 0; i < reading->counted && i < READING_ROOM; i++)
        view->rows[view->n++] = (struct screen_row){
            .name = reading->counters[i].name,
            .rate = span > 0 ? (double)(window->totals[i].count - self->before.totals[i].count) / span : 0,
            .total = window->totals[i].count - self->zero.totals[i].count,
            .rate_at_least = window->totals[i].missed > self->before.totals[i].missed,
            .total_at_least = window->totals[i].missed > self->zero.totals[i].missed};
    view->n_metrics = make_metrics(self, &self->before, self->metrics);
    view->metrics = self->metrics;
    screen_draw(&self->screen, view);
}

/* What is shown stays as it is: an interval that has only begun has no rates. */
static void handle_key(struct watching *self, enum screen_key key)
{
    struct screen_view *view = &self->shown;
    if (key == SCREEN_QUIT)
        self->quit = true;
    if (key == SCREEN_PAUSE)
        self->paused = view->paused = !self->paused;
    if (key == SCREEN_ZERO) {
        self->zero = self->window;
        view->seconds = 0;
        for (size_t i = 0; i < view->n; i++) {
            view->rows[i].total = 0;
            view->rows[i].total_at_least = false;
        }
    }
    if (key != SCREEN_NO_KEY)
        screen_draw(&self->screen, view);
}

/* What the screen had, on the terminal that it leaves. */
static bool print_totals(const struct watching *self)
{
    FILE *out = self->session.context->out;
    const struct window *window = &self->window;
    const struct reading *reading = &self->session.device.reading;
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
    text_header(out, &self->conditions);
    return counts_end(out, &counts, FORMAT_TEXT, ',');
}

static void pause_ms(struct watching *self, int64_t ms)
{
    if (self->screen.open) {
        handle_key(self, screen_wait_key(&self->screen, (int)(ms < KEY_MS ? ms : KEY_MS)));
        return;
    }
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static bool check_stop(struct watching *self, struct error *error)
{
    char place[512];
    if (self->session.device.leave != LEAVE_HALTED_FOREIGN)
        return true;
    session_place(&self->session, self->session.device.stopped_at, place, sizeof place);
    return error_set(error, ERROR_FOREIGN_STOP, "halted by someone else at %s", place);
}

static void tell_reset(struct watching *self)
{
    const struct context *context = self->session.context;
    double at = seconds(self->window.first_us, self->window.last_us);
    if (self->screen.open)
        snprintf(self->conditions.note, sizeof self->conditions.note,
                 "reset %" PRIu64 "%s; totals go on, and are lower bounds", self->resets,
                 self->resets > 1 ? " times" : " time");
    else if (context->options->format == FORMAT_JSON)
        print_json_reset(self, at); /* a failed write shows at the next line */
    else
        fprintf(context->out, "%10.3f s  the target was reset; totals go on, and are lower bounds\n", at);
}

/* What was counted up to the last look stays; from here on it is added to. */
static bool go_on_after_reset(struct watching *self, struct error *error)
{
    struct window before = self->window;
    struct device *device = &self->session.device;
    if (error->kind != ERROR_RESET)
        return false;
    error_clear(error);
    self->resets++;
    struct deadline deadline = session_deadline(&self->session);
    const struct plan_pass *pass = &self->counting.plan->passes[0];
    if (!device_retake_block(device, &deadline, error) ||
        !device_program(device, pass->picks, pass->n, &deadline, error) ||
        !window_begin(&self->window, device, &self->clock, &deadline, error))
        return error_prefix(error, "the target was reset, and its counters do not count again: ");
    self->window.first_us = before.first_us;
    self->window.samples = before.samples;
    self->window.lost = before.lost;
    memcpy(self->window.totals, before.totals, sizeof before.totals);
    for (size_t i = 0; i < device->reading.counted; i++)
        self->window.totals[i].missed++; /* what was counted between that look and the reset */
    tell_reset(self);
    return true;
}

static bool watch_interval(struct watching *self, int64_t *next_us, struct error *error)
{
    const struct context *context = self->session.context;
    self->before = self->window;
    *next_us = deadline_next_us(*next_us, context->options->interval_ms * 1000);
    while (deadline_now_us() < *next_us && *context->cancel == 0 && !self->quit) {
        int64_t left_ms = (*next_us - deadline_now_us()) / 1000 + 1;
        int64_t pace_ms = window_pace_ms(&self->window);
        int64_t wait_ms = left_ms < pace_ms ? left_ms : pace_ms;
        int64_t due_us = deadline_now_us() + wait_ms * 1000;
        do { /* keys come in between, and where a sample halts the core they are no reason for one */
            pause_ms(self, wait_ms < SLICE_MS ? wait_ms : SLICE_MS);
            wait_ms = (due_us - deadline_now_us()) / 1000;
        } while (self->window.halts && wait_ms > 0 && *context->cancel == 0 && !self->quit);
        struct deadline deadline = session_deadline(&self->session);
        deadline.cancel = NULL; /* the sample that ends the last interval */
        if (!window_sample(&self->window, &deadline, error) && !go_on_after_reset(self, error))
            return false;
        if (self->session.device.leave == LEAVE_HALTED_FOREIGN)
            return check_stop(self, error);
    }
    bool ok = true;
    if (self->screen.open && !self->paused)
        draw(self);
    else if (self->screen.open)
        return true;
    else if (context->options->format == FORMAT_JSON)
        ok = print_json(self);
    else
        print_text(self);
    command_has_result(context);
    return (ok && fflush(context->out) == 0 && !ferror(context->out)) ||
           error_set(error, ERROR_SYSTEM, "the output could not be written");
}

static bool watch(struct watching *self, struct error *error)
{
    const struct context *context = self->session.context;
    const struct options *options = context->options;
    struct deadline deadline = session_deadline(&self->session);
    if (self->counting.plan->n_passes > 1)
        return error_set(error, ERROR_USAGE, "watch counts in one pass: these events take %zu",
                         self->counting.plan->n_passes);
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if (!window_begin(&self->window, &self->session.device, &self->clock, &deadline, error) ||
        !check_stop(self, error))
        return false;
    self->zero = self->before = self->window;
    if (!plain && screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO))
        draw(self);
    else if (options->format == FORMAT_TEXT) {
        text_header(context->out, &self->conditions);
        rates_begin(&self->rates, context->out);
    } else if (!print_json_header(self)) {
        return error_set(error, ERROR_SYSTEM, "the output could not be written");
    }
    int64_t begun_us = deadline_now_us(), next_us = begun_us;
    int64_t for_us = (int64_t)(options->for_s * 1e6);
    bool ok = true;
    while (ok && !self->quit && *context->cancel == 0 && (for_us == 0 || next_us - begun_us < for_us))
        ok = watch_interval(self, &next_us, error);
    bool was_shown = self->screen.open;
    screen_close(&self->screen);
    if (was_shown && !print_totals(self))
        ok = error_set(error, ERROR_SYSTEM, "the output could not be written");
    ok = ok && device_check_witness(&self->session.device, &deadline, error);
    return ok && (options->format != FORMAT_JSON || print_json_summary(self) ||
                  error_set(error, ERROR_SYSTEM, "the output could not be written"));
}

int command_watch(const struct context *context, struct error *error)
{
    struct watching self = {.session.context = context};
    double seen_hz;
    if (context->options->all_cpus)
        return all_cpus_watch(context, error);
    bool ok = session_open_elf(&self.session, error) && session_open_target(&self.session, error) &&
              session_sees_running(&self.session, "watch", error) && session_take(&self.session, error) &&
              session_trial(&self.session, &self.clock, &seen_hz, error) &&
              counting_open(&self.counting, &self.session, &self.clock, error);
    if (ok) {
        session_conditions(&self.session, &self.clock, &self.conditions);
        ok = watch(&self, error);
    }
    struct error after = {0};
    counting_close(&self.counting);
    if (!session_close(&self.session, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
