/* SPDX-License-Identifier: MIT */
/*
 * top: where the running core spends its time, now: on a terminal a live screen of the last seconds, else a
 * list for each interval. The core is never stopped, unless a key measures the marked function.
 */
#include "run/top.h"
#include "commands/cockpit.h"
#include "commands/measure.h"
#include "commands/profiling.h"
#include "report/top_screen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char page_name[] = "top.html";
static const double screen_s = 5, least_part = 0.005; /* what the screen shows; the shortest interval */

struct topping {
    struct measuring of;
    struct top_run run;
    struct top_screen shown;
    bool live;            /* it has or had a screen */
    const char *measures; /* the key */
};

static bool top_redraw(struct topping *self, struct error *error)
{
    struct top_run *run = &self->run;
    if (!top_run_make_shares(run, error))
        return false;
    self->shown.within = run->within ? run->function.name : NULL;
    self->shown.core = run->function.core;
    top_screen_show(&self->shown);
    return true;
}

/* ---- keys */

static bool top_say(struct topping *self, const char *key, const char *text)
{
    top_screen_say(&self->shown, key, text);
    return true;
}

static void say_progress(void *context, const char *text)
{
    struct topping *self = context;
    char line[256];
    snprintf(line, sizeof line, "%.200s   esc stops", text);
    top_say(self, self->measures, line);
}

static bool measure_marked(struct topping *self, const char *key, const char *what, top_way *way,
                           struct error *error)
{
    const struct progress progress = {.say = say_progress, .context = self};
    const char *refused = top_run_refuses(&self->run);
    struct location function;
    char *out = NULL;
    refused = refused != NULL ? refused : top_run_marked(&self->run, self->shown.pick.row, &function);
    if (refused != NULL)
        return top_say(self, key, refused);
    self->measures = key;
    say_progress(self, "it begins, and stops the core at calls");
    if (!top_run_close(&self->run, error) ||
        !cockpit_measure(&self->run, self->of.context, &self->shown.screen, &progress, &function, way, &out,
                         error)) {
        free(out);
        return false;
    }
    top_screen_open_page(&self->shown, what, function.name, out);
    return true;
}

static bool annotate_marked(struct topping *self, const char *key)
{
    struct location function;
    struct error why = {0};
    char *out = NULL;
    const char *refused = top_run_marked(&self->run, self->shown.pick.row, &function);
    if (refused != NULL)
        return top_say(self, key, refused);
    if (cockpit_annotate(&self->run, &function, canvas_columns(self->shown.screen.out), &out, &why)) {
        top_screen_open_page(&self->shown, "samples", function.name, out);
        return true;
    }
    free(out);
    return top_say(self, key, why.text);
}

static bool obey_key(struct topping *self, enum screen_key key, struct error *error)
{
    struct top_run *run = &self->run;
    struct error why = {0};
    if (top_screen_obey(&self->shown, key))
        return true;
    if (key == SCREEN_DELTA)
        return measure_marked(self, "d", "delta", delta_within, error);
    if (key == SCREEN_COSTS)
        return measure_marked(self, "l", "lines", lines_within, error);
    if (key == SCREEN_ANNOTATE)
        return annotate_marked(self, "a");
    if (key == SCREEN_PAGE)
        return top_say(self, "g", cockpit_page(run, page_name, &why) ? "top.html has the page" : why.text);
    if (key == SCREEN_PAUSE) {
        self->shown.paused = run->paused = !run->paused;
        run->is_old = true;
        top_screen_show(&self->shown);
        return true;
    }
    bool other = key == SCREEN_SORT ? top_run_next_sort(run)
                                    : top_run_enter(run, self->shown.pick.core, self->shown.pick.row);
    if (other && (key == SCREEN_SORT || run->within))
        self->shown.selected = 0;
    return !other || top_redraw(self, error);
}

static bool obey_keys(struct topping *self, struct error *error)
{
    struct screen *screen = &self->shown.screen;
    enum screen_key key;
    while (screen->open && (key = screen_wait_key(screen, 0)) != SCREEN_NO_KEY && key != SCREEN_QUIT)
        if (!obey_key(self, key, error))
            return false;
    return true;
}

static struct profile_report top_report_of(const struct topping *self)
{
    const struct top_run *run = &self->run;
    return (struct profile_report){.profile = &run->rolling.profile,
                                   .file = "",
                                   .elf = run->pc_samples.about.elf,
                                   .no_names = "",
                                   .shares = run->shares,
                                   .n = run->pc_samples.n};
}

