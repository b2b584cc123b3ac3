/* survey --boards: the same survey on several boards, a process a board. */
#include "base/deadline.h"
#include "commands/board_file.h"
#include "commands/board_runs.h"
#include "commands/command.h"
#include "commands/survey.h"
#include "report/boards.h"
#include "report/progress.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 16 + BOARD_OPTIONS + 2 * OPTION_EVENTS * 2 + OPTION_OPERANDS, NUMBER = 32 };

/* The command line of one board. */
struct line {
    char *words[WORDS];
    size_t n;
    char hits[NUMBER], time[NUMBER];
};

struct boards_command {
    const struct context *context;
    struct board_file file;
    struct line lines[BOARD_FILE_MOST];
    struct board_run runs[BOARD_FILE_MOST];
    struct boards_one of[BOARD_FILE_MOST];
    struct progress progress;
    int64_t begun_us;
};

/* --- what each is asked --------------------------------------------------------------------------------- */

static void add(struct line *line, const char *word)
{
    if (line->n + 1 < WORDS) /* WORDS are enough for all */
        line->words[line->n++] = (char *)word;
}

static void add_pair(struct line *line, const char *option, const char *value)
{
    if (value == NULL)
        return;
    add(line, option);
    add(line, value);
}

static void make_line(const struct options *options, const struct board_line *board, struct line *line)
{
    static const char *const always[] = {"pmu-probe", "survey", "-j", "-q"};
    const struct {
        const char *option;
        bool said;
    } flags[] = {{"--check", options->check},
                 {"--no-calibrate", options->no_calibrate},
                 {"--divide64", options->divide64},
                 {"--resume", options->resume}};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        add(line, always[i]);
    add_pair(line, "--probe", board->probe);
    add_pair(line, "--elf", board->elf);
    add_pair(line, "--regions", options->regions);
    for (size_t i = 0; i < options->n_events; i++)
        add_pair(line, "--event", options->events[i]);
    for (size_t i = 0; i < options->n_metrics; i++)
        add_pair(line, "--metric", options->metrics[i]);
    snprintf(line->hits, sizeof line->hits, "%" PRIu64, options->hits);
    snprintf(line->time, sizeof line->time, "%.6fs", options->for_s);
    add_pair(line, "--repeat", options->hits > 0 ? line->hits : NULL);
    add_pair(line, "--for", options->for_s > 0 ? line->time : NULL);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].said)
            add(line, flags[i].option);
    for (size_t i = 0; i < board->n_options; i++)
        add(line, board->options[i]);
    add(line, "--");
    for (size_t i = 0; i < options->n_operands; i++)
        add(line, options->operands[i]);
}

static bool check(const struct options *options, struct error *error)
{
    if (options->format != FORMAT_TEXT && options->format != FORMAT_JSON)
        return error_set(error, ERROR_USAGE, "--boards prints text or JSON lines");
    if ((options->n_operands > 0) == (options->regions != NULL))
        return error_set(error, ERROR_USAGE,
                         "--boards says where; what is measured there is a PATTERN of function names, or "
                         "--regions FILE");
    return !options->check || options->regions != NULL ||
           error_set(error, ERROR_USAGE, "--check needs --regions FILE, which has the budgets");
}

/* --- what came of it ------------------------------------------------------------------------------------ */

