#include "device/run_control.h"

#include "debuggers/debugger.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { LIST_ROOM = 64 };

/* --- by the core's debug registers ---------------------------------------------------------------------- */

/* A core that lost power since it was last looked at hides its registers. Reading the register that tells of
 * the loss shows them again. */
static bool read_status(struct device *device, const struct core *core, uint64_t *status,
                        const struct deadline *deadline, struct error *error)
{
    uint64_t ignored;
    struct error unread = {0}, unseen = {0};
    if (ledger_read(device->ledger, core_status_register(core), status, deadline, &unread))
        return true;
    bool refused = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
    if (refused && core->family != CORE_M && core_has_run_control(core) &&
        ledger_read(device->ledger, core_reset_register(core), &ignored, deadline, &unseen))
        return ledger_read(device->ledger, core_status_register(core), status, deadline, error);
    return error_set(error, unread.kind, "%s", unread.text);
}

static bool look_by_registers(struct device *device, struct device_core *core,
                              const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    core->state = CORE_HIDDEN;
    if (!read_status(device, &core->core, &status, deadline, &unread)) {
        bool refused = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
        return (refused && core->core.family != CORE_M) || error_set(error, unread.kind, "%s", unread.text);
    }
    core->status = status;
    core->state = core_state_of(&core->core, status);
    if (core->state != CORE_HALTED || (core_unreadable(&core->core, status) != NULL))
        return true;
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    size_t at = core_add_register(&core->core, &list, CORE_PC);
    if (!device_allow_commands(device, &core->core, error) ||
        !ledger_run(device->ledger, &list, values, deadline, error))
        return false;
    core->halted_at = core_code_place(core_register_value(&core->core, CORE_PC, values, at));
    return true;
}

static bool tell_core(struct device *device, void (*add)(const struct core *, struct steps *),
                      const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    add(&device->chosen->core, &list);
    return ledger_run(device->ledger, &list, values, deadline, error);
}

static bool take_by_registers(struct device *device, bool resume, const struct deadline *deadline,
                              struct error *error)
{
    bool halted = device->chosen->state == CORE_HALTED;
    if (halted && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at 0x%08" PRIX64,
                         device->chosen->halted_at);
    if (halted) {
        device_leave_as(device, LEAVE_HALTED_AGAIN);
        if (!link_server_run(device->link, device->chosen->server_unit, true, deadline, error))
            return false;
    }
    device->server_held = link_hold(device->link, true, error);
    if (!device->server_held)
        return false;
    return !halted || link_has_server(device->link) || tell_core(device, core_add_let_go, deadline, error);
}

static bool sleep_for(struct device *device, int ms, const struct deadline *deadline, struct error *error)
{
    (void)device;
    (void)deadline;
    (void)error;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
    return true;
}

static bool halt_again(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (!link_server_run(device->link, device->chosen->server_unit, false, deadline, error) ||
        (!link_has_server(device->link) && !tell_core(device, core_add_halt, deadline, error)))
        return false;
    device->leave = LEAVE_AS_IT_IS;
    return true;
}

/* Without a server nothing else can halt a core whose debug is about to be switched off. */
static bool halt_without_server(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->leave != LEAVE_HALTED_AGAIN || link_has_server(device->link))
        return true;
    ledger_forget(device->ledger, core_debug_enable(&device->chosen->core));
    return halt_again(device, deadline, error);
}

static bool halt_by_server(struct device *device, const struct deadline *deadline, struct error *error)
{
    return device->leave != LEAVE_HALTED_AGAIN || halt_again(device, deadline, error);
}

/* --- by a debugger -------------------------------------------------------------------------------------- */

static bool has_core(const struct device *device, const struct device_core *core)
{
    const struct debugger_facts *facts = &device->debugger->facts;
    return !core->view.counts_only &&
           (facts->has_cores || facts->core[0] == '\0' || strcmp(facts->core, core->view.name) == 0);
}

/* A server may say that it halted a core that stood already: the core's own register knows better. A
 * Cortex-M's register does not, for the first look clears it. */
static bool stood_already(struct device *device, const struct core *core, bool *stood,
                          const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t values[4];
    struct steps list = {.items = items, .room = 4};
    *stood = device->debugger->facts.was_halted;
    if (*stood || !core_has_run_control(core) || core->family == CORE_M)
        return true;
    size_t at = core_add_cause(core, &list);
    if (!ledger_run(device->ledger, &list, values, deadline, error))
        return false;
    enum stop_cause cause = core_cause(core, values[at], 0);
    *stood = cause == STOP_BREAKPOINT || cause == STOP_WATCHPOINT || cause == STOP_FAULT;
    return true;
}

/* The state is the one before the debugger came, in which the debugger will leave the core. */
static bool look_by_debugger(struct device *device, struct device_core *core, const struct deadline *deadline,
                             struct error *error)
{
    struct debugger *debugger = device->debugger;
    bool stood = false;
    if (!has_core(device, core))
        return look_by_registers(device, core, deadline, error);
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

static bool take_by_debugger(struct device *device, bool resume, const struct deadline *deadline,
                             struct error *error)
{
    (void)deadline;
    (void)error;
    if (resume)
        device_leave_as(device, LEAVE_HALTED_AGAIN);
    return true;
}

static bool run_by_debugger(struct device *device, int ms, const struct deadline *deadline,
                            struct error *error)
{
    return debugger_run_for(device->debugger, ms, deadline, error);
}

static bool tell_debugger(struct device *device, const struct deadline *deadline, struct error *error)
{
    (void)deadline;
    (void)error;
    device->debugger->stays_halted |= device->leave != LEAVE_AS_IT_IS;
    return true;
}

static bool nothing_left(struct device *device, const struct deadline *deadline, struct error *error)
{
    (void)device;
    (void)deadline;
    (void)error;
    return true;
}

const struct run_control *run_control_of(const struct device *device)
{
    static const struct run_control by_registers = {.look = look_by_registers,
                                                    .take = take_by_registers,
                                                    .run_for = sleep_for,
                                                    .before_undo = halt_without_server,
                                                    .after_undo = halt_by_server};
    static const struct run_control by_debugger = {.look = look_by_debugger,
                                                   .take = take_by_debugger,
                                                   .run_for = run_by_debugger,
                                                   .before_undo = tell_debugger,
                                                   .after_undo = nothing_left};
    return device->debugger != NULL ? &by_debugger : &by_registers;
}

/* --- which core a debugger has -------------------------------------------------------------------------- */

size_t run_control_core(const struct device *device, size_t otherwise)
{
    if (device->debugger == NULL)
        return otherwise;
    for (size_t i = 0; i < device->n_cores; i++)
        if (has_core(device, &device->cores[i]) &&
            (!device->debugger->facts.has_cores ||
             strcmp(device->debugger->facts.core, device->cores[i].view.name) == 0))
            return i;
    return otherwise;
}

bool run_control_check_core(const struct device *device, size_t number, struct error *error)
{
    return device->debugger == NULL || has_core(device, &device->cores[number]) ||
           error_set(error, ERROR_NO_CORE,
                     "core %zu is not the one on this port of the GDB server, which is %s", number,
                     device->debugger->facts.core);
}

bool run_control_check_counts(const struct device *device, const struct counter_block *block,
                              struct error *error)
{
    if (device->debugger == NULL || !device->debugger->facts.is_emulator)
        return true;
    const char *server = device->debugger->facts.server;
    return error_set(error, ERROR_NO_COUNTER,
                     "%s is an emulator, whose time is not a core's: what %s shows is no measure of the code",
                     server[0] != '\0' ? server : "the GDB server", block->text);
}
