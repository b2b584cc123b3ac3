/* delta FUNCTION, delta START END: the main job. */
#include "measure/delta.h"
#include "base/values.h"
#include "commands/command.h"
#include "commands/compare.h"
#include "commands/top.h"
#include "engine/engine.h"
#include "report/canvas.h"
#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/delta_report.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/terminal.h"
#include "run/counting.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region.h"
#include "run/session.h"
#include "run/slowest.h"
#include "run/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct delta_command {
    const struct context *context;
    struct session *session;
    struct named_region named;
    struct conditions conditions;
    struct counting counting;
    struct progress progress;
    struct summary summary;
    struct slowest *slowest;  /* NULL: not wanted */
    struct document document; /* the result; of JSON its lines are written at once */
    struct hit_times *times;  /* of --format html; NULL: none yet */
    double threshold;         /* of --baseline; 0: none */
    bool unwritten;           /* the output could not be written */
};

/* Over all passes, with those before that do not count; 0: without a limit. */
static uint64_t wanted_hits(const struct delta_command *self)
{
    const struct options *options = self->context->options;
    return options->request.hits > 0
               ? options->request.hits * self->counting.plan->n_passes + options->request.warmup
               : 0;
}

static void keep_hit(struct delta_command *self, const struct hit_result *hit)
{
    struct json_part line = json_hit_part(hit, &self->summary);
    delta_add_time(self->times, line.json, self->summary.columns[0].name);
    if (hit->number <= PAGE_HITS) {
        document_add(&self->document, line);
        return;
    }
    self->document.left_out++;
    json_decref(line.json);
}

static void delta_on_hit(void *context, const struct hit_result *hit)
{
    struct delta_command *self = context;
    const struct context *command = self->context;
    if (command->options->format == FORMAT_JSON && !json_hit(command->out, hit, &self->summary))
        self->unwritten = true;
    else if (command->options->format == FORMAT_HTML)
        keep_hit(self, hit);
    progress_count(&self->progress, hit->number, wanted_hits(self), "hits", "");
}

static void delta_on_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    struct delta_command *self = context;
    char state[sizeof self->named.start.name + 16];
    snprintf(state, sizeof state, "waiting for %s",
             self->named.start.name[0] != '\0' ? self->named.start.name : "the start");
    progress_count(&self->progress, hits, wanted_hits(self), "hits",
                   wait == WAIT_END ? "in the region" : state);
}

static bool on_slow_hit(void *context, size_t slot, struct error *error)
{
    struct delta_command *self = context;
    return slowest_read(self->slowest, slot, error);
}

