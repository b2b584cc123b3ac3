/* SPDX-License-Identifier: MIT */
/*
 * serve: for GDB's Python. The counters count while it runs, and it reads them at each stop. Standard input
 * has the stops, one per line:
 *
 *   resumed         the core runs from now on
 *   stopped N       the core has halted after N halts, 0: an unknown number
 *   look            the core is halted, and the interval goes on up to the next `stopped`
 *
 * The answer to each of the last two is a line "value NAME COUNT TOTAL" for each event, with > or < before a
 * number that is a bound, then "text ..." for people. `ready` is once, before the first. At the end of the
 * input everything is restored.
 */
#include "commands/command.h"
#include "engine/engine.h"
#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "report/formats.h"
#include "report/number.h"
#include "report/terminal.h"
#include "run/counting.h"
#include "run/program.h"
#include "run/session.h"
#include "run/trial.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 128, REHITS = 8, HALTS = 64, WAIT_MS = 200 }; /* HALTS: GDB's own, at most */

struct serve_command {
    const struct context *context;
    struct session session;
    struct counting counting;
    struct conditions conditions;
    struct halt_cost halts;
    struct plausible plausible;
    struct engine *engine;
    uint64_t last[READING_ROOM];
    int64_t resumed_us;
    struct halt_cost_count counts[READING_ROOM], totals[READING_ROOM]; /* up to the last stop */
    char line[LINE];
    size_t used;
};

/* The next line of standard input; false at its end, or if cancelled. */
static bool next_line(struct serve_command *self, char *out)
{
    const struct context *context = self->context;
    for (;;) {
        char *end = memchr(self->line, '\n', self->used);
        if (end != NULL) {
            size_t length = (size_t)(end - self->line);
            memcpy(out, self->line, length);
            out[length] = '\0';
            self->used -= length + 1;
            memmove(self->line, end + 1, self->used);
            return true;
        }
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        const size_t used = self->used;
        if (used >= LINE || *context->around.cancel != 0)
            return false;
        if (poll(&in, 1, WAIT_MS) <= 0)
            continue;
        ssize_t got = read(STDIN_FILENO, self->line + used, LINE - used);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return false;
        self->used = used + (got > 0 ? (size_t)got : 0);
    }
}

static const char *sign(const struct halt_cost_count *count)
{
    return count->at_least && count->at_most ? "?" : count->at_least ? ">" : count->at_most ? "<" : "";
}

static void serve_add(struct halt_cost_count *total, const struct halt_cost_count *count)
{
    total->count += count->count;
    total->plus_minus += count->plus_minus;
    total->at_least |= count->at_least;
    total->at_most |= count->at_most;
}

/* "+1,204 ± 1 cycles, +31 LD_RETIRED" */
static void serve_print_text(const struct serve_command *self, const struct halt_cost_count *counts)
{
    FILE *out = self->context->out;
    const struct reading *reading = &self->session.device.reading;
    fprintf(out, "text ");
    for (size_t i = 0; i < reading->counted; i++) {
        char number[NUMBER_ROOM], error[NUMBER_ROOM];
        const char *name = reading->counters[i].name;
        const char *bound = counts[i].at_least ? "at least " : counts[i].at_most ? "at most " : "";
        fprintf(out, "%s%s+%s", i > 0 ? ", " : "", bound,
                number_unsigned(number, sizeof number, counts[i].count));
        if (bound[0] == '\0')
            fprintf(out, " %s %s", terminal_or("±", "+-"),
                    number_unsigned(error, sizeof error, counts[i].plus_minus));
        fprintf(out, " %s", strcmp(name, "CPU_CYCLES") == 0 ? "cycles" : name);
    }
    fprintf(out, "\n");
}

/* At the core's location. At a branch this fails, and the next stop tries again. */
static bool serve_calibrate(struct serve_command *self, struct error *error)
{
    const struct engine_sink sink = {.context = &self->halts, .rehit = halt_cost_rehit};
    struct deadline deadline = session_deadline(&self->session);
    bool reset = false;
    if (!self->context->options->request.no_calibrate && !self->halts.overheads[0].known) {
        if (!debugger_engine_calibrate_here(self->engine, REHITS, 0, &sink, &deadline, error))
            return false;
        halt_cost_end(&self->halts);
    }
    deadline = session_deadline(&self->session);
    return debugger_engine_read(self->engine, self->last, &reset, &deadline, error);
}

