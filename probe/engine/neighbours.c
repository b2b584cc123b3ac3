#include "engine/neighbours.h"

#include <inttypes.h>
#include <unistd.h>

enum { LIST_ROOM = 16, OFTEN_US = 100000, TRIES = 3, NAP_US = 5000 };

void neighbours_init(struct neighbours *neighbours, struct device *device)
{
    *neighbours = (struct neighbours){.device = device};
}

/* On Cortex-M only are there breakpoint instructions of ours. */
static bool is_neighbour(const struct device *device, const struct device_core *core)
{
    return core != device->chosen && core->core.family == CORE_M && core->state != CORE_HIDDEN;
}

static bool switch_on(struct device *device, const struct core *core, const struct deadline *deadline,
                      struct error *error)
{
    struct setting settings[CORE_SETTINGS];
    struct address commands[LIST_ROOM], enable = core_debug_enable(core);
    size_t n = core_settings(core, settings, CORE_SETTINGS);
    size_t n_commands = core_commands(core, commands, LIST_ROOM);
    for (size_t i = 0; i < n; i++)
        if (settings[i].at.offset == enable.offset &&
            !ledger_apply(device->ledger, &settings[i], deadline, error))
            return false;
    for (size_t i = 0; i < n_commands; i++)
        if (!ledger_allow(device->ledger, commands[i], error))
            return false;
    return true;
}

/* It has no power or no clock: then it runs onto nothing. */
static bool is_away(const struct error *why)
{
    return why->kind == ERROR_FAULT || why->kind == ERROR_ASLEEP;
}

static bool is_place(const struct neighbours *neighbours, uint64_t pc)
{
    for (size_t i = 0; i < neighbours->n && i < NEIGHBOURS_PLACES; i++)
        if (neighbours->places[i] == pc)
            return true;
    return false;
}

bool neighbours_guard(struct neighbours *neighbours, uint64_t place, const struct deadline *deadline,
                      struct error *error)
{
    struct device *device = neighbours->device;
    if (!is_place(neighbours, place))
        neighbours->places[neighbours->n++ % NEIGHBOURS_PLACES] = place;
    for (size_t i = 0; !neighbours->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        if (is_neighbour(device, &device->cores[i]) &&
            !switch_on(device, &device->cores[i].core, deadline, &why) && !is_away(&why))
            return error_set(error, why.kind, "core %zu may run onto a breakpoint in RAM: %s", i, why.text);
    }
    neighbours->guarded = true;
    neighbours->looked_us = deadline_now_us();
    return true;
}

/* Whether it stands at a breakpoint of ours. */
static bool has_stopped(struct neighbours *neighbours, const struct device_core *one, bool *stopped,
                        uint64_t *pc, const struct deadline *deadline, struct error *error)
{
    struct device *device = neighbours->device;
    const struct core *core = &one->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], status;
    struct steps list = {.items = items, .room = LIST_ROOM};
    *stopped = false;
    if (!is_neighbour(device, one))
        return true;
    if (!ledger_read(device->ledger, core_status_register(core), &status, deadline, error))
        return false;
    if (core_state_of(core, status) != CORE_HALTED)
        return true;
    size_t at = core_add_register(core, &list, CORE_PC);
    if (!ledger_run(device->ledger, &list, results, deadline, error))
        return false;
    *pc = core_code_place(core_register_value(core, CORE_PC, results, at));
    *stopped = is_place(neighbours, *pc);
    return true;
}

bool neighbours_look(struct neighbours *neighbours, bool now, const struct deadline *deadline,
                     struct error *error)
{
    struct device *device = neighbours->device;
    int64_t us = deadline_now_us();
    if (!neighbours->guarded || (!now && us - neighbours->looked_us < OFTEN_US))
        return true;
    neighbours->looked_us = us;
    for (size_t i = 0; i < device->n_cores; i++) {
        bool stopped;
        uint64_t pc;
        if (!has_stopped(neighbours, &device->cores[i], &stopped, &pc, deadline, error))
            return false;
        if (stopped)
            return error_set(
                error, ERROR_ADDRESS,
                "core %zu has run onto the breakpoint at 0x%08" PRIX64
                " that was meant for core %zu: it is an instruction there, in code in RAM that both run",
                i, pc, (size_t)(device->chosen - device->cores));
    }
    return true;
}

static bool let_one_go(struct neighbours *neighbours, const struct device_core *one,
                       const struct deadline *deadline, struct error *error)
{
    const struct core *core = &one->core;
    struct step items[LIST_ROOM];
    uint64_t results[LIST_ROOM], pc;
    struct steps list = {.items = items, .room = LIST_ROOM};
    bool stopped;
    if (!has_stopped(neighbours, one, &stopped, &pc, deadline, error))
        return false;
    if (!stopped)
        return true;
    core_add_clear_breakpoint(core, &list);
    core_add_let_go(core, &list);
    return ledger_run(neighbours->device->ledger, &list, results, deadline, error);
}

bool neighbours_let_go(struct neighbours *neighbours, const struct deadline *deadline, struct error *error)
{
    struct device *device = neighbours->device;
    for (size_t i = 0; neighbours->guarded && i < device->n_cores; i++) {
        struct error why = {0};
        for (int tries = 0; tries < TRIES; tries++) {
            why = (struct error){0};
            if (let_one_go(neighbours, &device->cores[i], deadline, &why) || !is_away(&why))
                break;
            usleep(NAP_US);
        }
        if (why.kind != ERROR_NONE && !is_away(&why))
            return error_set(error, why.kind, "%s", why.text);
    }
    neighbours->guarded = false;
    neighbours->n = 0;
    return true;
}