/* A list has the intervals since the one before; the screen also earlier ones. */
static bool top_show(struct topping *self, struct error *error)
{
    const struct rendering to = command_rendering(self->of.context);
    self->shown.seconds = self->run.pc_samples.elapsed_s;
    command_has_result(self->of.context);
    if (self->live && self->shown.page.text != NULL)
        top_screen_show(&self->shown); /* the terminal may have another size */
    if (self->live)
        return self->run.paused || self->shown.page.text != NULL || top_redraw(self, error);
    if (!top_run_make_shares(&self->run, error))
        return false;
    const struct profile_report report = top_report_of(self);
    bool ok = command_wrote(top_list_put(&to, &report, self->shown.seconds), error);
    rolling_clear(&self->run.rolling);
    return ok;
}

static bool top_sample(struct topping *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->run.pc_samples;
    double list_s = (double)self->of.context->options->request.interval_ms / 1000;
    double window_s = self->live ? self->run.rolling.window : list_s;
    double part_s = fmax(window_s / SHARES_BATCHES, least_part);
    while (!pc_samples_is_over(pc_samples)) {
        if (!pc_samples_sample(pc_samples, fmin(part_s, list_s) * 1e6 / 2, error))
            return false;
        bool due = pc_samples->elapsed_s - self->shown.seconds >= list_s;
        if ((due || pc_samples->elapsed_s - self->run.closed_s >= part_s) &&
            !top_run_close(&self->run, error))
            return false;
        if ((due && !top_show(self, error)) || !obey_keys(self, error))
            return false;
    }
    return true;
}

/* What was read since the last list, also if the link was lost. After a screen, what it showed last. */
static bool top_end(struct topping *self, struct error *error)
{
    struct top_run *run = &self->run;
    const struct rendering to = command_rendering(self->of.context);
    const struct profile_about *about = &run->pc_samples.about;
    if (!top_run_close(run, error) ||
        (!self->live && run->rolling.profile.interval_count > 0 && !top_show(self, error)))
        return false;
    if (!self->live)
        return to.format != FORMAT_JSON ||
               command_wrote(top_list_end(&to, run->samples, run->pc_samples.elapsed_s), error);
    run->within = false;
    if (!top_run_make_shares(run, error))
        return false;
    const struct profile_report report = top_report_of(self);
    return command_wrote(
        top_list_head(&to, about, self->shown.title) &&
            top_list_last(&to, &report, self->shown.seconds, canvas_lines(self->shown.screen.out)),
        error);
}

static bool top_measure(void *context, struct error *error)
{
    struct topping *self = context;
    const struct context *command = self->of.context;
    const struct options *options = command->options;
    struct pc_samples *pc_samples = &self->run.pc_samples;
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    struct error why = {0};
    if (!pc_samples_take(pc_samples, error) || !top_run_begin(&self->run, error))
        return false;
    if (!top_screen_begin(&self->shown, &pc_samples->about, self->run.shares, pc_samples->by_halts))
        return error_memory(error);
    self->shown.unnamed = pc_samples->session.symbols == NULL;
    self->run.rolling.window = INFINITY;
    self->live =
        !plain && screen_open(&self->shown.screen, STDIN_FILENO, STDOUT_FILENO, command->around.cancel);
    const struct rendering to = command_rendering(command);
    if (self->live) {
        self->run.rolling.window = fmax((double)options->request.interval_ms / 1000, screen_s);
        top_screen_show(&self->shown);
    } else if (!command_wrote(top_list_head(&to, &pc_samples->about, self->shown.title), error)) {
        return false;
    }
    top_sample(self, &why);
    screen_close(&self->shown.screen);
    pc_samples_end(pc_samples, &why);
    return top_end(self, error) && (why.kind == ERROR_NONE || error_copy(error, &why));
}

static bool top_prepare(void *context, struct error *error)
{
    struct topping *self = context;
    return profiling_sort(self->of.context->options, false, &self->run.sort, error) &&
           pc_samples_open(&self->run.pc_samples, error);
}

static bool top_whole(void *context, struct error *error)
{
    struct topping *self = context;
    bool ok = top_measure(self, error);
    pc_samples_let_go(&self->run.pc_samples);
    return ok;
}

static void top_free(void *context)
{
    struct topping *self = context;
    top_screen_free(&self->shown);
    top_run_free(&self->run);
}

int command_top(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = top_prepare, .measure = top_whole, .free = top_free};
    struct topping self = {
        .of = {.context = context},
        .run.pc_samples.session = {.request = &context->options->request, .around = &context->around}};
    self.of.session = &self.run.pc_samples.session;
    return measure_command(&self, &parts, error);
}
