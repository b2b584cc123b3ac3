#include "device/device.h"

#include "cores/architectures.h"
#include "device/blocks.h"
#include "device/remote_counters.h"
#include "device/run_control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_ROOM = 64 };

/* Where it cannot be read nothing is known of it. False only when the link fails. */
static bool look_at_security(struct device *device, struct core *core, const struct deadline *deadline,
                             struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    if (!cortex_m_is_v8(core))
        return true;
    if (ledger_read(device->ledger, cortex_m_authentication(core), &status, deadline, &unread)) {
        cortex_m_take_authentication(core, status);
        return true;
    }
    return unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP ||
           error_set(error, unread.kind, "%s", unread.text);
}

/* A block that refuses to be read is there all the same, and doctor tells why. */
static bool identify_blocks(struct device *device, struct device_core *core, const struct deadline *deadline,
                            struct error *error)
{
    const struct block_kind *const *kinds;
    size_t n = counter_kinds(&kinds);
    core->n_blocks = 0;
    for (size_t i = 0; i < n && core->n_blocks < TARGET_BLOCKS; i++) {
        struct step items[BLOCK_IDENTITY];
        uint64_t values[BLOCK_IDENTITY];
        struct steps list = {.items = items, .room = BLOCK_IDENTITY};
        struct counter_block *block = &core->blocks[core->n_blocks];
        block->look_again = false;
        struct error unread = {0};
        if (kinds[i]->by_core) {
            core->n_blocks += kinds[i]->identify(&core->core, NULL, block);
            continue;
        }
        kinds[i]->add_identity(&core->core, &list);
        if (ledger_run(device->ledger, &list, values, deadline, &unread)) {
            core->n_blocks += kinds[i]->identify(&core->core, values, block);
            continue;
        }
        if (unread.kind != ERROR_FAULT && unread.kind != ERROR_ASLEEP)
            return error_set(error, unread.kind, "%s", unread.text);
        *block = (struct counter_block){.kind = kinds[i]};
        snprintf(block->text, sizeof block->text, "not identified");
        snprintf(block->unusable, sizeof block->unusable, "registers not readable");
        core->n_blocks++;
    }
    return true;
}

bool device_allow_commands(struct device *device, const struct core *core, struct error *error)
{
    struct address commands[LIST_ROOM];
    size_t n = core_commands(core, commands, LIST_ROOM);
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(device->ledger, commands[i], error))
            return false;
    return true;
}

/* Locks, which hide a PMU until they are opened; through the ledger, which closes them again. */
static bool open_locks(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct device_core *core = device->chosen;
    if (core->core.family == CORE_M)
        return true;
    /* The coprocessor stops the core for each look, and minds what a caught reset leaves. */
    bool only_looks = core->core.pmu_base != 0;
    if (!device_apply_core(device->ledger, &core->core, only_looks ? APPLY_TO_LOOK : APPLY_ALL, deadline,
                           error))
        return false;
    if (core->state != CORE_HIDDEN)
        return identify_blocks(device, core, deadline, error);
    if (!run_control_of(device)->look(device, core, deadline, error))
        return false;
    if (core->state == CORE_HIDDEN)
        return error_set(error, ERROR_ASLEEP, "the core's debug registers refuse to be read");
    return identify_blocks(device, core, deadline, error);
}

