/* SPDX-License-Identifier: MIT */
/* watch: the counters while the core runs, live on a terminal, else in lines at regular intervals. */
#include "run/watch.h"
#include "commands/measure.h"
#include "report/watch_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { KEY_MS = 50, SLICE_MS = 1000 };

struct watching {
    struct measuring of;
    struct watch_run run;
    struct watch_screen shown;
    bool live; /* it has or had a screen */
};

static double seconds(uint64_t from_us, uint64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0;
}

/* With the lines of this interval, or with those that it has. */
static void watch_fill(struct watching *self)
{
    struct watch_run *run = &self->run;
    const struct conditions *conditions = &run->windows.conditions;
    double span = seconds(run->before->last_us, run->window->last_us);
    char *title = self->shown.title;
    snprintf(title, sizeof self->shown.title, "%s     %s     %s", conditions->link, conditions->core,
             conditions->counter);
    self->shown.view.title = title;
    self->shown.view.note = conditions->note;
    self->shown.view.samples_per_second =
        span > 0 ? (double)(run->window->samples - run->before->samples) / span : 0;
    self->shown.view.clock_hz = self->of.context->options->request.all_cpus ? 0 : conditions->clock_hz;
    struct document interval = watch_run_lines(run, false);
    watch_screen_take(&self->shown, interval, watch_run_lines(run, true));
}

static void watch_pause(void *context, int64_t us)
{
    struct watching *self = context;
    struct screen *screen = &self->shown.screen;
    int64_t ms = us <= 0 ? 0 : us >= SLICE_MS * INT64_C(1000) ? SLICE_MS : us / 1000 + 1;
    if (!screen->open) {
        deadline_nap_us(1000 * ms);
    } else if (watch_screen_obey(&self->shown, screen_wait_key(screen, (int)(ms < KEY_MS ? ms : KEY_MS)))) {
        watch_run_zero(&self->run);
        document_free(&self->shown.totals);
        self->shown.totals = watch_run_lines(&self->run, true);
        watch_screen_show(&self->shown);
    }
}

static void tell_reset(void *context)
{
    struct watching *self = context;
    struct windows *windows = &self->run.windows;
    struct document lines = document_new();
    struct json_part line = json_part_new("reset");
    json_part_real(&line, "seconds", seconds(self->run.window->first_us, self->run.window->last_us));
    document_add(&lines, line);
    if (self->live)
        snprintf(windows->conditions.note, sizeof windows->conditions.note,
                 "reset %" PRIu64 "%s; totals go on, and are lower bounds", self->run.resets,
                 self->run.resets > 1 ? " times" : " time");
    else
        counts_put(&windows->report, &lines); /* a failed write shows at the next line */
    document_free(&lines);
}

/* What the screen showed, for the terminal that it leaves; else JSON alone has an end, and text how the clock
 * changed. With -a that does not have the rows. */
static bool watch_print_end(struct watching *self)
{
    struct rendering text = command_rendering(self->of.context);
    bool tells_change = text.format == FORMAT_TEXT && self->run.windows.report.has_totals;
    if (!self->live && text.format != FORMAT_JSON && !tells_change)
        return true;
    struct document lines = watch_run_lines(&self->run, true);
    while (!self->live && json_array_size(lines.lines) > 1)
        json_array_remove(lines.lines, 0);
    text.format = FORMAT_TEXT;
    return (!self->live || windows_print_begin(&self->run.windows, &text)) &&
           windows_print(&self->run.windows, lines);
}

static bool watch_interval(struct watching *self, struct error *error)
{
    struct windows *windows = &self->run.windows;
    bool ok = true;
    if (!watch_run_interval(&self->run, error))
        return false;
    if (!self->live) {
        ok = windows_print(windows, watch_run_lines(&self->run, false));
    } else {
        if (!self->shown.view.paused) {
            watch_fill(self);
            screen_remember(self->shown.past, &self->shown.view,
                            (double)(deadline_now_us() - windows->begun_us) / 1e6);
        }
        watch_screen_show(&self->shown); /* the terminal may have another size */
    }
    command_has_result(self->of.context);
    return ok || command_wrote(false, error);
}

static bool watch_watch(struct watching *self, struct error *error)
{
    const struct context *context = self->of.context;
    const struct rendering to = command_rendering(context);
    if (!watch_run_begin(&self->run, error))
        return false;
    self->live = to.format == FORMAT_TEXT && context->options->output == NULL &&
                 screen_open(&self->shown.screen, STDIN_FILENO, STDOUT_FILENO, context->around.cancel);
    self->run.windows.report.has_totals = !self->live && !self->run.windows.cpus.all;
    if (!self->live && !windows_print_begin(&self->run.windows, &to))
        return command_wrote(false, error);
    if (self->live) {
        watch_fill(self);
        watch_screen_show(&self->shown);
    }
    bool ok = true;
    while (ok && !watch_run_is_over(&self->run))
        ok = watch_interval(self, error);
    screen_close(&self->shown.screen);
    return ok && watch_run_end(&self->run, error);
}

static bool watch_prepare(void *context, struct error *error)
{
    return watch_run_open(&((struct watching *)context)->run, error);
}

static bool watch_measure(void *context, struct error *error)
{
    struct watching *self = context;
    bool ok = watch_watch(self, error);
    self->of.has_result = ok || self->live;
    return ok;
}

static bool watch_conclude(void *context, struct error *error)
{
    return command_wrote(watch_print_end(context), error);
}

static void watch_free(void *context)
{
    struct watching *self = context;
    watch_screen_free(&self->shown);
    windows_free(&self->run.windows);
}

int command_watch(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = watch_prepare, .measure = watch_measure, .conclude = watch_conclude, .free = watch_free};
    struct watching self = {
        .of = {.context = context},
        .run = {.windows.session = {.request = &context->options->request, .around = &context->around},
                .pause = watch_pause,
                .reset = tell_reset}};
    self.of.session = &self.run.windows.session;
    self.run.context = &self;
    return measure_command(&self, &parts, error);
}
