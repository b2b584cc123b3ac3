/* watch: the counters while the core runs, live on a terminal, else in lines at regular intervals. */
#include "commands/measure.h"
#include "report/watch_screen.h"
#include "run/windows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KEY_MS = 50, SLICE_MS = 1000 };

struct watching {
    struct measuring of;
    struct windows windows;
    const struct window *window, *before; /* of the first CPU: now; when the interval began */
    struct screen screen;
    struct screen_view shown;
    struct screen_past past[SCREEN_ROWS];
    struct screen_page page;
    struct document interval, totals; /* that are shown */
    char title[320];
    bool paused, was_shown;
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

static const struct options *watch_options_of(const struct watching *self)
{
    return self->of.context->options;
}

/* ---- the screen and its keys */

static void watch_take_lines(struct windows *windows, struct tally *tally, const struct plan_pass *pass,
                             struct document *lines)
{
    document_free(lines);
    windows_tally(windows, tally, pass);
    *lines = windows_lines(windows, tally);
}

static void fill_view(struct watching *self)
{
    struct windows *windows = &self->windows;
    const struct conditions *conditions = &windows->conditions;
    double span = seconds(self->before->last_us, self->window->last_us);
    watch_take_lines(windows, &windows->interval, pass_of(self), &self->interval);
    watch_take_lines(windows, &windows->whole, pass_of(self), &self->totals);
    snprintf(self->title, sizeof self->title, "%s     %s     %s", conditions->link, conditions->core,
             conditions->counter);
    self->shown = (struct screen_view){
        .title = self->title,
        .said = self->shown.said,
        .note = conditions->note,
        .interval = &self->interval,
        .totals = &self->totals,
        .samples_per_second = span > 0 ? (double)(self->window->samples - self->before->samples) / span : 0,
        .clock_hz = watch_options_of(self)->request.all_cpus ? 0 : conditions->clock_hz,
        .paused = self->paused};
}

/* The rates stay as they are: an interval that has only begun has none. */
static void set_to_zero(struct watching *self)
{
    struct windows *windows = &self->windows;
    for (size_t i = 0; i < windows->cpus.n; i++)
        windows->cpus.members[i].begin = windows->cpus.members[i].window;
    watch_take_lines(windows, &windows->whole, pass_of(self), &self->totals);
}

static void watch_draw(struct watching *self)
{
    if (self->page.text != NULL)
        screen_draw_page(&self->screen, &self->page);
    else
        screen_draw(&self->screen, &self->shown, self->past);
}

static void handle_key(struct watching *self, enum screen_key key)
{
    if (key == SCREEN_NO_KEY)
        return;
    self->shown.said = NULL;
    if (self->page.text != NULL)
        screen_page_obey(&self->screen, &self->page, key);
    else if (key == SCREEN_PAUSE)
        self->paused = self->shown.paused = !self->paused;
    else if (key == SCREEN_ZERO)
        set_to_zero(self);
    else if (key == SCREEN_HELP)
        screen_page_open(&self->page, "keys of watch", watch_keys);
    else if (key != SCREEN_REDRAW && key != SCREEN_QUIT)
        self->shown.said = "? shows the keys";
    watch_draw(self);
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
    while (is_costly && deadline_now_us() < due_us && *self->of.context->around.cancel == 0 &&
           !windows->ended);
    return true;
}

static void tell_reset(struct watching *self)
{
    struct document lines = document_new();
    struct json_part line = json_part_new("reset");
    json_part_real(&line, "seconds", seconds(self->window->first_us, self->window->last_us));
    document_add(&lines, line);
    if (self->was_shown)
        snprintf(self->windows.conditions.note, sizeof self->windows.conditions.note,
                 "reset %" PRIu64 "%s; totals go on, and are lower bounds", self->resets,
                 self->resets > 1 ? " times" : " time");
    else
        counts_put(&self->windows.report, &lines); /* a failed write shows at the next line */
    document_free(&lines);
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

static bool watch_print_begin(struct watching *self)
{
    const struct rendering to = command_rendering(self->of.context);
    self->windows.report.has_totals = !self->windows.cpus.all;
    return windows_print_begin(&self->windows, &to);
}

/* What the screen showed, for the terminal that it leaves; else JSON alone has an end. With -a that does not
 * have the rows. */
static bool watch_print_end(struct watching *self)
{
    struct windows *windows = &self->windows;
    bool was_shown = self->was_shown;
    if (!was_shown && watch_options_of(self)->format != FORMAT_JSON)
        return true;
    windows_tally(windows, &windows->whole, pass_of(self));
    struct document lines = windows_lines(windows, &windows->whole);
    while (!was_shown && json_array_size(lines.lines) > 1)
        json_array_remove(lines.lines, 0);
    struct rendering text = command_rendering(self->of.context);
    text.format = FORMAT_TEXT;
    return (!was_shown || windows_print_begin(windows, &text)) && windows_print(windows, lines);
}

static bool watch_interval(struct watching *self, int64_t *next_us, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct context *context = self->of.context;
    cpu_windows_begin_interval(&windows->cpus);
    *next_us = deadline_next_us(*next_us, context->options->request.interval_ms * 1000);
    if (!windows_until(windows, *next_us, error) || !windows_check_stop(windows, error))
        return false;
    if (self->was_shown && self->paused) {
        watch_draw(self); /* the terminal may have another size */
        return true;
    }
    bool ok = true;
    if (self->was_shown) {
        fill_view(self);
        screen_remember(self->past, &self->shown, (double)(deadline_now_us() - windows->begun_us) / 1e6);
        watch_draw(self);
    } else {
        windows_tally(windows, &windows->interval, pass_of(self));
        ok = windows_print(windows, windows_lines(windows, &windows->interval));
    }
    command_has_result(context);
    return ok || command_wrote(false, error);
}

static bool watch_watch(struct watching *self, struct error *error)
{
    struct windows *windows = &self->windows;
    const struct context *context = self->of.context;
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
    windows->begun_us = deadline_now_us();
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    if (!plain && screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO, context->around.cancel)) {
        self->was_shown = true;
        fill_view(self);
        watch_draw(self);
    } else if (!watch_print_begin(self))
        return command_wrote(false, error);
    int64_t next_us = windows->begun_us, for_us = (int64_t)(options->request.for_s * 1e6);
    bool ok = true;
    while (ok && !windows->ended && *context->around.cancel == 0 &&
           (for_us == 0 || next_us - windows->begun_us < for_us))
        ok = watch_interval(self, &next_us, error);
    screen_close(&self->screen);
    struct deadline deadline = session_last_deadline(&windows->session);
    return ok &&
           (options->request.all_cpus || device_check_witness(&windows->session.device, &deadline, error));
}

/* ---- the command */

static bool watch_prepare(void *context, struct error *error)
{
    struct watching *self = context;
    return windows_open(&self->windows, "watch", error);
}

static bool watch_measure(void *context, struct error *error)
{
    struct watching *self = context;
    bool ok = watch_watch(self, error);
    self->of.has_result = ok || self->was_shown;
    return ok;
}

static bool watch_conclude(void *context, struct error *error)
{
    struct watching *self = context;
    return command_wrote(watch_print_end(self), error);
}

static void watch_free(void *context)
{
    struct watching *self = context;
    document_free(&self->interval);
    document_free(&self->totals);
    screen_page_end(&self->page);
    windows_free(&self->windows);
}

int command_watch(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = watch_prepare, .measure = watch_measure, .conclude = watch_conclude, .free = watch_free};
    struct watching self = {
        .of = {.context = context},
        .windows = {.session = {.request = &context->options->request, .around = &context->around},
                    .wait = wait_for_sample,
                    .recover = go_on_after_reset}};
    self.of.session = &self.windows.session;
    self.windows.context = &self;
    return measure_command(&self, &parts, error);
}
