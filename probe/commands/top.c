#include "commands/top.h"

#include "commands/measure.h"
#include "commands/profiling.h"
#include "profile/profile.h"
#include "profile/shares.h"
#include "report/annotation_table.h"
#include "report/canvas.h"
#include "report/json.h"
#include "report/number.h"
#include "report/profile_table.h"
#include "report/terminal.h"
#include "report/top_screen.h"
#include "run/pc_samples.h"
#include "run/session.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why nothing can be measured here; NULL: it can. */
static const char *cockpit_refuses(const struct pc_samples *pc_samples)
{
    const struct session *session = &pc_samples->session;
    const struct core *core = &session->device.chosen->core;
    if (session->request->all_cpus)
        return "-a samples all cores: -C N takes one, and measures on it";
    if (pc_samples->by_halts)
        return "a GDB server has the core: pmu-probe delta measures through it";
    if (!core_has_run_control(core))
        return "nothing can stop this core";
    return core->comparators > 0 ? NULL : "this core has no breakpoints";
}

/* ---- measurements */

enum { MEASURED_MS = 2000, MEASURED_CALLS = 100 };

/* A measurement between samples, with the text of its result. */
struct cockpit {
    struct pc_samples *pc_samples;
    const struct context *context;
    struct screen *screen;
    struct progress progress;
    const char *name; /* of the function */
    volatile sig_atomic_t stop;
};

/* What the options of the command are in place of top's: it ends in time, also while it waits for a call. */
static struct options cockpit_options_for(const struct options *options, const char *operand)
{
    struct options out = *options;
    double most_s = (double)patience_ms(MEASURED_MS) / 1000;
    out.operands[0] = operand;
    out.n_operands = 1;
    out.format = FORMAT_TEXT;
    out.request.hits = MEASURED_CALLS;
    out.request.for_s = 0.8 * MEASURED_MS / 1000; /* top's is of the samples */
    out.request.timeout_s = fmin(out.request.timeout_s, 0.7 * most_s);
    out.request.quiet = true;
    return out;
}

/* What it has kept in the session is of this measurement alone. */
static void cockpit_forget(struct session *session)
{
    memset(&session->measured, 0, sizeof session->measured);
    session->stop_named = false;
    session->clock.change[0] = '\0';
}

static bool cockpit_measure_in_between(struct pc_samples *pc_samples, const struct context *inner,
                                       cockpit_way *way, struct error *why, struct error *error)
{
    struct session *session = &pc_samples->session;
    int number = (int)pc_samples->cores[0].number;
    if (!pc_samples_pause(pc_samples, error) || !session_look_again(session, number, error))
        return false;
    const struct request *request = session->request;
    const struct surroundings *around = session->around;
    session->may_stop = true;
    session->request = &inner->options->request;
    session->around = &inner->around;
    (void)way(session, inner, why);
    session->request = request;
    session->around = around;
    cockpit_forget(session);
    if (why->kind == ERROR_LINK_LOST || why->kind == ERROR_FOREIGN_STOP)
        return error_copy(error, why);
    if (*around->cancel != 0)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    session->may_stop = false;
    return session_look_again(session, number, error) && pc_samples_go_on(pc_samples, error);
}

static void put_failure(const struct cockpit *self, const struct rendering *to, const struct error *why)
{
    if (why->kind == ERROR_CANCELLED)
        render_text(to,
                    "No call of %s ended before the measurement did: at most 2 s, or Esc. pmu-probe in "
                    "another terminal measures longer.",
                    self->name);
    else if (why->kind != ERROR_NONE) {
        render_text(to, "%s", why->text);
        render_text(to, "%s", error_advice(why));
    }
}

static bool cockpit_measure(struct cockpit *self, const struct location *function, cockpit_way *way,
                            char **text, struct error *error)
{
    char operand[32];
    size_t size;
    struct error why = {0};
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_memory(error);
    snprintf(operand, sizeof operand, "*0x%" PRIx64, function->low);
    const struct options options = cockpit_options_for(self->context->options, operand);
    struct context inner = *self->context;
    inner.options = &options;
    inner.out = out;
    inner.columns = canvas_columns(self->screen->out);
    inner.progress = &self->progress;
    inner.around.cancel = &self->stop;
    self->screen->stop_us = deadline_host_us() + 1000 * patience_ms(MEASURED_MS);
    self->screen->stop = &self->stop;
    bool ok = cockpit_measure_in_between(self->pc_samples, &inner, way, &why, error);
    self->screen->stop = NULL;
    const struct rendering to = command_rendering(&inner);
    put_failure(self, &to, &why);
    return fclose(out) == 0 ? ok : error_memory(error);
}

