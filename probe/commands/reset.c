/* SPDX-License-Identifier: MIT */
/* reset: starts the program anew; with --halt it is at its first instruction afterwards. */
#include "commands/command.h"
#include "device/release.h"
#include "run/program.h"
#include "run/session.h"

#include <stdio.h>

static bool reset_print_place(struct session *session, FILE *out, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    char place[512];
    uint64_t pc = 0;
    if (!reset_place(&session->device, &pc, &deadline, error))
        return false;
    session_place(session, pc, place, sizeof place);
    fprintf(out, "reset, halted at %s\n", place);
    return true;
}

/* It is read once more: a breakpoint instruction of the program itself stops it at once. */
static bool print_running(struct session *session, FILE *out, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    char place[512], what[64] = "";
    struct release end;
    if (!reset_end(&session->device, &end, &deadline, error))
        return false;
    if (!end.halted_again) {
        fprintf(out, "reset, running\n");
        return true;
    }
    session_place(session, end.stands_at, place, sizeof place);
    if (end.own.is_own)
        own_breakpoint_describe(&end.own, what, sizeof what);
    return error_advise(
        error, ERROR_STATE,
        "Let the debugger answer the calls (OpenOCD: arm semihosting enable), or remove its breakpoints.",
        "the core was reset, and halted again: stopped by %s at %s",
        end.own.is_own ? what : "a breakpoint or a catch", place);
}

/* In the way that the board file sets up. */
static bool reset_by_server(struct session *session, FILE *out, struct error *error)
{
    bool halt = session->request->halt;
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    if (!link_hold(session->link, true, error) || !link_hold(session->link, false, error))
        return false; /* its polling is on again, if a client that was killed had switched it off */
    if (!link_server_reset(session->link, device->chosen->server_unit, halt, &deadline, error))
        return false;
    if (!halt)
        return print_running(session, out, error);
    fprintf(out, "reset, halted at the first instruction\n");
    return true;
}

static bool reset_halted(struct session *session, FILE *out, struct error *error)
{
    struct device *device = &session->device;
    struct deadline deadline = session_deadline(session);
    if (!device_keep(device, &deadline, error) || !reset_and_halt(device, &deadline, error))
        return false;
    if (!session->request->halt)
        return print_running(session, out, error);
    device_leave_as(device, LEAVE_HALTED_RESET);
    return reset_print_place(session, out, error);
}

/* A link that was lost for a moment may have left the core at the catch, which nothing else lets go. */
static bool reset_by_core(struct session *session, FILE *out, struct error *error)
{
    struct error halted = {0}, after = {0};
    if (reset_halted(session, out, error))
        return true;
    if (error->kind != ERROR_LINK_LOST)
        return false;
    if (!session->request->halt && session_undo_insist(session, reset_let_go, &session->device, &after))
        return false;
    error_set(&halted, ERROR_LINK_LOST, "The core may be halted.");
    return error_add(error, &halted);
}

static bool reset(struct session *session, FILE *out, struct error *error)
{
    if (!device_has_run_control(&session->device))
        return error_set(
            error, ERROR_USAGE,
            "reset needs OpenOCD's Tcl port or a CMSIS-DAP probe; a GDB server has `monitor reset`");
    if (session->device.chosen->state == CORE_LOCKUP) /* a reset ends a lockup */
        session->device.chosen->state = CORE_RUNNING;
    return link_has_server(session->link) ? reset_by_server(session, out, error)
                                          : reset_by_core(session, out, error);
}

int command_reset(const struct context *context, struct error *error)
{
    struct session session = {
        .request = &context->options->request, .around = &context->around, .tolerates_left = true};
    bool ok = program_open(&session, error) && session_reach_target(&session, error) &&
              reset(&session, context->out, error);
    return command_code(session_finish(&session, ok, error), error);
}
