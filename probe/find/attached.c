#include "find/attached.h"

#include "debuggers/debugger.h"

#include <string.h>

bool attached_has(const struct device *device, const struct device_core *core)
{
    const struct debugger *debugger = device->debugger;
    return debugger != NULL && !core->view.counts_only &&
           (debugger->facts.has_cores || debugger->facts.core[0] == '\0' ||
            strcmp(debugger->facts.core, core->view.name) == 0);
}

size_t attached_number(const struct device *device, size_t otherwise)
{
    if (device->debugger == NULL)
        return otherwise;
    for (size_t i = 0; i < device->n_cores; i++)
        if (attached_has(device, &device->cores[i]) &&
            (!device->debugger->facts.has_cores ||
             strcmp(device->debugger->facts.core, device->cores[i].view.name) == 0))
            return i;
    return otherwise;
}

bool attached_check(const struct device *device, size_t number, struct error *error)
{
    return device->debugger == NULL || attached_has(device, &device->cores[number]) ||
           error_set(error, ERROR_NO_CORE,
                     "core %zu is not the one on this port of the GDB server, which is %s", number,
                     device->debugger->facts.core);
}

/* Where the server says that it halted the core when it did not have to, the core's own register knows
 * better. */
static bool stood_already(struct device *device, const struct core *core, bool *stood,
                          const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t values[4];
    struct steps list = {.items = items, .room = 4};
    *stood = device->debugger->facts.was_halted;
    if (*stood || core->ops->add_cause == NULL ||
        core->family == CORE_M) /* whose register is cleared by whoever looks at it first */
        return true;
    size_t at = core->ops->add_cause(core, &list);
    if (!device_run(device, &list, values, deadline, error))
        return false;
    enum stop_cause cause = core->ops->cause(core, values[at], 0);
    *stood = cause == STOP_BREAKPOINT || cause == STOP_WATCHPOINT || cause == STOP_FAULT;
    return true;
}

bool attached_look(struct device *device, struct device_core *core, const struct deadline *deadline,
                   struct error *error)
{
    struct debugger *debugger = device->debugger;
    bool stood = false;
    core->core.unstoppable = "a debugger does that"; /* and what else it needs is left to it */
    if (debugger->facts.is_attended) {
        core->state = CORE_RUNNING;
        debugger->stays_halted = true;
        return true;
    }
    if (!stood_already(device, &core->core, &stood, deadline, error))
        return false;
    core->state = stood ? CORE_HALTED : CORE_RUNNING;
    debugger->stays_halted = stood;
    return !stood || debugger->ops->read_register(debugger, core->core.family == CORE_X86_64 ? "rip" : "pc",
                                                  &core->halted_at, deadline, error);
}

bool attached_counts(const struct device *device, const struct counter_block *block, struct error *error)
{
    if (device->debugger == NULL || !device->debugger->facts.is_emulator)
        return true;
    const char *server = device->debugger->facts.server;
    return error_advise(
        error, ERROR_NO_COUNTER, "",
        "%s is an emulator, whose time is not a core's: what %s shows is no measure of the code",
        server[0] != '\0' ? server : "the GDB server", block->text);
}