/* ---- samples */

static bool cockpit_annotate(const struct pc_samples *pc_samples, const struct profile *profile,
                             const struct location *function, size_t columns, char **text,
                             struct error *error)
{
    struct annotated_function annotated = {.built = 0};
    size_t size;
    FILE *out = open_memstream(text, &size);
    if (out == NULL)
        return error_memory(error);
    bool ok = annotated_function_make(profile, pc_samples->session.symbols, profile->about.elf, function->low,
                                      &annotated, error);
    if (ok) {
        const struct annotation_report report = {.profile = profile,
                                                 .file = "",
                                                 .elf = profile->about.elf,
                                                 .no_names = "",
                                                 .function = &annotated};
        const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = columns};
        ok = annotation_write(&to, &report) || error_memory(error);
    }
    annotated_function_free(&annotated);
    return fclose(out) == 0 && ok;
}

static bool cockpit_write_page(FILE *out, const struct pc_samples *pc_samples, const struct profile *profile,
                               struct shares *shares, struct error *error)
{
    struct symbols *symbols = pc_samples->session.symbols;
    const struct profile_report report = {.profile = profile,
                                          .file = "of top",
                                          .elf = profile->about.elf,
                                          .no_names = "",
                                          .shares = shares,
                                          .n = pc_samples->n};
    const struct rendering to = {.out = out, .format = FORMAT_HTML};
    bool ok = true;
    for (size_t i = 0; i < pc_samples->n && ok; i++)
        ok = shares_make(profile, (unsigned)i, SHARES_FUNCTION, symbols, &shares[i]);
    ok = ok ? profiling_page(&to, &report, symbols, error) : error_memory(error);
    for (size_t i = 0; i < pc_samples->n; i++)
        shares_free(&shares[i]);
    return ok;
}

/* The file in the current folder; one that is there becomes FILE.old. */
static bool cockpit_page(const struct pc_samples *pc_samples, const struct profile *profile, const char *file,
                         struct error *error)
{
    struct output output;
    bool left;
    struct shares *shares = calloc(pc_samples->n, sizeof *shares);
    if (shares == NULL)
        return error_memory(error);
    bool ok = output_open(&output, file, OUTPUT_REPLACES, pc_samples->session.around->cancel, error);
    if (ok) {
        output.keeps_old = true;
        ok = cockpit_write_page(output.file, pc_samples, profile, shares, error);
        ok = output_close(&output, ok ? KEEP_ALL : KEEP_NOTHING, &left, error) && ok;
    }
    free(shares);
    return ok;
}

/* ---- top */

enum { LISTED = 20, NAME = 160 }; /* rows of a list; room for a core's name */
static const char page_name[] = "top.html";
static const double screen_s = 5, least_part = 0.005; /* what the screen shows; the shortest interval */

struct topping {
    struct measuring of;
    struct pc_samples pc_samples;
    struct rolling rolling;
    enum shares_sort sort;
    struct shares *shares;  /* of each core, as they were shown last; `within`: of the lines of a function */
    struct top_core *cores; /* of the screen */
    char (*names)[NAME];
    char title[512], note[LOCATION_NAME + 64], said[512];
    struct screen_page page;
    struct screen screen;
    struct top_pick pick;
    size_t selected;
    bool has_names; /* an ELF was named */
    bool paused, was_shown;
    const char *measures; /* the key */
    bool is_old;          /* the window is that of a freeze, until there is something newer */
    bool within;          /* the rows are lines of this function */
    struct {
        size_t core;
        uint64_t entry;
        char name[LOCATION_NAME];
    } function;
    double closed_s, shown_s; /* when an interval was closed, a list was shown */
    uint64_t samples;
};

static const struct options *top_options_of(const struct topping *self)
{
    return self->of.context->options;
}

/* --- shares --------------------------------------------------------------------------------------------- */

static void free_shares(struct topping *self)
{
    for (size_t i = 0; i < self->pc_samples.n; i++)
        shares_free(&self->shares[i]);
}

