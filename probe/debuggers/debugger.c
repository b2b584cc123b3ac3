#include "debuggers/debugger.h"

#include "debuggers/openocd_monitor.h"

#include <stdio.h>
#include <string.h>

enum { HALT_MS = 3000 };

const char *access_name(enum access_way way)
{
    static const char *const names[ACCESS_WAYS] = {
        [ACCESS_MEMORY] = "memory", [ACCESS_OPENOCD] = "OpenOCD's monitor"};
    return way < ACCESS_WAYS ? names[way] : "none";
}

const char *debugger_server_of(const char *version)
{
    static const char *const signs[][2] = {{"Open On-Chip Debugger", "OpenOCD"},
                                           {"Black Magic", "Black Magic Probe"}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(version, signs[i][0]) != NULL)
            return signs[i][1];
    return "";
}

void debugger_core_of(const char *about, char *out, size_t size)
{
    static const char name[] = "Name: ", state[] = ", state: ";
    const char *end = strstr(about, state);
    bool is_core = end != NULL && strncmp(about, name, sizeof name - 1) == 0 && end > about + sizeof name - 1;
    snprintf(out, size, "%.*s", is_core ? (int)(end - about - (ptrdiff_t)(sizeof name - 1)) : 0,
             is_core ? about + sizeof name - 1 : "");
}

bool debugger_halt(struct debugger *debugger, struct debugger_stop *stop, struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(HALT_MS), NULL);
    *stop = (struct debugger_stop){.why = DEBUGGER_REQUESTED};
    if (!debugger->ops->is_running(debugger))
        return true;
    if (!debugger->ops->interrupt(debugger, error))
        return false;
    switch (debugger->ops->wait(debugger, stop, &soon, error)) {
    case DEBUGGER_STOPPED:
        return true;
    case DEBUGGER_RUNS:
        return error_set(error, ERROR_ASLEEP, "%s does not halt the core", debugger->facts.name);
    case DEBUGGER_GONE:
        break;
    }
    return false;
}

bool debugger_run(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    openocd_look_soon(debugger, deadline);
    return debugger->ops->go(debugger, DEBUGGER_RUN, deadline, error);
}

bool debugger_run_for(struct debugger *debugger, int64_t ms, const struct deadline *deadline,
                      struct error *error)
{
    struct debugger_stop stop;
    struct deadline slice = deadline_slice(deadline, ms);
    if (!debugger->ops->go(debugger, DEBUGGER_RUN, deadline, error))
        return false;
    return debugger->ops->wait(debugger, &stop, &slice, error) != DEBUGGER_GONE &&
           debugger_halt(debugger, &stop, error);
}

/* The event "gdb-start" comes when the core has been resumed and GDB waits for it. Whoever has a handler for
 * it gets it back before it runs. OpenOCD serves nobody while this looks: so not for long. */
static const char once[] =
    "proc pmu_look {own theirs} {"
    "$own configure -event gdb-start $theirs; eval $theirs; set until [expr {[ms] + 30}]; "
    "while {[$own curstate] eq {running} && [ms] < $until} {"
    "foreach one [target names] {if {[$one curstate] eq {running}} {catch {$one arp_poll}}}}}; "
    "[target current] configure -event gdb-start "
    "[list pmu_look [target current] [[target current] cget -event gdb-start]]; format {}";

void openocd_look_soon(struct debugger *debugger, const struct deadline *deadline)
{
    char ignored[256];
    struct error none = {0};
    if (debugger->ops->monitor != NULL && strcmp(debugger->facts.server, "OpenOCD") == 0)
        (void)debugger->ops->monitor(debugger, once, ignored, sizeof ignored, deadline, &none);
}
