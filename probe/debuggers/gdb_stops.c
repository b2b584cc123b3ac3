#include "debuggers/gdb_stops.h"

#include <stdio.h>
#include <string.h>

bool gdb_name_core(struct gdb_session *session, const struct debugger_facts *facts,
                   struct debugger_stop *stop, const struct deadline *deadline, struct error *error)
{
    char question[GDB_THREAD + 32], about[128];
    size_t length, n;
    if (stop->thread[0] == '\0' || strcmp(facts->server, "OpenOCD") != 0)
        return true;
    snprintf(question, sizeof question, "qThreadExtraInfo,%s", stop->thread);
    if (!gdb_ask(session, question, &length, deadline, error))
        return false;
    if (length >= 2 * sizeof about ||
        !gdb_hex_read(session->wire.payload, length, about, sizeof about - 1, &n))
        return true;
    about[n] = '\0';
    debugger_core_of(about, stop->core, sizeof stop->core);
    return true;
}

/* OpenOCD does not say in its first stop which thread that is of. */
bool gdb_find_cores(struct gdb_session *session, struct debugger_facts *facts, struct debugger_stop *stop,
                    const struct deadline *deadline, struct error *error)
{
    size_t length;
    if (stop->thread[0] == '\0' && strcmp(facts->server, "OpenOCD") == 0) {
        if (!gdb_ask(session, "qC", &length, deadline, error))
            return false;
        if (strncmp(session->wire.payload, "QC", 2) == 0 && length - 2 < sizeof stop->thread &&
            strspn(session->wire.payload + 2, "0123456789abcdef") == length - 2)
            snprintf(stop->thread, sizeof stop->thread, "%s", session->wire.payload + 2);
    }
    if (!gdb_name_core(session, facts, stop, deadline, error))
        return false;
    facts->has_cores = stop->core[0] != '\0';
    snprintf(facts->core, sizeof facts->core, "%s", stop->core);
    return true;
}

bool gdb_is_belated(struct gdb_session *session, const struct debugger_stop *stop)
{
    bool belated = session->owed && !session->asked && stop->why == DEBUGGER_REQUESTED;
    if (stop->why == DEBUGGER_REQUESTED)
        session->owed = false;
    else if (session->asked)
        session->owed = true;
    return belated;
}