/* Keeps the lines of one function alone. */
static void keep_function(struct topping *self, struct shares *shares)
{
    size_t kept = 0;
    struct location at = {0};
    for (size_t i = 0; i < shares->n; i++) {
        struct share *row = &shares->rows[i];
        const struct location *function =
            shares_function_of(self->pc_samples.session.symbols, row->address, &at);
        bool is_in = shares->core == self->function.core && row->state == PROFILE_STATES &&
                     function->low == self->function.entry;
        if (is_in) {
            shares->rows[kept++] = *row;
            continue;
        }
        free(row->function);
        free(row->source);
    }
    shares->n = kept;
}

static bool top_make_shares(struct topping *self, struct error *error)
{
    enum shares_sort sort = self->within ? SHARES_LINE : self->sort;
    free_shares(self);
    for (size_t i = 0; i < self->pc_samples.n; i++) {
        struct shares *shares = &self->shares[i];
        if (!shares_make(&self->rolling.profile, (unsigned)i, sort, self->pc_samples.session.symbols, shares))
            return error_memory(error);
        if (self->within)
            keep_function(self, shares);
    }
    return true;
}

/* --- the screen ----------------------------------------------------------------------------------------- */

static void draw(struct topping *self)
{
    const struct pc_samples *pc_samples = &self->pc_samples;
    if (self->page.text != NULL) {
        screen_draw_page(&self->screen, &self->page);
        return;
    }
    struct top_view view = {.title = self->title,
                            .note = self->note,
                            .said = self->said,
                            .cores = self->cores,
                            .n = pc_samples->n,
                            .within = self->within,
                            .paused = self->paused,
                            .seconds = self->shown_s};
    if (self->within) {
        snprintf(self->note, sizeof self->note, "lines of %s", self->function.name);
        view.cores = &self->cores[self->function.core];
        view.n = 1;
    } else {
        snprintf(self->note, sizeof self->note, "%s",
                 self->has_names ? "" : "No program was named, so shares are by address: --elf names it.");
    }
    self->pick = top_screen_draw(&self->screen, &view, &self->selected);
    if (self->within)
        self->pick.core = self->function.core;
}

static bool redraw(struct topping *self, struct error *error)
{
    if (!top_make_shares(self, error))
        return false;
    draw(self);
    return true;
}

static bool next_sort(struct topping *self, struct error *error)
{
    if (self->within || !self->has_names)
        return true;
    self->sort = (self->sort + 1) % SHARES_CONTEXTS;
    self->selected = 0;
    return redraw(self, error);
}

/* From a function to its lines, and back. */
static bool top_enter(struct topping *self, struct error *error)
{
    const struct share *row = self->pick.row;
    struct location at = {0};
    if (self->within) {
        self->within = false;
        return redraw(self, error);
    }
    if (row == NULL || row->state != PROFILE_STATES || !self->has_names)
        return true;
    const struct location *function = shares_function_of(self->pc_samples.session.symbols, row->address, &at);
    if (function->high <= function->low)
        return true;
    self->within = true;
    self->function.core = self->pick.core;
    self->function.entry = function->low;
    snprintf(self->function.name, sizeof self->function.name, "%s", function->name);
    self->selected = 0;
    return redraw(self, error);
}

/* While the screen is frozen, its window stays as it is. */
static bool close_intervals(struct topping *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    self->closed_s = pc_samples->elapsed_s;
    for (size_t i = 0; i < pc_samples->n; i++) {
        struct profile_interval interval;
        bool any;
        if (!pc_samples_close(pc_samples, i, &interval, &any, error))
            return false;
        if (!any)
            continue;
        self->samples += profile_interval_samples(&interval);
        if (self->paused) {
            profile_interval_free(&interval);
            continue;
        }
        if (self->is_old)
            rolling_clear(&self->rolling);
        self->is_old = false;
        if (!rolling_add(&self->rolling, &interval))
            return error_memory(error);
    }
    return true;
}

static bool say(struct topping *self, const char *key, const char *text)
{
    snprintf(self->said, sizeof self->said, "%s: %.480s", key, text);
    draw(self);
    return true;
}

