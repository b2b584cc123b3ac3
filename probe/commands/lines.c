/* lines: what each line of a function costs, by stops at all places where another line begins. */
#include "base/values.h"
#include "commands/command.h"
#include "commands/top.h"
#include "measure/delta.h"
#include "measure/line_costs.h"
#include "measure/plausible.h"
#include "report/conditions.h"
#include "report/line_table.h"
#include "report/terminal.h"
#include "run/counting.h"
#include "run/engine_use.h"
#include "run/program.h"
#include "run/region.h"
#include "run/session.h"
#include "run/trial.h"
#include "symbols/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 100, CALLS_US = 2000000 };

struct lines_command {
    const struct context *context;
    struct session *session;
    struct named_region named;
    struct listing listing;
    struct source_text *texts;
    struct code_blocks blocks;
    struct walk_block *walk;
    struct counting counting;
    struct conditions conditions;
    struct clock clock;
    struct progress progress;
    struct document document; /* the result */
    struct summary whole;
    struct halt_cost halts;
    struct line_costs costs;
    struct plausible plausible;
    struct error written; /* by something else */
    int64_t begun_us;     /* the first call of the walk; 0: none yet */
    char limit[512];      /* of the engine that walked; "" */
    bool unframed, unwritten;
};

static const struct options *lines_options_of(const struct lines_command *self)
{
    return self->context->options;
}

/* --- the function's code ---------------------------------------------------------------------------------
 */

static void set_frame(struct lines_command *self, const struct code_block *block, struct walk_block *out)
{
    struct frame_base at_start, at_end;
    enum frames frames =
        symbols_frames(self->session->symbols, self->named.start.low, block->low, &at_start, &at_end);
    out->framed = (frames == FRAMES_KNOWN || frames == FRAMES_KNOWN_ONE) && at_start.is_sp;
    self->unframed = self->unframed || frames == FRAMES_UNKNOWN;
    if (!out->framed)
        return;
    out->base = at_end.is_sp ? CORE_SP : (enum core_register)(CORE_R0 + at_end.number);
    out->apart = at_start.offset - at_end.offset;
}

static bool lines_read_code(struct lines_command *self, struct error *error)
{
    const struct location *at = &self->named.start;
    if (!listing_make(self->session->symbols, at->low, at->high, &self->listing, error) ||
        !blocks_make(&self->listing, &self->blocks, error)) {
        const char *advice = symbols_lines_advice(self->session->symbols);
        error->advice = advice != NULL ? advice : error->advice;
        return false;
    }
    self->texts = calloc(self->listing.file_count + 1, sizeof *self->texts);
    self->walk = calloc(self->blocks.n + 1, sizeof *self->walk);
    bool ok = self->texts != NULL && self->walk != NULL;
    for (size_t i = 0; ok && i < self->listing.file_count; i++)
        ok = source_text_read(self->listing.files[i], &self->texts[i]);
    for (size_t i = 0; ok && i < self->blocks.n; i++) {
        struct code_block *block = &self->blocks.at[i];
        struct inlined_frame inlined;
        block->is_inlined = symbols_inlined(self->session->symbols, block->low, &inlined, 1) > 0;
        self->walk[i] = (struct walk_block){.low = block->low,
                                            .last = block->last,
                                            .high = block->high,
                                            .n_next = block->n_next,
                                            .returns = block->returns,
                                            .is_open = block->is_open,
                                            .calls_away = block->calls_away,
                                            .is_thumb = block->is_thumb};
        for (unsigned next = 0; next < block->n_next; next++)
            self->walk[i].next[next] = block->next[next];
        set_frame(self, block, &self->walk[i]);
    }
    return ok || error_set(error, ERROR_SYSTEM, "out of memory");
}

/* --- the measurements ------------------------------------------------------------------------------------
 */

static bool lines_is_enough(const struct lines_command *self, uint64_t calls, int64_t begun_us)
{
    const struct options *options = lines_options_of(self);
    int64_t for_us = options->request.for_s > 0 ? (int64_t)(options->request.for_s * 1e6 / 2) : CALLS_US;
    bool over = begun_us > 0 && deadline_now_us() - begun_us >= for_us;
    if (options->request.hits > 0)
        return calls >= options->request.hits || (options->request.for_s > 0 && over);
    return over || (options->request.for_s <= 0 && calls >= CALLS);
}