static bool serve_take_stop(struct serve_command *self, unsigned pairs, bool look, struct error *error)
{
    FILE *out = self->context->out;
    uint64_t values[READING_ROOM];
    struct halt_cost_count counts[READING_ROOM] = {0};
    const struct reading *reading = &self->session.device.reading;
    struct deadline deadline = session_deadline(&self->session);
    bool reset = false;
    int64_t us = self->resumed_us > 0 ? deadline_now_us() - self->resumed_us : 0;
    if (!debugger_engine_read(self->engine, values, &reset, &deadline, error))
        return false;
    if (reset)
        return error_reset(error);
    if (self->resumed_us > 0 &&
        !plausible_span(&self->plausible, self->last, values, (uint64_t)us, pairs + HALTS, error))
        return false;
    if (self->resumed_us > 0)
        halt_cost_between(&self->halts, self->last, values, (uint64_t)us, pairs, counts);
    for (size_t i = 0; i < reading->counted; i++) {
        struct halt_cost_count total = self->totals[i], *last = &self->counts[i];
        serve_add(&total, &counts[i]);
        if (!look)
            self->totals[i] = total;
        if (!look || self->resumed_us > 0)
            *last = counts[i];
        fprintf(out, "value %s %s%" PRIu64 " %s%" PRIu64 "\n", reading->counters[i].name, sign(last),
                last->count, sign(&total), total.count);
    }
    serve_print_text(self, counts);
    if (!look)
        self->resumed_us = 0;
    if (!look && !serve_calibrate(self, error))
        return false;
    return command_wrote(fflush(out) == 0, error);
}

static bool obey(struct serve_command *self, const char *line, struct error *error)
{
    static const char stopped[] = "stopped ";
    if (strcmp(line, "resumed") == 0) {
        self->resumed_us = deadline_now_us();
        return true;
    }
    if (strcmp(line, "look") == 0)
        return serve_take_stop(self, 0, true, error);
    if (strncmp(line, stopped, sizeof stopped - 1) == 0)
        return serve_take_stop(self, strtoul(line + sizeof stopped - 1, NULL, 10) == 1 ? 1 : 0, false, error);
    return error_set(error, ERROR_USAGE, "serve does not know \"%.32s\"", line);
}

static bool serve_begin(struct serve_command *self, struct error *error)
{
    struct session *session = &self->session;
    struct clock clock;
    if (session->device.debugger == NULL)
        return error_set(error, ERROR_USAGE, "serve is for GDB's own use");
    if (!own_code_check(session, error) || !trial_clock(session, &clock, error) ||
        !counting_open(&self->counting, session, &clock, error))
        return false;
    if (self->counting.plan->n_passes != 1)
        return error_set(error, ERROR_USAGE, "these events do not fit on the counters in one pass");
    session_conditions(session, &clock, &self->conditions);
    halt_cost_begin(&self->halts, &session->device, &clock);
    self->plausible =
        plausible_begin(&session->device.reading, session->device.block->counts_cycles, &clock, 0);
    self->engine = session_engine(session, error);
    if (self->engine == NULL)
        return false;
    if (!serve_calibrate(self, error))
        return false;
    text_header(self->context->out, &self->conditions);
    fprintf(self->context->out, "ready\n");
    return fflush(self->context->out) == 0;
}

int command_serve(const struct context *context, struct error *error)
{
    struct serve_command *self = calloc(1, sizeof *self);
    char line[LINE];
    if (self == NULL)
        return command_code(error_memory(error), error);
    self->context = context;
    self->session =
        (struct session){.request = &context->options->request, .around = &context->around, .may_stop = true};
    bool ok = program_open(&self->session, error) && program_open_target(&self->session, error) &&
              session_take(&self->session, error) && serve_begin(self, error);
    while (ok && next_line(self, line))
        ok = obey(self, line, error);
    struct error after = {0};
    if (self->engine != NULL) {
        if (!session_disarm(&self->session, self->engine, &after))
            ok = error_add(error, &after);
        self->engine->ops->free(self->engine);
    }
    counting_close(&self->counting);
    int code = command_code(session_finish(&self->session, ok, error), error);
    free(self);
    return code;
}