/* The function that is marked, or whose lines are shown. */
static bool marked_function(struct topping *self, const char *key, struct location *out)
{
    const struct share *row = self->pick.row;
    struct location at = {0};
    if (!self->has_names) {
        say(self, key, "no program was named: --elf names it");
        return false;
    }
    if (!self->within && row != NULL && row->state == PROFILE_STATES && self->sort != SHARES_FILE)
        at = *shares_function_of(self->pc_samples.session.symbols, row->address, &at);
    if (self->within)
        symbols_describe(self->pc_samples.session.symbols, self->function.entry, &at);
    *out = at;
    if (at.high > at.low)
        return true;
    say(self, key, "the marked row is not a function");
    return false;
}

static void open_page(struct topping *self, const char *what, const struct location *function, char *text)
{
    self->page.text = text;
    self->page.first = 0;
    self->said[0] = '\0';
    snprintf(self->page.title, sizeof self->page.title, "%s of %.200s", what, function->name);
    draw(self);
}

static void say_progress(void *context, const char *text)
{
    struct topping *self = context;
    char line[256];
    snprintf(line, sizeof line, "%.200s   esc stops", text);
    say(self, self->measures, line);
}

static bool measure_marked(struct topping *self, const char *key, const char *what, cockpit_way *way,
                           struct error *error)
{
    const char *refused = cockpit_refuses(&self->pc_samples);
    struct location function;
    char *out = NULL;
    if (refused != NULL)
        return say(self, key, refused);
    if (!marked_function(self, key, &function))
        return true;
    struct cockpit cockpit = {.pc_samples = &self->pc_samples,
                              .context = self->of.context,
                              .screen = &self->screen,
                              .progress = {.say = say_progress, .context = self},
                              .name = function.name};
    self->measures = key;
    say_progress(self, "it begins, and stops the core at calls");
    if (!close_intervals(self, error) || !cockpit_measure(&cockpit, &function, way, &out, error)) {
        free(out);
        return false;
    }
    open_page(self, what, &function, out);
    return true;
}

static bool annotate_marked(struct topping *self, const char *key)
{
    struct location function;
    struct error why = {0};
    char *out = NULL;
    if (!marked_function(self, key, &function))
        return true;
    if (cockpit_annotate(&self->pc_samples, &self->rolling.profile, &function,
                         canvas_columns(self->screen.out), &out, &why)) {
        open_page(self, "samples", &function, out);
        return true;
    }
    free(out);
    return say(self, key, why.text);
}

static bool top_write_page(struct topping *self, const char *key)
{
    struct error why = {0};
    char text[64];
    bool ok = cockpit_page(&self->pc_samples, &self->rolling.profile, page_name, &why);
    snprintf(text, sizeof text, "%s has the page", page_name);
    return say(self, key, ok ? text : why.text);
}

static bool obey_key(struct topping *self, enum screen_key key, struct error *error)
{
    if (self->page.text != NULL) {
        screen_page_obey(&self->screen, &self->page, key);
        draw(self);
        return true;
    }
    self->said[0] = '\0';
    switch (key) {
    case SCREEN_REDRAW:
        draw(self);
        return true;
    case SCREEN_HELP:
        if (!screen_page_open(&self->page, "keys of top", top_keys))
            return error_memory(error);
        draw(self);
        return true;
    case SCREEN_PAUSE:
        self->paused = !self->paused;
        self->is_old = true;
        draw(self);
        return true;
    case SCREEN_SORT:
        return next_sort(self, error);
    case SCREEN_UP:
    case SCREEN_DOWN:
        if (key == SCREEN_DOWN)
            self->selected++;
        else if (self->selected > 0)
            self->selected--;
        draw(self);
        return true;
    case SCREEN_ENTER:
        return top_enter(self, error);
    case SCREEN_BACK:
        return self->within ? top_enter(self, error) : say(self, "esc", "q quits, ? shows the keys");
    case SCREEN_DELTA:
        return measure_marked(self, "d", "delta", delta_within, error);
    case SCREEN_COSTS:
        return measure_marked(self, "l", "lines", lines_within, error);
    case SCREEN_ANNOTATE:
        return annotate_marked(self, "a");
    case SCREEN_PAGE:
        return top_write_page(self, "g");
    case SCREEN_ZERO:
    case SCREEN_OTHER_KEY:
        return say(self, "?", "shows the keys");
    case SCREEN_QUIT:
    case SCREEN_NO_KEY:
        break;
    }
    return true;
}