static bool on_hop(void *context, const struct walk_hop *hop)
{
    struct lines_command *self = context;
    uint64_t us = us_between(hop->before_us, hop->after_us);
    if (self->begun_us == 0)
        self->begun_us = deadline_now_us();
    if (self->written.kind != ERROR_NONE ||
        !plausible_span(&self->plausible, hop->readings[0], hop->readings[1], us, hop->pairs, &self->written))
        return false;
    line_costs_hop(&self->costs, hop);
    uint64_t hops = self->costs.hops + self->costs.hops_now;
    progress_show(&self->progress, "%" PRIu64 " call%s, %" PRIu64 " step%s", self->costs.calls,
                  PLURAL(self->costs.calls), hops, PLURAL(hops));
    return !lines_is_enough(self, self->costs.calls, self->begun_us);
}

static void lines_on_left(void *context, const struct raw_hit *hit)
{
    struct lines_command *self = context;
    (void)hit;
    line_costs_left(&self->costs);
}

static void on_wait(void *context, enum engine_wait wait)
{
    struct lines_command *self = context;
    progress_show(&self->progress, wait == WAIT_START ? "waiting for a call" : "waiting for the next line");
}

static bool no_more(void *context, const struct raw_hit *hit)
{
    (void)context;
    (void)hit;
    return false;
}

static void on_whole_hit(void *context, const struct hit_result *hit)
{
    struct lines_command *self = context;
    progress_show(&self->progress, "the whole function: %" PRIu64 " hits", hit->number);
}

static void on_whole_tick(void *context, uint64_t hits, enum engine_wait wait)
{
    (void)hits;
    on_wait(context, wait);
}

static bool can_walk(const struct engine *engine, struct error *error)
{
    return engine->ops->walk != NULL ||
           error_set(error, ERROR_USAGE,
                     "lines needs the core's own debug registers; through this link a debugger has them");
}

static int64_t timeout_of(const struct lines_command *self)
{
    return (int64_t)(lines_options_of(self)->request.timeout_s * 1000);
}

/* What a halt costs, at both ends of one call. */
static bool measure_halts(void *context, struct engine *engine, const struct deadline *deadline,
                          struct error *error)
{
    struct lines_command *self = context;
    const struct engine_sink sink = {.context = &self->halts, .hit = no_more, .rehit = halt_cost_rehit};
    const struct engine_request request = {
        .hits = 1, .rehits = ENGINE_REHITS, .timeout_ms = timeout_of(self)};
    halt_cost_begin(&self->halts, &self->session->device, &self->clock);
    bool ok = can_walk(engine, error) && engine->ops->arm(engine, &self->named.region, deadline, error) &&
              engine->ops->run(engine, &request, &sink, deadline, error);
    halt_cost_end(&self->halts);
    return ok;
}

static bool measure_whole(void *context, struct engine *engine, const struct deadline *deadline,
                          struct error *error)
{
    struct lines_command *self = context;
    const struct options *options = lines_options_of(self);
    const struct delta_options wanted = {.hits = options->request.hits,
                                         .for_us = (int64_t)(options->request.for_s * 1e6 / 2),
                                         .timeout_ms = timeout_of(self),
                                         .calibrate = true,
                                         .clock = self->clock,
                                         .evidence = self->counting.evidence,
                                         .plan = self->counting.plan};
    const struct delta_sink sink = {.context = self, .hit = on_whole_hit, .tick = on_whole_tick};
    return engine->ops->arm(engine, &self->named.region, deadline, error) &&
           delta_measure(engine, &self->session->device, &wanted, &sink, &self->whole, deadline, error);
}

static bool walk_lines(void *context, struct engine *engine, const struct deadline *deadline,
                       struct error *error)
{
    struct lines_command *self = context;
    const struct engine_sink sink = {.context = self, .left = lines_on_left, .tick = on_wait};
    const struct engine_walk walk = {.region = &self->named.region,
                                     .blocks = self->walk,
                                     .n = self->blocks.n,
                                     .timeout_ms = timeout_of(self),
                                     .context = self,
                                     .hop = on_hop,
                                     .sink = &sink};
    bool ok = engine->ops->walk(engine, &walk, deadline, error);
    snprintf(self->limit, sizeof self->limit, "%s", engine->doubt);
    return self->written.kind == ERROR_NONE ? ok : error_replace(error, &self->written);
}

static void lines_describe(struct lines_command *self)
{
    struct conditions *conditions = &self->conditions;
    const struct rendering to = command_rendering(self->context);
    region_describe(&self->named, conditions);
    self->document = document_new();
    document_add(&self->document, line_report_header(conditions));
    if (lines_options_of(self)->format == FORMAT_JSON)
        self->unwritten = !document_write(self->context->out, &self->document);
    else if (lines_options_of(self)->format == FORMAT_TEXT)
        conditions_write(&to, conditions);
}

