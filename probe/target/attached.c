#include "target/attached.h"

#include "debuggers/debugger.h"

#include <string.h>

bool attached_has(const struct target *target, const struct target_core *core)
{
    const struct debugger *debugger = target->debugger;
    return debugger != NULL &&
           (debugger->facts.core[0] == '\0' || strcmp(debugger->facts.core, core->view.name) == 0);
}

size_t attached_number(const struct target *target, size_t otherwise)
{
    if (target->debugger == NULL)
        return otherwise;
    for (size_t i = 0; i < target->n_cores; i++)
        if (attached_has(target, &target->cores[i]))
            return i;
    return otherwise;
}

bool attached_check(const struct target *target, size_t number, struct error *error)
{
    return target->debugger == NULL || attached_has(target, &target->cores[number]) ||
           error_set(error, ERROR_NO_CORE,
                     "core %zu is not the one behind this port of the GDB server, which is %s", number,
                     target->debugger->facts.core);
}

bool attached_look(struct target *target, struct target_core *core, const struct deadline *deadline,
                   struct error *error)
{
    core->core.unstoppable =
        "a debugger does that"; /* what else halts and resumes it is left to the debugger */
    core->state = target->debugger->facts.was_halted ? CORE_HALTED : CORE_RUNNING;
    return core->state == CORE_RUNNING ||
           target->debugger->ops->read_register(target->debugger, "pc", &core->halted_at, deadline, error);
}

bool attached_counts(const struct target *target, const struct counter_block *block, struct error *error)
{
    if (target->debugger == NULL || !target->debugger->facts.is_emulator)
        return true;
    return error_set(error, ERROR_NO_COUNTER,
                     "%s is an emulator that models no cycles: what %s shows is no measure of the code",
                     target->debugger->facts.server, block->text);
}