static bool obey_keys(struct topping *self, struct error *error)
{
    enum screen_key key;
    while (self->screen.open && (key = screen_wait_key(&self->screen, 0)) != SCREEN_NO_KEY &&
           key != SCREEN_QUIT)
        if (!obey_key(self, key, error))
            return false;
    return true;
}

/* --- lists ---------------------------------------------------------------------------------------------- */

static struct profile_report top_report_of(struct topping *self)
{
    return (struct profile_report){.profile = &self->rolling.profile,
                                   .file = "",
                                   .elf = self->pc_samples.about.elf,
                                   .no_names = "",
                                   .shares = self->shares,
                                   .n = self->pc_samples.n};
}

static void top_print_text(struct topping *self, FILE *out, size_t most)
{
    struct rendering to = command_rendering(self->of.context);
    const struct profile_report report = top_report_of(self);
    char time[NUMBER_ROOM];
    to.out = out;
    fprintf(out, "\nafter %s\n", number_elapsed(time, sizeof time, self->shown_s));
    for (size_t i = 0; i < report.n; i++) {
        if (i > 0)
            fputc('\n', out);
        profile_text_core(&to, &report, &report.shares[i], most);
    }
}

static bool top_print_list(struct topping *self)
{
    FILE *out = self->of.context->out;
    const struct profile_report report = top_report_of(self);
    bool ok = true;
    if (top_options_of(self)->format != FORMAT_JSON)
        top_print_text(self, out, LISTED);
    for (size_t i = 0; top_options_of(self)->format == FORMAT_JSON && i < report.n && ok; i++)
        ok = profile_json_core(out, &report, &report.shares[i], self->shown_s);
    return ok && fflush(out) == 0 && !ferror(out);
}

static bool top_print_head(struct topping *self)
{
    FILE *out = self->of.context->out;
    char clean[UTF8_CLEAN_ROOM(sizeof self->title)];
    if (top_options_of(self)->format == FORMAT_JSON)
        return json_command_header(out, "top", self->pc_samples.about.probe);
    fold_text(out, terminal_columns(out), 2, terminal_text(clean, sizeof clean, self->title));
    return fflush(out) == 0;
}

/* NULL: out of memory. */
static char *make_text(struct topping *self, size_t most)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    top_print_text(self, out, most);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* What the screen showed last, with as many rows as leave the first ones on it. */
static bool print_last(struct topping *self)
{
    enum { AROUND = 3 }; /* lines: the title, the prompt */
    FILE *out = self->of.context->out;
    size_t lines = canvas_lines(self->screen.out), most = LISTED;
    char *text = make_text(self, most);
    while (text != NULL && most > 1 && screen_count_lines(text) + AROUND > lines) {
        free(text);
        text = make_text(self, --most);
    }
    bool ok = text != NULL && fputs(text, out) >= 0;
    free(text);
    return ok && fflush(out) == 0 && !ferror(out);
}

/* After a screen, what it showed last. */
static bool top_print_end(struct topping *self, bool was_shown, struct error *error)
{
    bool ok = true;
    if (was_shown) {
        self->within = false;
        ok = top_make_shares(self, error) && command_wrote(top_print_head(self) && print_last(self), error);
    } else if (top_options_of(self)->format == FORMAT_JSON) {
        struct json_part line = json_part_new("summary");
        json_part_unsigned(&line, "samples", self->samples);
        json_part_real(&line, "seconds", self->pc_samples.elapsed_s);
        ok = command_wrote(json_part_write(self->of.context->out, line), error);
    }
    return ok;
}

/* --- the run -------------------------------------------------------------------------------------------- */

/* A list has the intervals since the one before; the screen also earlier ones. */
static bool top_show(struct topping *self, struct error *error)
{
    self->shown_s = self->pc_samples.elapsed_s;
    if (self->was_shown) {
        command_has_result(self->of.context);
        if (self->page.text != NULL)
            draw(self); /* the terminal may have another size */
        return self->paused || self->page.text != NULL || redraw(self, error);
    }
    bool ok = top_make_shares(self, error) && command_wrote(top_print_list(self), error);
    rolling_clear(&self->rolling);
    command_has_result(self->of.context);
    return ok;
}