/* The first words on its standard error, on one line. */
static void take_words(const struct board_run *run, char *out, size_t size)
{
    static const char before[] = "pmu-probe: ";
    const char *text = run->err.text != NULL ? run->err.text : "";
    size_t used = 0;
    text += strncmp(text, before, sizeof before - 1) == 0 ? sizeof before - 1 : 0;
    for (; *text != '\0' && used + 1 < size; text++)
        out[used++] = *text;
    for (size_t i = 0; i < used; i++)
        if (out[i] == '\n')
            out[i] = ' ';
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

static void take_result(const struct board_run *run, const struct board_line *board, struct boards_one *out)
{
    bool measured = run->code == EXIT_DONE || run->code == EXIT_REGRESSED || run->code == EXIT_INCONCLUSIVE ||
                    run->code == EXIT_NOT_COMPARABLE;
    *out = (struct boards_one){.name = board->name, .probe = board->probe, .code = run->code};
    if (run->code < 0) {
        out->code = error_exit_code(ERROR_SYSTEM);
        snprintf(out->why, sizeof out->why,
                 "its process was ended by signal %d; pmu-probe restore puts its target back", run->signal);
    } else if (!measured) {
        take_words(run, out->why, sizeof out->why);
        if (out->why[0] == '\0')
            snprintf(out->why, sizeof out->why, "exit code %d", run->code);
    } else if (run->out.cut) {
        snprintf(out->why, sizeof out->why, "its survey is too long");
    }
    if (!boards_take(out, run->out.text, run->out.used) && measured)
        out->code = error_exit_code(ERROR_SYSTEM);
}

/* The worst of all: what could not be measured, then the verdicts as those of one survey. */
static int worse(int one, int other)
{
    static const int order[] = {EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_NOT_COMPARABLE, EXIT_REGRESSED};
    int ranks[2] = {INT16_MAX + one, INT16_MAX + other};
    for (int i = 0; i < (int)(sizeof order / sizeof *order); i++) {
        ranks[0] = order[i] == one ? i : ranks[0];
        ranks[1] = order[i] == other ? i : ranks[1];
    }
    return ranks[0] >= ranks[1] ? one : other;
}

/* --- the command ---------------------------------------------------------------------------------------- */

static void show_progress(void *context, size_t ended)
{
    struct boards_command *self = context;
    progress_show(&self->progress, "%zu of %zu boards done", ended, self->file.n);
}

static bool run_all(struct boards_command *self, struct error *error)
{
    char *const *words[BOARD_FILE_MOST];
    self->begun_us = deadline_now_us();
    for (size_t i = 0; i < self->file.n; i++) {
        struct line *line = &self->lines[i];
        make_line(self->context->options, &self->file.lines[i], line);
        words[i] = line->words;
        self->runs[i].name = self->file.lines[i].name;
        log_line(self->context->log, "starting a survey on %s, by %s", self->file.lines[i].name,
                 self->file.lines[i].probe);
    }
    bool ok = board_runs(self->runs, self->file.n, words, self->context->cancel, show_progress, self, error);
    progress_clear(&self->progress);
    return ok;
}

static bool is_judged(const struct boards_command *self)
{
    bool judged = self->context->options->check;
    for (size_t i = 0; i < self->file.n; i++)
        for (size_t k = 0; k < self->file.lines[i].n_options; k++)
            judged = judged || strcmp(self->file.lines[i].options[k], "--baseline") == 0;
    return judged;
}

static bool print(struct boards_command *self, int *code)
{
    const struct context *context = self->context;
    struct boards boards = {.of = self->of, .n = self->file.n, .judged = is_judged(self)};
    boards.seconds = (double)(deadline_now_us() - self->begun_us) / 1e6;
    for (size_t i = 0; i < boards.n; i++) {
        take_result(&self->runs[i], &self->file.lines[i], &self->of[i]);
        *code = worse(self->of[i].code, *code);
        if (self->of[i].complete)
            command_has_result(context);
    }
    bool ok = context->options->format == FORMAT_JSON
                  ? boards_json(context->out, &boards)
                  : boards_text(context->out, &boards, terminal_columns(context->out));
    boards_free(&boards);
    return ok;
}

static bool survey_all(struct boards_command *self, int *code, struct error *error)
{
    const struct context *context = self->context;
    if (!check(context->options, error) ||
        !board_file_read(context->options->boards, context->cancel, &self->file, error))
        return false;
    if (!context->options->quiet)
        progress_begin(&self->progress, stderr);
    bool ok = run_all(self, error) &&
              (print(self, code) || error_set(error, ERROR_SYSTEM, "the output could not be written"));
    for (size_t i = 0; i < self->file.n; i++)
        board_run_free(&self->runs[i]);
    return ok;
}

int survey_boards(const struct context *context, struct error *error)
{
    int code = EXIT_DONE;
    struct boards_command *self = calloc(1, sizeof *self);
    if (self == NULL) {
        error_set(error, ERROR_SYSTEM, "out of memory");
        return error_exit_code(error->kind);
    }
    self->context = context;
    bool ok = survey_all(self, &code, error);
    board_file_free(&self->file);
    free(self);
    return ok ? code : error_exit_code(error->kind);
}
