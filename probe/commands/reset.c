/* reset: starts the program anew; with --halt it stands at its first instruction afterwards. */
#include "target/reset.h"
#include "commands/command.h"
#include "commands/session.h"

#include <inttypes.h>
#include <stdio.h>

static bool print_place(struct session *session, struct error *error)
{
    struct deadline deadline = session_deadline(session);
    char place[512];
    uint64_t pc = 0;
    if (!reset_place(&session->target, &pc, &deadline, error))
        return false;
    session_place(session, pc, place, sizeof place);
    fprintf(session->context->out, "reset, halted at %s\n", place);
    return true;
}

/* As the board file says. */
static bool reset_by_server(struct session *session, bool halt, struct error *error)
{
    struct target *target = &session->target;
    struct deadline deadline = session_deadline(session);
    if (!link_hold(session->link, true, error) || !link_hold(session->link, false, error))
        return false; /* its polling is on again, if somebody who was killed had switched it off */
    if (!link_server_reset(session->link, target->chosen->server_unit, halt, &deadline, error))
        return false;
    fprintf(session->context->out, "reset, %s\n", halt ? "halted at the first instruction" : "running");
    return true;
}

static bool reset_by_core(struct session *session, bool halt, struct error *error)
{
    struct target *target = &session->target;
    struct deadline deadline = session_deadline(session);
    if (!target_keep(target, &deadline, error) || !reset_and_halt(target, &deadline, error))
        return false;
    if (halt) {
        target->leave_halted = true;
        return print_place(session, error);
    }
    if (!reset_run(target, &deadline, error))
        return false;
    fprintf(session->context->out, "reset, running\n");
    return true;
}

static bool reset(struct session *session, struct error *error)
{
    bool halt = session->context->options->halt;
    if (session->target.debugger != NULL || session->target.chosen->core.ops->add_reset == NULL)
        return error_set(error, ERROR_USAGE,
                         "reset needs OpenOCD's Tcl port or a CMSIS-DAP probe; through a GDB server its own "
                         "`monitor reset` does it");
    if (session->target.chosen->state == CORE_LOCKUP) /* of which a reset is the way out */
        session->target.chosen->state = CORE_RUNNING;
    return link_has_server(session->link) ? reset_by_server(session, halt, error)
                                          : reset_by_core(session, halt, error);
}

int command_reset(const struct context *context, struct error *error)
{
    struct session session = {.context = context};
    bool ok =
        session_open_elf(&session, error) && session_reach_target(&session, error) && reset(&session, error);
    struct error after = {0};
    if (!session_close(&session, &after))
        ok = error_add(error, &after);
    return ok ? EXIT_DONE : error_exit_code(error->kind);
}