static bool lines_measure(struct lines_command *self, struct error *error)
{
    struct session *session = self->session;
    struct clock *clock = &self->clock;
    double seen_hz = 0;
    own_code_measured(session, &self->named, false);
    if (!trial_run(session, clock, &seen_hz, error))
        return false;
    if (!session->device.block->counts_cycles && session->device.remote == NULL)
        return error_set(error, ERROR_NO_COUNTER, "lines counts cycles, and the counter of %s does not",
                         session->device.block->text);
    if (!counting_open(&self->counting, session, clock, error))
        return false;
    session->device.slow_clock = clock_is_slow(clock);
    session_conditions(session, clock, &self->conditions);
    self->plausible =
        plausible_begin(&session->device.reading, session->device.block->counts_cycles, clock, seen_hz);
    lines_describe(self);
    if (!line_costs_begin(&self->costs, &self->blocks, &self->halts))
        return error_set(error, ERROR_SYSTEM, "out of memory");
    return engine_use_once(session, measure_halts, self, error) &&
           engine_use_once(session, walk_lines, self, error) &&
           engine_use_once(session, measure_whole, self, error);
}

/* --- the command ------------------------------------------------------------------------------------------
 */

static void lines_print(struct lines_command *self, const struct error *why)
{
    struct rendering to = command_rendering(self->context);
    to.begun = true;
    struct line_report report = {.conditions = self->conditions,
                                 .function = &self->named.start,
                                 .listing = &self->listing,
                                 .texts = self->texts,
                                 .costs = &self->costs,
                                 .whole = &self->whole,
                                 .unframed = self->unframed};
    snprintf(report.limit, sizeof report.limit, "%s", self->limit);
    if (why->kind != ERROR_NONE)
        command_ended(self->context, why, report.ended, sizeof report.ended);
    line_costs_end(&self->costs);
    if (to.format == FORMAT_JSON) { /* the header is written already */
        document_free(&self->document);
        self->document = document_new();
    }
    line_report_lines(&self->document, &report);
    self->unwritten = !line_write(&to, &self->document) || self->unwritten;
}

static void free_code(struct lines_command *self)
{
    for (size_t i = 0; self->texts != NULL && i < self->listing.file_count; i++)
        source_text_free(&self->texts[i]);
    document_free(&self->document);
    free(self->texts);
    free(self->walk);
    blocks_free(&self->blocks);
    listing_free(&self->listing);
}

static bool lines_find_function(struct lines_command *self, struct error *error)
{
    struct session *session = self->session;
    return region_locate(&self->named, session->symbols, lines_options_of(self)->operands[0], NULL,
                         &session->request->process, error) &&
           region_look_into(&self->named, session->symbols, error) && lines_read_code(self, error);
}

static bool lines_measure_function(struct lines_command *self, struct error *error)
{
    bool ok = session_check_run_control(self->session, error) && session_take(self->session, error) &&
              lines_measure(self, error);
    progress_clear(&self->progress);
    return ok;
}

/* The target was put back; `after` says if that failed. Returns the exit code. */
static int lines_end_run(struct lines_command *self, bool ok, const struct error *after, struct error *error)
{
    const struct context *context = self->context;
    int code = EXIT_DONE;
    if (self->costs.calls > 0 && error->kind != ERROR_WRITTEN) {
        command_has_result(context);
        lines_print(self, error);
        if (error->kind == ERROR_CANCELLED) {
            code = command_interrupted(context, error);
            ok = true;
        }
    }
    summary_free(&self->whole);
    line_costs_free(&self->costs);
    counting_close(&self->counting);
    free_code(self);
    return command_end(ok, command_clock_code(self->session, code), self->unwritten, after, error);
}

/* `within`: in a session that is open and stays so. */
static int lines_run(struct lines_command *self, bool within, struct error *error)
{
    struct session *session = self->session;
    struct error after = {0};
    if (!session->request->quiet)
        progress_begin(&self->progress, stderr);
    bool ok = (within || program_open(session, error)) && lines_find_function(self, error) &&
              (within || program_open_target(session, error)) &&
              program_check_region(session, &self->named, error) && lines_measure_function(self, error);
    if (within)
        (void)session_undo(session, &after);
    else if (session_close(session, &after))
        session_forgive(session, error);
    return lines_end_run(self, ok, &after, error);
}

bool lines_within(struct session *session, const struct context *context, struct error *error)
{
    struct lines_command self = {.context = context, .session = session};
    return lines_run(&self, true, error) == EXIT_DONE;
}

int command_lines(const struct context *context, struct error *error)
{
    struct session session = {.request = &context->options->request,
                              .around = &context->around,
                              .needs_name = command_names(context->options),
                              .may_stop = true};
    struct lines_command self = {.context = context, .session = &session};
    return lines_run(&self, false, error);
}
