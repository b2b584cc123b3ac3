#include "commands/calibrate.h"

#include "base/values.h"
#include "commands/command.h"
#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"
#include "run/program.h"
#include "run/region.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 1024 };

bool calibrate_locate(struct calibrating *self, const char *text, struct location *out, struct error *error)
{
    self->location = out;
    return symbols_locate(self->session->symbols, text, out, error) &&
           region_check_place(self->session->symbols, out, error);
}

struct json_part calibrate_columns(const struct calibrating *self)
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
void calibrate_text(FILE *out, const struct calibrating *self)
{
    const struct reading *reading = &self->session->device.reading;
    text_header(out, &self->conditions);
    const char *place =
        self->location != NULL && self->location->name[0] != '\0' ? self->location->name : "this place";
    char name[UTF8_CLEAN_ROOM(LOCATION_NAME)], line[sizeof name + LINE];
    terminal_text(name, sizeof name, place);
    fputc('\n', out);
    for (size_t i = 0; i < reading->counted; i++) {
        char mean[NUMBER_ROOM], low[NUMBER_ROOM], high[NUMBER_ROOM], error[NUMBER_ROOM];
        const struct overhead *overhead = &self->halts.overheads[i];
        const char *counted = reading->counters[i].name;
        uint64_t each = overhead_plus_minus(overhead, 1);
        bool is_whole = overhead->low == overhead->high;
        if (overhead->known)
            snprintf(line, sizeof line, "halt overhead at %s: %s %s (%zu trial%s, min %s, max %s%s%s%s%s)",
                     name, number_decimal(mean, sizeof mean, overhead->mean, is_whole ? 0 : 1),
                     strcmp(counted, "CPU_CYCLES") == 0 ? "cycles" : counted, overhead->kept,
                     PLURAL(overhead->kept), number_unsigned(low, sizeof low, overhead->low),
                     number_unsigned(high, sizeof high, overhead->high), each > 0 ? "; " : "",
                     each > 0 ? terminal_or("±", "+-") : "",
                     each > 0 ? number_unsigned(error, sizeof error, each) : "", each > 0 ? " per hit" : "");
        else
            snprintf(line, sizeof line, "halt overhead at %s: %s <not counted>: no trial succeeded", name,
                     counted);
        fold_text(out, terminal_columns(out), 2, line);
    }
}

/* Of GDB's scripts alone, which call it `pmu calibrate`. */
int command_calibrate(const struct context *context, struct error *error)
{
    const struct options *options = context->options;
    struct session session = {.request = &options->request, .around = &context->around, .may_stop = true};
    struct location location = {0};
    const char *probe = options->request.probe;
    if (probe == NULL || strncmp(probe, "door:", strlen("door:")) != 0)
        return command_code(error_set(error, ERROR_USAGE, "calibrate was removed: use doctor LOCATION"),
                            error);
    struct calibrating *self = calloc(1, sizeof *self);
    if (self == NULL)
        return command_code(error_set(error, ERROR_SYSTEM, "out of memory"), error);
    self->session = &session;
    bool ok = program_open(&session, error) &&
              (options->n_operands == 0 || calibrate_locate(self, options->operands[0], &location, error)) &&
              program_open_target(&session, error) && calibration_measure(self, error);
    if (ok)
        calibrate_text(context->out, self);
    calibration_close(self);
    free(self);
    return command_code(session_finish(&session, ok, error), error);
}
