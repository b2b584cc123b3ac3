#include "target/process.h"

#include "cores/core.h"

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
