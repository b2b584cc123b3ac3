#include "target/process.h"

#include "cores/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void process_note(const struct process *process, char *note, size_t size)
{
    size_t used = strlen(note);
    const char *comma = used > 0 ? "; " : "";
    if (process->which == PROCESS_ID)
        snprintf(note + used, size - used, "%sonly where CONTEXTIDR is 0x%" PRIX32, comma, process->id);
    else if (process->which == PROCESS_ANY)
        snprintf(note + used, size - used, "%sin any process", comma);
}

bool process_check(const struct process *process, const struct core *core, struct error *error)
{
    if (process->which == PROCESS_NOT_SAID || core->processes)
        return true;
    if (core->family == CORE_M)
        return error_set(error, ERROR_USAGE, "--context: a Cortex-M has no CONTEXTIDR");
    return error_set(error, ERROR_USAGE,
                     "--context: %s has no MMU, so that an address is the same code at any time", core->name);
}

bool process_check_debugged(const struct process *process, struct error *error)
{
    return process->which == PROCESS_NOT_SAID ||
           error_set(
               error, ERROR_USAGE,
               "--context: a debugger halts the core here, and its breakpoints know nothing of contexts");
}