/* Finds cores and buses, which are the device's even after a failure. */
static bool find(struct device *device, const struct device_request *request, const struct deadline *deadline,
                 struct error *error)
{
    struct link_view views[TARGET_VIEWS];
    struct found found = {.ledger = device->ledger, .views = views};
    found.n_views = link_views(device->link, views, TARGET_VIEWS, error);
    if (found.n_views == 0)
        return error_set(error, ERROR_NO_CORE, "the link shows no target");
    found.room = found.n_views > TARGET_CORES ? found.n_views : TARGET_CORES;
    found.cores = device->cores = calloc(found.room, sizeof *found.cores);
    found.buses = device->buses = calloc(TARGET_BUSES, sizeof *found.buses);
    if (found.cores == NULL || found.buses == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    bool done = discovery_m_run(&found, deadline, error) && discovery_run(&found, deadline, error) &&
                discovery_place(&found, request, deadline, error);
    device->room = found.room;
    device->n_cores = found.n_cores;
    device->n_buses = found.n_buses;
    device->cores_cut = found.cores_cut;
    device->buses_cut = found.buses_cut;
    device->has_passed_over = found.has_passed_over;
    device->passed_over = found.passed_over;
    device->preferred = found.preferred;
    return done;
}

bool device_open(struct device *device, struct link *link, const struct device_request *request,
                 const struct deadline *deadline, struct error *error)
{
    *device = (struct device){.link = link, .debugger = link_debugger(link)};
    device->ledger = ledger_new(link);
    if (device->ledger == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (!find(device, request, deadline, error))
        return false;
    for (size_t i = 0; i < device->n_cores; i++)
        if (!run_control_of(device)->look(device, &device->cores[i], deadline, error) ||
            !look_at_security(device, &device->cores[i].core, deadline, error) ||
            !identify_blocks(device, &device->cores[i], deadline, error))
            return false;
    return true;
}

bool device_choose(struct device *device, int number, struct error *error)
{
    if (device->n_cores == 0 && device->has_passed_over)
        return error_set(error, ERROR_NO_CORE,
                         "no core that can be measured was found; nobody looked for a Cortex-M behind access "
                         "port %u, which no ROM table tells of: --debug-base %u:0x%08X does",
                         device->passed_over & 0xFFU, device->passed_over & 0xFFU, (unsigned)DISCOVERY_M_SCS);
    if (device->n_cores == 0)
        return error_set(error, ERROR_NO_CORE, "no core that can be measured was found");
    if (remote_counters_is_there(device))
        return remote_counters_choose(device, number, error);
    size_t chosen = number < 0 ? run_control_core(device, device->preferred) : (size_t)number;
    if (number >= 0 && device->cores[0].core.family == CORE_KNC) /* by the number of the CPU */
        for (chosen = 0; chosen < device->n_cores && device->cores[chosen].core.unit != number;)
            chosen++;
    if (chosen >= device->n_cores)
        return error_set(error, ERROR_NO_CORE, "there is no core %d: the last one%s is core %zu", number,
                         device->cores_cut ? " that is looked at" : "",
                         device->cores[0].core.family == CORE_KNC
                             ? device->cores[device->n_cores - 1].core.unit
                             : device->n_cores - 1);
    device->chosen = &device->cores[chosen];
    return run_control_check_core(device, chosen, error);
}

static bool reach_core(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->chosen->state == CORE_LOCKUP)
        return error_set(error, ERROR_LOCKUP, "the core is locked up");
    return device_allow_commands(device, &device->chosen->core, error) && open_locks(device, deadline, error);
}

bool device_keep(struct device *device, const struct deadline *deadline, struct error *error)
{
    device->server_held = reach_core(device, deadline, error) && link_hold(device->link, true, error);
    return device->server_held;
}

bool device_take(struct device *device, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error)
{
    if (device->chosen->state == CORE_HALTED && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at %s", place);
    return reach_core(device, deadline, error) &&
           run_control_of(device)->take(device, resume, deadline, error);
}

bool device_run_for(struct device *device, int ms, const struct deadline *deadline, struct error *error)
{
    return run_control_of(device)->run_for(device, ms, deadline, error);
}

void device_leave_as(struct device *device, enum leave leave)
{
    if (leave > device->leave)
        device->leave = leave;
}

/* Who finds the core halted must find debug enabled, and the reason of the stop. */
static void keep_stop(struct device *device)
{
    const struct core *core = &device->chosen->core;
    if (core_has_run_control(core))
        ledger_forget(device->ledger, core_debug_enable(core));
    if (core_has_run_control(core))
        ledger_forget(device->ledger, core_reset_register(core));
}

bool device_undo(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct run_control *control = run_control_of(device);
    if (device->ledger == NULL)
        return true;
    if (device->halted_access != NULL)
        halted_access_undo(device->halted_access);
    if (device->chosen != NULL && device->leave >= LEAVE_HALTED_RESET)
        keep_stop(device);
    if (device->leave != LEAVE_AS_IT_IS)
        link_leave_power(device->link, LINK_POWER_UP);
    if (!control->before_undo(device, deadline, error) || !ledger_undo(device->ledger, deadline, error))
        return false;
    if (device->server_held && !link_hold(device->link, false, error))
        return false;
    device->server_held = false;
    if (!control->after_undo(device, deadline, error))
        return false;
    device->leave = LEAVE_AS_IT_IS;
    return true;
}

bool device_check_left(const struct device *device, struct error *error)
{
    return device->halted_access == NULL || halted_access_check_stays(device->halted_access, error);
}

void device_close(struct device *device)
{
    ledger_free(device->ledger);
    halted_access_free(device->halted_access);
    free(device->buses);
    device->halted_access = NULL;
    free(device->cores);
    device->buses = NULL;
    device->cores = NULL;
    device->ledger = NULL;
}
