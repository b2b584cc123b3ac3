#include "run/calibration.h"
#include "commands/command.h"
#include "debuggers/debugger.h"
#include "engine/engine.h"
#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"
#include "run/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REHITS = 32, STEPS = 16, LINE = 1024 };

bool calibration_locate(struct calibrating *self, struct error *error)
{
    const struct options *options = self->session->context->options;
    return options->n_operands == 0 ||
           (symbols_locate(self->session->symbols, options->operands[0], &self->location, error) &&
            region_check_place(self->session->symbols, &self->location, error));
}

static bool one_is_enough(void *context, const struct raw_hit *hit)
{
    struct calibrating *self = context;
    self->stands_still = hit->from[0] == hit->to[0];
    return false;
}

static void take_rehit(void *context, const struct raw_hit *rehit)
{
    struct calibrating *self = context;
    uint64_t us = us_between(rehit->before_us, rehit->after_us);
    if (self->written.kind == ERROR_NONE && plausible_span(&self->plausible, rehit->from, rehit->to, us,
                                                           rehit->pairs + rehit->steps, &self->written))
        halt_cost_rehit(&self->halts, rehit);
}

/* One round from the location to itself, with re-hits at its ends. */
static bool calibrate_there(struct calibrating *self, struct engine *engine, const struct engine_sink *sink,
                            struct error *error)
{
    const struct options *options = self->session->context->options;
    bool thumb = self->location.isa == ISA_THUMB;
    const struct region region = {.start = self->location.address,
                                  .end = self->location.address,
                                  .start_is_thumb = thumb,
                                  .end_is_thumb = thumb,
                                  .process = options->process};
    const struct engine_request request = {
        .hits = 1, .rehits = REHITS / 2, .timeout_ms = (int64_t)(options->timeout_s * 1000)};
    struct deadline deadline = session_deadline(self->session);
    const struct device *device = &self->session->device;
    return engine->ops->arm(engine, &region, &deadline, error) &&
           engine->ops->run(engine, &request, sink, &deadline, error) &&
           (!self->stands_still || !device->block->counts_cycles ||
            error_set(error, ERROR_WRITTEN,
                      "%s stands still while the program runs: something else stopped it",
                      device->block->kind->name));
}

bool calibration_measure(struct calibrating *self, struct error *error)
{
    struct session *session = self->session;
    struct device *device = &session->device;
    const struct engine_sink sink = {.context = self, .hit = one_is_enough, .rehit = take_rehit};
    bool here = session->context->options->n_operands == 0;
    struct clock clock;
    double seen_hz;
    if (here && !process_check_debugged(&session->context->options->process, error))
        return false;
    if (!session_take(session, error) || !session_trial(session, &clock, &seen_hz, error) ||
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

struct json_part calibration_columns(const struct calibrating *self)
{
    const struct reading *reading = &self->session->device.reading;
    struct json_part all = json_part_new(NULL);
    for (size_t i = 0; i < reading->counted; i++) {
        const struct overhead *overhead = &self->halts.overheads[i];
        struct json_part one = json_part_new(NULL);
        json_part_bool(&one, "calibrated", overhead->known);
        if (overhead->known) {
            json_part_real(&one, "overhead", overhead->mean);
            json_part_unsigned(&one, "min", overhead->low);
            json_part_unsigned(&one, "max", overhead->high);
            json_part_unsigned(&one, "rehits", overhead->kept);
            json_part_unsigned(&one, "plus_minus", overhead_plus_minus(overhead, 1));
        }
        json_part_object(&all, reading->counters[i].name, one);
    }
    return all;
}

/* "halt overhead at work_by_data: 0 cycles (32 trials, min 0, max 0)" */
void calibration_text(const struct calibrating *self)
{
    FILE *out = self->session->context->out;
    const struct reading *reading = &self->session->device.reading;
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

void calibration_close(struct calibrating *self)
{
    counting_close(&self->counting);
}

/* Of GDB's scripts alone, which call it `pmu calibrate`. */
int command_calibrate(const struct context *context, struct error *error)
{
    struct session session = {.context = context, .may_stop = true};
    const char *probe = context->options->probe;
    if (probe == NULL || strncmp(probe, "door:", strlen("door:")) != 0) {
        error_set(error, ERROR_USAGE, "there is no calibrate any more: use doctor LOCATION");
        return error_exit_code(error->kind);
    }
    struct calibrating *self = calloc(1, sizeof *self);
    if (self == NULL)
        return error_exit_code((error_set(error, ERROR_SYSTEM, "out of memory"), error->kind));
    self->session = &session;
    bool ok = session_open_elf(&session, error) && calibration_locate(self, error) &&
              session_open_target(&session, error) && calibration_measure(self, error);
    if (ok)
        calibration_text(self);
    calibration_close(self);
    int code = session_finish(&session, ok, error);
    free(self);
    return code;
}
