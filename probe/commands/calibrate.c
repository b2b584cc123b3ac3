/* calibrate [LOCATION]: what a halt adds to the counters there. */
#include "commands/command.h"
#include "commands/counting.h"
#include "commands/session.h"
#include "commands/where.h"
#include "debuggers/debugger.h"
#include "engine/engine.h"
#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "report/formats.h"
#include "report/json.h"
#include "report/number.h"
#include "report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REHITS = 32, STEPS = 16, LINE = 1024 };

struct calibrate_command {
    struct session session;
    struct location location;
    struct counting counting;
    struct conditions conditions;
    struct halt_cost halts;
    struct plausible plausible;
    struct error written; /* by something else */
    bool stands_still;    /* counter 0 did not move from one passage to the next */
};

static bool locate(struct calibrate_command *self, const struct options *options, struct error *error)
{
    return options->n_operands == 0 ||
           (symbols_locate(self->session.symbols, options->operands[0], &self->location, error) &&
            region_check_place(self->session.symbols, &self->location, error));
}

static bool one_is_enough(void *context, const struct raw_hit *hit)
{
    struct calibrate_command *self = context;
    self->stands_still = hit->from[0] == hit->to[0];
    return false;
}

static void take_rehit(void *context, const struct raw_hit *rehit)
{
    struct calibrate_command *self = context;
    uint64_t us = us_between(rehit->before_us, rehit->after_us);
    if (self->written.kind == ERROR_NONE && plausible_span(&self->plausible, rehit->from, rehit->to, us,
                                                           rehit->pairs + rehit->steps, &self->written))
        halt_cost_rehit(&self->halts, rehit);
}

/* One round from the location to itself, with re-hits at its ends. */
static bool calibrate_there(struct calibrate_command *self, struct engine *engine,
                            const struct engine_sink *sink, struct error *error)
{
    const struct options *options = self->session.context->options;
    bool thumb = self->location.isa == ISA_THUMB;
    const struct region region = {.start = self->location.address,
                                  .end = self->location.address,
                                  .start_is_thumb = thumb,
                                  .end_is_thumb = thumb,
                                  .process = options->process};
    const struct engine_request request = {
        .hits = 1, .rehits = REHITS / 2, .timeout_ms = (int64_t)(options->timeout_s * 1000)};
    struct deadline deadline = session_deadline(&self->session);
    const struct device *device = &self->session.device;
    return engine->ops->arm(engine, &region, &deadline, error) &&
           engine->ops->run(engine, &request, sink, &deadline, error) &&
           (!self->stands_still || !device->block->counts_cycles ||
            error_set(error, ERROR_WRITTEN,
                      "%s stands still while the program runs: something else stopped it",
                      device->block->kind->name));
}

static bool calibrate(struct calibrate_command *self, struct error *error)
{
    struct session *session = &self->session;
    struct device *device = &session->device;
    const struct engine_sink sink = {.context = self, .hit = one_is_enough, .rehit = take_rehit};
    bool here = session->context->options->n_operands == 0;
    struct clock clock;
    double seen_hz;
    if (here && (device->debugger == NULL || !device->debugger->facts.is_attended))
        return error_set(error, ERROR_USAGE, "calibrate needs a location that the program reaches");
    if (here && !process_check_debugged(&session->context->options->process, error))
        return false;
    if (!session_trial(session, &clock, &seen_hz, error) ||
        !counting_open(&self->counting, session, &clock, error))
        return false;
    session_conditions(session, &clock, &self->conditions);
    process_note(&session->context->options->process, self->conditions.note, sizeof self->conditions.note);
    halt_cost_begin(&self->halts, device, &clock);
    self->plausible = plausible_begin(&device->reading, device->block->counts_cycles, &clock, seen_hz);
    struct engine *engine = session_engine(session, error);
    if (engine == NULL)
        return false;
    struct deadline deadline = session_deadline(session);
    bool ok = here ? debugger_engine_calibrate_here(engine, REHITS, STEPS, &sink, &deadline, error)
                   : calibrate_there(self, engine, &sink, error);
    if (ok && self->written.kind != ERROR_NONE)
        ok = error_copy(error, &self->written);
    struct error after = {0};
    if (!session_end_engine(session, engine, error, &after))
        ok = error_copy(error, &after);
    ok = where_tell(session, error) && ok;
    engine->ops->free(engine);
    halt_cost_end(&self->halts);
    return ok;
}

