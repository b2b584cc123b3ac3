/* SPDX-License-Identifier: MIT */
#include "debuggers/debugger.h"

#include <string.h>

enum { HALT_MS = 3000 };

const char *access_name(enum access_way way)
{
    static const char *const names[ACCESS_WAYS] = {
        [ACCESS_MEMORY] = "memory", [ACCESS_OPENOCD] = "OpenOCD's monitor"};
    return way < ACCESS_WAYS ? names[way] : "none";
}

static const struct server_row server_rows[SERVERS] = {
    [SERVER_UNKNOWN] = {.name = ""},
    [SERVER_OPENOCD] = {.name = "OpenOCD",
                        .version = "Open On-Chip Debugger",
                        .tells_halted = true,
                        .answers_running = true,
                        .resumes_by_monitor = true,
                        .polls = true,
                        .names_cores = true,
                        .has_memory = true,
                        .reaches_buses = true},
    [SERVER_BLACK_MAGIC] = {.name = "Black Magic Probe",
                            .version = "Black Magic",
                            .scans = {"swdp_scan", "jtag_scan"}},
    [SERVER_QEMU] = {.name = "QEMU"},
};

const struct server_row *server_row(enum server server)
{
    return &server_rows[server];
}

enum server server_of(const char *version)
{
    enum server server = SERVERS - 1;
    while (server != SERVER_UNKNOWN &&
           (server_rows[server].version == NULL || strstr(version, server_rows[server].version) == NULL))
        server--;
    return server;
}

bool debugger_halt(struct debugger *debugger, struct debugger_stop *stop, struct error *error)
{
    struct deadline soon = deadline_in_ms(patience_ms(HALT_MS), NULL);
    *stop = (struct debugger_stop){.why = DEBUGGER_REQUESTED};
    if (!debugger->ops->is_running(debugger))
        return true;
    enum debugger_wait came = DEBUGGER_RUNS;
    for (unsigned tries = 0; tries < 2 && came == DEBUGGER_RUNS; tries++)
        came = debugger->ops->interrupt(debugger, error) ? debugger->ops->wait(debugger, stop, &soon, error)
                                                         : DEBUGGER_GONE;
    return came == DEBUGGER_STOPPED ||
           (came == DEBUGGER_RUNS &&
            error_set(error, ERROR_ASLEEP, "%s does not halt the core", debugger->facts.name));
}

/*
 * OpenOCD polls for a stop only ten times a second, and that cannot be set. So it gets a handler for one
 * "gdb-start", the event after GDB's resume, that polls in a loop. The loop is short, because OpenOCD serves
 * nothing else meanwhile. The handler first puts back the one that was there. If the event never occurred,
 * the handler is still there at the next run, and is not set again.
 */
static void poll_soon(struct debugger *debugger, const struct deadline *deadline)
{
    static const char script[] =
        "proc pmu_look {own theirs} {"
        "$own configure -event gdb-start $theirs; eval $theirs; set until [expr {[ms] + 30}]; "
        "while {[$own curstate] eq {running} && [ms] < $until} {"
        "foreach one [target names] {if {[$one curstate] eq {running}} {catch {$one arp_poll}}}}}; "
        "if {![string match {pmu_look *} [[target current] cget -event gdb-start]]} {"
        "[target current] configure -event gdb-start "
        "[list pmu_look [target current] [[target current] cget -event gdb-start]]}; format {}";
    char printed[256];
    struct error none = {0};
    if (debugger->ops->monitor != NULL && server_row(debugger->facts.server)->polls)
        (void)debugger->ops->monitor(debugger, script, printed, sizeof printed, deadline, &none);
}

bool debugger_run(struct debugger *debugger, const struct deadline *deadline, struct error *error)
{
    poll_soon(debugger, deadline);
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
