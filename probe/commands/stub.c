/* SPDX-License-Identifier: MIT */
/* stub: does through the probe what the target stub does: lets the program read its own counters, or not. */
#include "stub/stub.h"
#include "commands/command.h"
#include "run/program.h"
#include "run/session.h"

#include <stdio.h>
#include <string.h>

enum { WORK_MS = 60000 }; /* enough for thousands of accesses over a slow link */
enum action { ENABLE, DISABLE, STATUS, ACTIONS };

struct stub_command {
    const struct context *context;
    struct session session;
    enum action action;
    struct stub stub;
    struct stub_state found, now;
};

static bool read_action(struct stub_command *self, const struct options *options, struct error *error)
{
    static const char *const names[ACTIONS] = {"enable", "disable", "status"};
    while (self->action < ACTIONS && strcmp(options->operands[0], names[self->action]) != 0)
        self->action++;
    return self->action < ACTIONS ||
           error_set(error, ERROR_USAGE, "unknown action \"%.32s\": %s", options->operands[0], STUB_ACTIONS);
}

static bool stub_work(struct stub_command *self, struct error *error)
{
    struct device *device = &self->session.device;
    struct deadline deadline = deadline_in_ms(patience_ms(WORK_MS), self->context->around.cancel);
    if (!stub_open(&self->stub, device, &deadline, error))
        return false;
    return self->action == STATUS
               ? stub_look(&self->stub, &self->now, error)
               : stub_change(&self->stub, self->action == ENABLE, &self->found, &self->now, error);
}

static void stub_print_line(FILE *out, const char *what, const char *of, const char *before, const char *now)
{
    bool same = before == NULL || strcmp(before, now) == 0;
    fprintf(out, "  %-15s %s%s%s%s%s\n", what, of, now, same ? "" : " (was: ", same ? "" : before,
            same ? "" : ")");
}

static const char *of_user(const struct stub_state *state)
{
    return !state->has_user ? "not possible" : state->user ? "allowed" : "denied";
}

static const char *of_cycles(const struct stub_state *state)
{
    return !state->cycles ? "off" : state->enabled ? "on" : "configured, but stopped";
}

static void print_events(FILE *out, uint32_t events)
{
    fprintf(out, "  %-15s", "event counters");
    for (unsigned i = 0; i < 31; i++)
        if (events >> i & 1)
            fprintf(out, " %u%s", i, events >> i > 1 ? "," : " enabled");
    fprintf(out, "%s\n", events == 0 ? " none enabled" : "");
}

static void stub_print(const struct stub_command *self)
{
    FILE *out = self->context->out;
    const struct device *device = &self->session.device;
    const struct stub_state *was = self->action == STATUS ? NULL : &self->found;
    fprintf(out, "core %d   %s\n\n", (int)(device->chosen - device->cores), device->chosen->core.name);
    stub_print_line(out, "user mode", "access to counters ", was ? of_user(was) : NULL, of_user(&self->now));
    stub_print_line(out, "cycle counter", "", was ? of_cycles(was) : NULL, of_cycles(&self->now));
    print_events(out, self->now.events);
    fprintf(out, "  %-15s %s\n", "registers", self->now.registers);
    fprintf(out, "  %-15s by the %s\n", self->action == STATUS ? "read" : "written",
            self->stub.by_core ? "halted core" : "probe");
    if (self->action == DISABLE && self->now.events != 0)
        fprintf(out, "\nThe program's own counters go on; user mode lost access.\n");
}

int command_stub(const struct context *context, struct error *error)
{
    struct stub_command self = {
        .context = context,
        .session = {.request = &context->options->request, .around = &context->around, .may_stop = true}};
    bool ok = read_action(&self, context->options, error) && program_open(&self.session, error) &&
              program_open_target(&self.session, error) && stub_work(&self, error);
    if (ok)
        stub_print(&self);
    return command_code(session_finish(&self.session, ok, error), error);
}