static bool begin_document(struct delta_command *self, struct error *error)
{
    const struct context *command = self->context;
    const struct rendering to = command_rendering(command);
    const struct plan *plan = self->counting.plan;
    struct column columns[PLAN_COLUMNS] = {0};
    for (size_t i = 0; i < plan->n_columns; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    document_free(&self->document); /* of a run with another counter */
    free(self->times);
    self->document = document_new();
    self->times = calloc(1, sizeof *self->times);
    document_add(&self->document, json_header_part(JSON_SCHEMA, &self->conditions, columns, plan->n_columns,
                                                   deadline_wall_s()));
    if (!self->document.ok || self->times == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (command->options->format == FORMAT_TEXT)
        conditions_write(&to, &self->conditions);
    else if (command->options->format == FORMAT_JSON && !document_write(command->out, &self->document))
        self->unwritten = true;
    return true;
}

static void delta_describe_region(struct delta_command *self)
{
    struct conditions *conditions = &self->conditions;
    region_describe(&self->named, conditions);
    process_note(&self->named.region.process, conditions->note, sizeof conditions->note);
    conditions_add_note(conditions, self->named.start.note);
    if (self->named.region.to_return && strcmp(self->named.start.name, "main") == 0)
        conditions_add_note(conditions,
                            "main is entered once, after a reset, and most never return: delta --reset "
                            "Reset_Handler main measures the way to it");
    if (self->context->options->request.reset)
        conditions_add_note(conditions, "after a reset for each hit");
}

/* After a reset the clock is not yet what it will be: the program sets it up, often in the middle of the
 * region. */
static bool clock_of_boot(struct session *session, struct clock *clock, struct error *error)
{
    if (session->request->freq_hz > 0)
        return trial_clock(session, clock, error);
    *clock = clock_unknown(core_fastest_hz(&session->device.chosen->core));
    return true;
}

/* No other counter is tried. */
static bool check_writes_of_boot(struct session *session, struct error *error)
{
    session->measured.watches = session->measured.may_watch;
    return own_code_check(session, error);
}

/* Of a run that ends when it is precise enough, unless the user says other limits. */
static const double precise_s = 60;

/* A verdict is clear when chance is small against the threshold. */
static double precision_wanted(const struct delta_command *self)
{
    const struct options *options = self->context->options;
    bool limited = options->request.hits > 0 || options->request.for_s > 0 || options->request.reset;
    return options->request.precision > 0 || limited ? options->request.precision : self->threshold / 2;
}

/* What a run is measured with, once its counter is taken. */
struct trial {
    struct delta_command *self;
    const struct clock *clock;
    double seen_hz;
};

static struct delta_options delta_options_for(const struct trial *trial)
{
    const struct delta_command *self = trial->self;
    const struct request *request = self->session->request;
    double precision = precision_wanted(self);
    bool precise = precision > 0, limited = request->hits > 0 || request->for_s > 0;
    struct delta_options wanted = {
        .hits = request->reset && !precise && request->hits == 0 ? 1 : request->hits,
        .for_us = (int64_t)((precise && !limited ? precise_s : request->for_s) * 1e6),
        .warmup = request->warmup,
        .precision = precision,
        .timeout_ms = (int64_t)(request->timeout_s * 1000),
        .calibrate = !request->no_calibrate,
        .clock = *trial->clock,
        .seen_hz = trial->seen_hz,
        .apart = request->reset,
        .is_round = !self->named.region.to_return && self->named.region.start == self->named.region.end,
        .plan = self->counting.plan,
        .at_end = self->counting.at_end.n > 0 ? &self->counting.at_end : NULL,
        .slow_hits = slowest_hits(self->slowest)};
    if (!request->reset)
        wanted.evidence = self->counting.evidence;
    return wanted;
}

static bool delta_run_engine(void *context, struct engine *engine, const struct deadline *deadline,
                             struct error *error)
{
    const struct trial *trial = context;
    struct delta_command *self = trial->self;
    struct session *session = self->session;
    const struct delta_options wanted = delta_options_for(trial);
    const struct delta_sink sink = {
        .context = self, .hit = delta_on_hit, .tick = delta_on_tick, .slow_hit = on_slow_hit};
    session->device.slow_clock = clock_is_slow(trial->clock);
    if (!slowest_begin(self->slowest, session, &self->named.region, engine, error) ||
        !engine->ops->arm(engine, &self->named.region, deadline, error))
        return false;
    session_conditions(session, trial->clock, &self->conditions);
    delta_describe_region(self);
    conditions_add_note(&self->conditions, or_empty(engine->unproved)); /* which is known only now */
    bool ok = begin_document(self, error) &&
              delta_measure(engine, &session->device, &wanted, &sink, &self->summary, deadline, error);
    progress_clear(&self->progress);
    return ok;
}

/* With the counter that the session has taken. */
static bool measure_once(struct delta_command *self, const struct clock *clock, double seen_hz,
                         struct error *error)
{
    struct session *session = self->session;
    bool resets = session->request->reset;
    struct trial trial = {.self = self, .clock = clock, .seen_hz = seen_hz};
    if (!counting_open(&self->counting, session, clock, error) ||
        !counting_words(&self->counting, session, &self->summary.at_max, error))
        return false;
    if (resets && (!reset_engine_check(&session->device, &self->named.region, error) ||
                   !check_writes_of_boot(session, error)))
        return false;
    struct engine *engine = session_engine(session, error);
    if (resets)
        engine = reset_engine_new(&session->device, engine);
    if (engine == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = engine_use_this(session, engine, delta_run_engine, &trial, error);
    self->summary.slept = session->device.slept;
    return ok;
}

/* If something else writes the counter, measures once more with another one, unless hits were printed
 * already. */
static bool delta_measure_checked(struct delta_command *self, struct error *error)
{
    struct session *session = self->session;
    struct clock clock;
    struct error why = {0};
    double seen_hz = 0;
    own_code_measured(session, &self->named, true);
    if (session->request->reset)
        return clock_of_boot(session, &clock, error) && measure_once(self, &clock, seen_hz, error);
    if (!trial_run(session, &clock, &seen_hz, error))
        return false;
    if (measure_once(self, &clock, seen_hz, &why))
        return true;
    if (why.kind != ERROR_WRITTEN || self->context->options->format == FORMAT_JSON ||
        !trial_other(session, &why, &clock, &seen_hz, error))
        return error_copy(error, &why);
    summary_free(&self->summary);
    counting_close(&self->counting);
    self->summary = (struct summary){0};
    return measure_once(self, &clock, seen_hz, error);
}

/* ---- the end of a run: the summary and, with --baseline, the comparison and the exit code that follows */

struct verdict_output {
    struct baseline baseline;
    double threshold;
};

/* *out is NULL without --baseline. False: the baseline or the threshold cannot be used. */
static bool verdict_output_begin(struct delta_command *self, struct verdict_output **out, struct error *error)
{
    const struct context *context = self->context;
    const struct options *options = context->options;
    *out = NULL;
    if (options->baseline == NULL)
        return true;
    struct verdict_output *check = calloc(1, sizeof *check);
    if (check == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool ok = verdicts_threshold(options, &check->threshold, error);
    if (!ok || !baseline_read(options->baseline, context->around.cancel, &check->baseline, error)) {
        free(check);
        return false;
    }
    self->threshold = check->threshold;
    *out = check;
    return true;
}

/* Writes the summary and the comparison; false if the output failed. Sets *code with a baseline only. */
static bool verdict_output_write(struct delta_command *self, struct verdict_output *check, int *code)
{
    const struct context *context = self->context;
    struct rendering to = command_rendering(context);
    to.begun = true;
    struct document *document = &self->document;
    struct json_part line = json_part_new("summary");
    if (to.format == FORMAT_JSON) { /* what it has is written already */
        document_free(document);
        *document = document_new();
    }
    json_summary_fill(&line, &self->summary);
    slowest_lines(self->slowest, document, &self->summary, &line);
    document_add(document, line);
    if (check != NULL) {
        struct baseline now;
        document->ok = baseline_live(&now, &self->summary) && document->ok;
        struct json_part verdict = runs_compare(&check->baseline, &now, check->threshold, 1);
        baseline_free(&now);
        *code = verdicts_exit_code(line_verdict(verdict.json));
        document_add(document, verdict);
    }
    document->times = self->times;
    return delta_write(&to, document);
}

/* ---- the command */

/* A region with a reset in it, or readings that mean nothing, must not end in a table. */
static bool delta_is_printable(const struct delta_command *self, const struct error *error)
{
    return error->kind == ERROR_NONE ||
           (self->summary.hits > 0 && error->kind != ERROR_NO_COUNTER && error->kind != ERROR_WRITTEN);
}

static bool delta_find_region(struct delta_command *self, struct error *error)
{
    const struct options *options = self->context->options;
    struct session *session = self->session;
    return counting_check_tick(session, error) && slowest_open(&self->slowest, session, error) &&
           region_locate(&self->named, session->symbols, options->operands[0],
                         options->n_operands > 1 ? options->operands[1] : NULL, &options->request.process,
                         error) &&
           region_look_into(&self->named, session->symbols, error);
}

static bool measure_region(struct delta_command *self, struct error *error)
{
    return session_check_run_control(self->session, error) && session_take(self->session, error) &&
           delta_measure_checked(self, error);
}

/* The target was put back; `after` says if that failed. Returns the exit code. */
static int delta_end_run(struct delta_command *self, struct verdict_output *check, bool ok,
                         const struct error *after, struct error *error)
{
    const struct context *context = self->context;
    struct summary *summary = &self->summary;
    int code = EXIT_DONE;
    trial_end_conditions(self->session, &self->conditions);
    if (summary->n > 0 && delta_is_printable(self, error)) {
        counting_summary(&self->counting, self->conditions.clock_hz, summary);
        summary->conditions = self->conditions;
        if (self->counting.evidence.wants_clock && summary->columns[0].at_least > 0)
            snprintf(summary->advice, sizeof summary->advice,
                     "--freq HZ lets the RP2040's timer count beyond a period of SysTick");
        bool tainted = error->kind == ERROR_NONE && summary_is_tainted(summary);
        if (tainted)
            snprintf(summary->advice, sizeof summary->advice, "%s", RESULT_TAINTED);
        if (error->kind != ERROR_NONE)
            command_ended(context, error, summary->ended, sizeof summary->ended);
        if (summary->hits > 0)
            command_has_result(context);
        self->unwritten = !verdict_output_write(self, check, &code) || self->unwritten;
        code = code == EXIT_DONE && tainted ? EXIT_TAINTED : code;
    }
    if (error->kind == ERROR_CANCELLED && summary->hits > 0) {
        code = command_interrupted(context, error);
        ok = true;
    }
    if (check != NULL)
        baseline_free(&check->baseline);
    document_free(&self->document);
    free(self->times);
    slowest_close(self->slowest);
    summary_free(summary);
    counting_close(&self->counting);
    return command_end(ok, command_clock_code(self->session, code), self->unwritten, after, error);
}

/* `within`: in a session that is open and stays so. */
static int run_delta(struct delta_command *self, bool within, struct error *error)
{
    const struct context *context = self->context;
    struct session *session = self->session;
    struct verdict_output *check = NULL;
    struct error after = {0};
    if (!context->options->request.quiet)
        progress_begin(&self->progress, stderr);
    bool ok = (within || (verdict_output_begin(self, &check, error) && program_open(session, error))) &&
              delta_find_region(self, error) && (within || program_open_target(session, error)) &&
              program_check_region(session, &self->named, error) && measure_region(self, error);
    if (within)
        (void)session_undo(session, &after);
    else if (session_close(session, &after))
        session_forgive(session, error);
    int code = delta_end_run(self, check, ok, &after, error);
    free(check);
    return code;
}

bool delta_within(struct session *session, const struct context *context, struct error *error)
{
    struct delta_command self = {.context = context, .session = session};
    return run_delta(&self, true, error) == EXIT_DONE;
}

int command_delta(const struct context *context, struct error *error)
{
    struct session session = {.request = &context->options->request,
                              .around = &context->around,
                              .needs_name = command_names(context->options),
                              .may_stop = true};
    struct delta_command self = {.context = context, .session = &session};
    return run_delta(&self, false, error);
}
