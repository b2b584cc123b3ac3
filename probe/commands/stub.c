/* stub: does through the probe what the target stub does: lets the program read its own counters, or not. */
#include "stub/stub.h"
#include "commands/command.h"
#include "commands/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORK_MS = 60000 }; /* enough for thousands of accesses over a slow link */
enum action { LOAD, ENABLE, DISABLE, STATUS, ACTIONS };

struct stub_command {
    struct session session;
    enum action action;
    bool has_place;
    uint64_t place;
    struct stub stub;
    struct stub_state found, now;
};

static bool read_action(struct stub_command *self, const struct options *options, struct error *error)
{
    static const char *const names[ACTIONS] = {"load", "enable", "disable", "status"};
    while (self->action < ACTIONS && strcmp(options->operands[0], names[self->action]) != 0)
        self->action++;
    if (self->action == ACTIONS)
        return error_set(error, ERROR_USAGE, "unknown action \"%.32s\": load, enable, disable or status",
                         options->operands[0]);
    self->has_place = options->n_operands == 2;
    return self->has_place || self->action != LOAD ||
           error_set(error, ERROR_USAGE, "stub load needs a LOCATION: RAM in which its code can stay");
}

/* A variable that has room for the code, or any other location. */
static bool find_place(struct stub_command *self, const struct options *options, struct error *error)
{
    uint64_t size;
    struct symbols *symbols = self->session.symbols;
    if (!self->has_place ||
        (symbols != NULL && symbols_object(symbols, options->operands[1], &self->place, &size)))
        return true;
    struct location location;
    bool found = symbols_locate(symbols, options->operands[1], &location, error);
    self->place = location.address;
    return found;
}

static bool work(struct stub_command *self, struct error *error)
{
    struct device *device = &self->session.device;
    struct deadline deadline = deadline_in_ms(patience_ms(WORK_MS), self->session.context->cancel);
    if (!stub_open(&self->stub, device, self->has_place ? &self->place : NULL, &deadline, error))
        return false;
    switch (self->action) {
    case ENABLE:
        return stub_enable(&self->stub, &self->found, &self->now, &deadline, error);
    case DISABLE:
        return stub_disable(&self->stub, &self->found, &self->now, &deadline, error);
    case LOAD:
        return stub_look(&self->stub, &self->now, &deadline, error) && stub_leave_code(&self->stub, error);
    default:
        return stub_look(&self->stub, &self->now, &deadline, error);
    }
}

static void print_line(FILE *out, const char *what, const char *of, const char *before, const char *now)
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

static void print(const struct stub_command *self)
{
    FILE *out = self->session.context->out;
    const struct device *device = &self->session.device;
    const struct stub_state *was = self->action == ENABLE || self->action == DISABLE ? &self->found : NULL;
    fprintf(out, "core %d   %s\n\n", (int)(device->chosen - device->cores), device->chosen->core.name);
    print_line(out, "user mode", "access to counters ", was ? of_user(was) : NULL, of_user(&self->now));
    print_line(out, "cycle counter", "", was ? of_cycles(was) : NULL, of_cycles(&self->now));
    print_events(out, self->now.events);
    fprintf(out, "  %-15s %s\n", "registers", self->now.registers);
    if (self->stub.injected == NULL)
        fprintf(out, "  %-15s by the probe\n", self->action == STATUS ? "read" : "written");
    else
        fprintf(out, "  %-15s at 0x%08" PRIX64 " in RAM, %s\n", "code", injected_place(self->stub.injected),
                injected_was_there(self->stub.injected) ? "stays there" : "temporary");
    if (self->action == DISABLE && self->now.events != 0)
        fprintf(out, "\nThe program counts events: its counters go on, only user mode lost access.\n");
}

int command_stub(const struct context *context, struct error *error)
{
    struct stub_command self = {.session = {.context = context, .may_stop = true}};
    bool ok = read_action(&self, context->options, error) && session_open_elf(&self.session, error) &&
              find_place(&self, context->options, error) && session_open_target(&self.session, error) &&
              work(&self, error);
    if (ok)
        print(&self);
    int code = session_finish(&self.session, ok, error);
    stub_close(&self.stub);
    return code;
}