static bool top_sample(struct topping *self, struct error *error)
{
    struct pc_samples *pc_samples = &self->pc_samples;
    double list_s = (double)top_options_of(self)->request.interval_ms / 1000;
    double window_s = self->was_shown ? self->rolling.window : list_s;
    double part_s = fmax(window_s / SHARES_BATCHES, least_part);
    while (!pc_samples_is_over(pc_samples)) {
        if (!pc_samples_sample(pc_samples, fmin(part_s, list_s) * 1e6 / 2, error))
            return false;
        bool due = pc_samples->elapsed_s - self->shown_s >= list_s;
        if ((due || pc_samples->elapsed_s - self->closed_s >= part_s) && !close_intervals(self, error))
            return false;
        if ((due && !top_show(self, error)) || !obey_keys(self, error))
            return false;
    }
    return true;
}

static bool top_begin(struct topping *self, struct error *error)
{
    const struct pc_samples *pc_samples = &self->pc_samples;
    const struct profile_about *about = &pc_samples->about;
    size_t n = pc_samples->n;
    self->shares = calloc(n, sizeof *self->shares);
    self->cores = calloc(n, sizeof *self->cores);
    self->names = calloc(n, sizeof *self->names);
    if (self->shares == NULL || self->cores == NULL || self->names == NULL)
        return error_memory(error);
    for (size_t i = 0; i < n; i++) {
        snprintf(self->names[i], NAME, "core %u %s, by %s%s", profile_core_number(about, i), about->cores[i],
                 about->source, about->by_block ? PROFILE_BY_BLOCK : "");
        self->cores[i] = (struct top_core){
            .name = self->names[i], .shares = &self->shares[i], .by_halts = pc_samples->by_halts};
    }
    self->rolling.profile.about = *about;
    self->has_names = pc_samples->session.symbols != NULL;
    if (!self->has_names)
        self->sort = SHARES_ADDRESS;
    const char *elf = about->elf != NULL ? about->elf : "", *slash = strrchr(elf, '/');
    snprintf(self->title, sizeof self->title, "%s%s%s", about->probe != NULL ? about->probe : "",
             elf[0] != '\0' ? "     " : "", slash != NULL ? slash + 1 : elf);
    return true;
}

/* What was read since the last list, also if the link was lost. */
static bool top_end(struct topping *self, bool was_shown, struct error *error)
{
    if (!close_intervals(self, error))
        return false;
    if (!was_shown && self->rolling.profile.interval_count > 0 && !top_show(self, error))
        return false;
    return top_print_end(self, was_shown, error);
}

static bool top(struct topping *self, struct error *error)
{
    const struct options *options = top_options_of(self);
    bool plain = options->format != FORMAT_TEXT || options->output != NULL;
    struct error why = {0};
    if (!pc_samples_take(&self->pc_samples, error) || !top_begin(self, error))
        return false;
    self->rolling.window = INFINITY;
    if (!plain && screen_open(&self->screen, STDIN_FILENO, STDOUT_FILENO, self->of.context->around.cancel)) {
        self->was_shown = true;
        self->rolling.window = fmax((double)options->request.interval_ms / 1000, screen_s);
        draw(self);
    } else if (!command_wrote(top_print_head(self), error)) {
        return false;
    }
    top_sample(self, &why);
    screen_close(&self->screen);
    pc_samples_end(&self->pc_samples, &why);
    return top_end(self, self->was_shown, error) && (why.kind == ERROR_NONE || error_copy(error, &why));
}

static bool top_prepare(void *context, struct error *error)
{
    struct topping *self = context;
    return profiling_sort(top_options_of(self), false, &self->sort, error) &&
           pc_samples_open(&self->pc_samples, error);
}

static bool top_measure(void *context, struct error *error)
{
    struct topping *self = context;
    bool ok = top(self, error);
    pc_samples_let_go(&self->pc_samples);
    return ok;
}

static void top_free(void *context)
{
    struct topping *self = context;
    if (self->shares != NULL)
        free_shares(self);
    screen_page_end(&self->page);
    free(self->shares);
    free(self->cores);
    free(self->names);
    rolling_free(&self->rolling);
    pc_samples_free(&self->pc_samples);
}

int command_top(const struct context *context, struct error *error)
{
    static const struct measure_parts parts = {
        .prepare = top_prepare, .measure = top_measure, .free = top_free};
    struct topping self = {
        .of = {.context = context},
        .pc_samples.session = {.request = &context->options->request, .around = &context->around}};
    self.of.session = &self.pc_samples.session;
    return measure_command(&self, &parts, error);
}