static bool put_json(const struct calibrate_command *self)
{
    FILE *out = self->session.context->out;
    const struct reading *reading = &self->session.device.reading;
    struct conditions conditions = self->conditions;
    struct column columns[READING_ROOM] = {0};
    struct json_part line = json_part_new("summary"), all = json_part_new(NULL);
    snprintf(conditions.start, sizeof conditions.start, "%s", self->location.name);
    snprintf(conditions.start_source, sizeof conditions.start_source, "%s", self->location.source);
    conditions.start_address = self->location.address;
    for (size_t i = 0; i < reading->counted; i++) {
        const struct overhead *overhead = &self->halts.overheads[i];
        struct json_part one = json_part_new(NULL);
        snprintf(columns[i].name, sizeof columns[i].name, "%s", reading->counters[i].name);
        json_part_bool(&one, "calibrated", overhead->known);
        if (overhead->known) {
            json_part_real(&one, "overhead", overhead->mean);
            json_part_unsigned(&one, "min", overhead->low);
            json_part_unsigned(&one, "max", overhead->high);
            json_part_unsigned(&one, "rehits", overhead->kept);
            json_part_unsigned(&one, "plus_minus", overhead_plus_minus(overhead, 1));
        }
        json_part_object(&all, columns[i].name, one);
    }
    json_part_object(&line, "columns", all);
    return json_header(out, &conditions, columns, reading->counted, time(NULL)) && json_part_write(out, line);
}

/* "halt overhead at work_by_data: 0 cycles (32 trials, min 0, max 0)" */
static void print(const struct calibrate_command *self)
{
    FILE *out = self->session.context->out;
    const struct reading *reading = &self->session.device.reading;
    text_header(out, &self->conditions);
    const char *place = self->location.name[0] != '\0' ? self->location.name : "this place";
    char name[UTF8_CLEAN_ROOM(sizeof self->location.name)], line[sizeof name + LINE];
    terminal_text(name, sizeof name, place);
    fputc('\n', out);
    for (size_t i = 0; i < reading->counted; i++) {
        char mean[NUMBER_ROOM], low[NUMBER_ROOM], high[NUMBER_ROOM], error[NUMBER_ROOM];
        const struct overhead *overhead = &self->halts.overheads[i];
        const char *counted = reading->counters[i].name;
        uint64_t each = overhead_plus_minus(overhead, 1);
        bool is_whole = overhead->low == overhead->high;
        if (overhead->known)
            snprintf(line, sizeof line, "halt overhead at %s: %s %s (%zu trials, min %s, max %s%s%s%s%s)",
                     name, number_decimal(mean, sizeof mean, overhead->mean, is_whole ? 0 : 1),
                     strcmp(counted, "CPU_CYCLES") == 0 ? "cycles" : counted, overhead->kept,
                     number_unsigned(low, sizeof low, overhead->low),
                     number_unsigned(high, sizeof high, overhead->high), each > 0 ? "; " : "",
                     each > 0 ? terminal_or("±", "+-") : "",
                     each > 0 ? number_unsigned(error, sizeof error, each) : "", each > 0 ? " per hit" : "");
        else
            snprintf(line, sizeof line, "halt overhead at %s: %s <not counted>: no trial succeeded", name,
                     counted);
        fold_text(out, terminal_columns(out), 2, line);
    }
}

int command_calibrate(const struct context *context, struct error *error)
{
    struct calibrate_command *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_exit_code((error_set(error, ERROR_SYSTEM, "out of memory"), error->kind));
    self->session = (struct session){.context = context, .may_stop = true};
    bool ok = session_open_elf(&self->session, error) && locate(self, context->options, error) &&
              session_open_target(&self->session, error) && session_take(&self->session, error) &&
              calibrate(self, error);
    if (ok && context->options->format == FORMAT_JSON)
        ok = put_json(self) || error_set(error, ERROR_SYSTEM, "the output could not be written");
    else if (ok)
        print(self);
    counting_close(&self->counting);
    int code = session_finish(&self->session, ok, error);
    free(self);
    return code;
}
