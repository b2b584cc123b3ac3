/* restore --force: takes every breakpoint away, and lets the cores go. */
#include "commands/command.h"
#include "device/release.h"
#include "run/program.h"
#include "run/session.h"

#include <stdio.h>

struct release_command {
    const struct context *context;
    struct session session;
    unsigned removed; /* of this core */
};

static void on_removed(void *context, const char *what, bool has_place, uint64_t at)
{
    struct release_command *self = context;
    char place[512] = "";
    if (has_place)
        session_place(&self->session, at, place, sizeof place);
    fprintf(self->context->out, "  removed     %s%s%s\n", what, has_place ? " at " : "", place);
    self->removed++;
}

static enum mapping mapping_at(void *context, uint64_t address)
{
    const struct release_command *self = context;
    return symbols_mapping(self->session.symbols, address);
}

static void restore_force_on_left(void *context, uint64_t at)
{
    struct release_command *self = context;
    char place[512];
    session_place(&self->session, at, place, sizeof place);
    fprintf(
        self->context->out,
        "  left alone  what may be a breakpoint instruction at %s: the ELF has no mapping symbol ($t, $d) "
        "that distinguishes code from data there\n",
        place);
}

static bool release_code_of_elf(struct release_command *self, const struct release_sink *sink,
                                struct error *error)
{
    enum { SEGMENTS = 16 };
    struct session *session = &self->session;
    struct segment segments[SEGMENTS];
    size_t n = session->symbols != NULL ? symbols_code(session->symbols, segments, SEGMENTS) : 0;
    for (size_t i = 0; i < n; i++) {
        struct deadline deadline = session_deadline(session);
        if (!release_code(&session->device, segments[i].address, segments[i].bytes, segments[i].size, sink,
                          &deadline, error))
            return false;
    }
    return true;
}

static const char *instruction_help(const struct release_command *self, const struct release *end)
{
    return end->own.is_own ? "It is the program's own, and halts the core while the server debugs it"
           : self->session.symbols == NULL ? "If a debugger put it there, pmu-probe restore --force --elf "
                                             "FILE can put the program's code back"
                                           : "The ELF does not show that a debugger put it there";
}

/* Prints where the core was halted, and whether it runs now. */
static bool restore_force_print_end(struct release_command *self, const struct release *end,
                                    struct error *error)
{
    FILE *out = self->context->out;
    char place[512], now[512], what[64] = "";
    if (end->own.is_own)
        own_breakpoint_describe(&end->own, what, sizeof what);
    session_place(&self->session, end->stood_at, place, sizeof place);
    session_place(&self->session, end->stands_at, now, sizeof now);
    if (end->breakpoint_instruction)
        return error_set(
            error, ERROR_STATE,
            "the core is left halted: a breakpoint instruction is at %s. %s; pmu-probe reset starts the "
            "program anew",
            place, instruction_help(self, end));
    if (end->halted_again && end->own.code.name != NULL)
        return error_set(error, ERROR_STATE,
                         "the core stops again at a breakpoint instruction at %s. %s; pmu-probe reset starts "
                         "the program anew",
                         now, instruction_help(self, end));
    if (end->halted_again)
        return error_set(error, ERROR_STATE,
                         "the core stopped again, at %s: pmu-probe reset starts the program anew", now);
    if (end->own.is_own)
        fprintf(out, "  let go      it was stopped by %s at %s%s\n", what, place,
                end->own.is_call ? " and goes on after it" : ", which is an exception without a debugger");
    else if (end->was_halted)
        fprintf(out, "  let go      it was halted at %s\n", place);
    else
        fprintf(out, "  %s\n", self->removed > 0 ? "running" : "nothing to remove; running");
    if (end->may_have_borrowed)
        fprintf(out,
                "  note        its registers were being read. If the program does not go on as it should, "
                "pmu-probe reset\n");
    return true;
}

static bool free_core(struct release_command *self, struct error *error)
{
    struct session *session = &self->session;
    const struct release_sink sink = {
        .context = self, .removed = on_removed, .mapping = mapping_at, .left = restore_force_on_left};
    struct deadline deadline = session_deadline(session);
    struct release end;
    bool again, lockup = session->device.chosen->state == CORE_LOCKUP;
    size_t number = (size_t)(session->device.chosen - session->device.cores);
    self->removed = 0;
    fprintf(self->context->out, "core %zu   %s\n", number, session->device.chosen->core.name);
    if (!release_first(&session->device, &sink, &again, &deadline, error))
        return false;
    if (again && !session_look_again(session, (int)number, error)) /* now it must be free */
        return false;
    if (!release_stops(&session->device, &sink, &deadline, error) || !release_code_of_elf(self, &sink, error))
        return false;
    if (lockup)
        return error_set(error, ERROR_LOCKUP, "the core is locked up");
    return release_run(&session->device, &end, &deadline, error) &&
           restore_force_print_end(self, &end, error);
}

/* Restores locks and the like before the next core. */
static bool release_core(struct release_command *self, struct error *error)
{
    struct deadline last = session_last_deadline(&self->session);
    struct error after = {0};
    bool ok = free_core(self, error);
    if (!device_undo(&self->session.device, &last, &after))
        ok = error_add(error, &after);
    session_tell_left(&self->session);
    return ok;
}

/* All cores, as it is not known which of them the killed run had; or the one that -C names. A core that
 * cannot be reached was not taken either. */
static bool release_all(struct release_command *self, struct error *error)
{
    struct session *session = &self->session;
    bool ok = true,
         one = self->context->options->request.core >= 0 || self->context->options->request.debug_base.said;
    if (!device_has_run_control(&session->device))
        return error_set(
            error, ERROR_USAGE,
            "restore --force needs OpenOCD's Tcl port or a CMSIS-DAP probe; what a GDB server has set, "
            "its debugger removes");
    if (one)
        return release_core(self, error);
    for (size_t i = 0; i < session->device.n_cores && error->kind != ERROR_LINK_LOST; i++) {
        struct error failed = {0};
        session->device.chosen = &session->device.cores[i];
        if (release_core(self, &failed))
            continue;
        bool hidden = failed.kind == ERROR_ASLEEP && session->device.chosen->state == CORE_HIDDEN;
        if (hidden)
            fprintf(self->context->out, "  not reached: %s\n", failed.text);
        else
            ok = error_add(error, &failed);
    }
    if (ok) /* the killed run had switched it on */
        link_leave_power(session->link, LINK_POWER_DOWN);
    if (ok)
        session_forget_cut(session);
    return ok;
}

/* A server still executes what a killed run had sent, even after our first read. */
static void let_server_settle(const struct session *session)
{
    enum { SETTLE_MS = 300 };
    if (link_has_server(session->link))
        deadline_nap_us(INT64_C(1000) * SETTLE_MS);
}

int restore_by_force(const struct context *context, struct error *error)
{
    struct release_command self = {.context = context,
                                   .session = {.request = &context->options->request,
                                               .around = &context->around,
                                               .tolerates_left = true}};
    struct session *session = &self.session;
    char text[128];
    struct error why = {0};
    /* A journal knows more than can be found. What keeps it from being used shows again below. */
    bool ok = restore_first(context, &why) || why.kind != ERROR_CANCELLED || error_copy(error, &why);
    ok = ok && program_open(session, error) && session_reach_target(session, error);
    if (ok) {
        let_server_settle(session);
        link_describe(session->link, text, sizeof text);
        fprintf(context->out, "%s\n", text);
        ok = release_all(&self, error);
    }
    return command_code(session_finish(session, ok, error), error);
}
