#include "device/device.h"

#include "cores/architectures.h"
#include "debuggers/debugger.h"
#include "device/blocks.h"
#include "device/remote_counters.h"
#include "find/attached.h"
#include "find/discovery.h"
#include "find/manual_placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_ROOM = 64 };

bool device_run(struct device *device, const struct steps *list, uint64_t *results,
                const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    while (done < list->n || list->overflow) {
        struct outcome outcome = ledger_execute(device->ledger, list, done, results, deadline, error);
        done = outcome.done;
        if (outcome.why == DONE)
            break;
        if (outcome.why != NOT_YET)
            return error_set(error, ERROR_FAULT, "step %zu of %zu did not come out", done, list->n);
        if (deadline_passed(deadline))
            return error_set(error, deadline_cancelled(deadline) ? ERROR_CANCELLED : ERROR_ASLEEP,
                             "the target does not answer");
    }
    return true;
}

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
        if (device_run(device, &list, values, deadline, &unread)) {
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

/* A core that lost power since anybody looked, as at power-on, hides its registers until that has been seen:
 * reading what tells of it is seeing it. */
static bool read_status(struct device *device, const struct core *core, uint64_t *status,
                        const struct deadline *deadline, struct error *error)
{
    uint64_t ignored;
    struct error unread = {0}, unseen = {0};
    if (ledger_read(device->ledger, core->ops->status(core), status, deadline, &unread))
        return true;
    bool refused = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
    if (refused && core->family != CORE_M && core->ops->cause_register != NULL &&
        ledger_read(device->ledger, core->ops->cause_register(core), &ignored, deadline, &unseen))
        return ledger_read(device->ledger, core->ops->status(core), status, deadline, error);
    return error_set(error, unread.kind, "%s", unread.text);
}

static bool look_at_state(struct device *device, struct device_core *core, const struct deadline *deadline,
                          struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    if (attached_has(device, core))
        return attached_look(device, core, deadline, error);
    core->state = CORE_HIDDEN;
    if (!read_status(device, &core->core, &status, deadline, &unread)) {
        bool refused = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
        return (refused && core->core.family != CORE_M) || error_set(error, unread.kind, "%s", unread.text);
    }
    core->status = status;
    core->state = core->core.ops->state(&core->core, status);
    if (core->state != CORE_HALTED ||
        (core->core.ops->unreadable != NULL && core->core.ops->unreadable(&core->core, status) != NULL))
        return true;
    struct address commands[LIST_ROOM];
    size_t n = core->core.ops->commands(&core->core, commands, LIST_ROOM);
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(device->ledger, commands[i], error))
            return false;
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    size_t at = core->core.ops->add_register(&core->core, &list, CORE_PC);
    if (!device_run(device, &list, values, deadline, error))
        return false;
    core->halted_at = core_code_place(core_register_value(&core->core, CORE_PC, values, at));
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
    if (!look_at_state(device, core, deadline, error))
        return false;
    if (core->state == CORE_HIDDEN)
        return error_set(error, ERROR_ASLEEP, "the core's debug registers refuse to be read");
    return identify_blocks(device, core, deadline, error);
}

bool device_open(struct device *device, struct link *link, const struct device_request *request,
                 const struct deadline *deadline, struct error *error)
{
    *device = (struct device){.link = link, .debugger = link_debugger(link)};
    device->ledger = ledger_new(link);
    if (device->ledger == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    struct link_view views[TARGET_VIEWS];
    size_t n = link_views(link, views, TARGET_VIEWS, error);
    if (n == 0)
        return error_set(error, ERROR_NO_CORE, "the link shows no target");
    device->room = n > TARGET_CORES ? n : TARGET_CORES;
    device->cores = calloc(device->room, sizeof *device->cores);
    device->buses = calloc(TARGET_BUSES, sizeof *device->buses);
    if (device->cores == NULL || device->buses == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (!discovery_m_run(device, views, n, deadline, error) ||
        !discovery_run(device, views, n, deadline, error) ||
        !manual_placement_run(device, views, n, request, deadline, error))
        return false;
    for (size_t i = 0; i < device->n_cores; i++)
        if (!look_at_state(device, &device->cores[i], deadline, error) ||
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
    size_t chosen = number < 0 ? attached_number(device, device->preferred) : (size_t)number;
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
    return attached_check(device, chosen, error);
}

/* Its debug registers can be used from here on. */
static bool reach_core(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct address commands[LIST_ROOM];
    size_t n = core->ops->commands(core, commands, LIST_ROOM);
    if (device->chosen->state == CORE_LOCKUP)
        return error_set(error, ERROR_LOCKUP, "the core is locked up");
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(device->ledger, commands[i], error))
            return false;
    return open_locks(device, deadline, error);
}

bool device_keep(struct device *device, const struct deadline *deadline, struct error *error)
{
    device->server_held = reach_core(device, deadline, error) && link_hold(device->link, true, error);
    return device->server_held;
}

static bool tell_core(struct device *device, void (*add)(const struct core *, struct steps *),
                      const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    add(&device->chosen->core, &list);
    return device_run(device, &list, values, deadline, error);
}

bool device_take(struct device *device, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error)
{
    if (device->chosen->state == CORE_HALTED && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at %s", place);
    if (!reach_core(device, deadline, error))
        return false;
    bool halted = device->chosen->state == CORE_HALTED;
    if (device->debugger != NULL) {
        if (resume)
            device_leave_as(device, LEAVE_HALTED_AGAIN);
        return true;
    }
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

static bool halt_again(struct device *device, const struct deadline *deadline, struct error *error)
{
    return link_server_run(device->link, device->chosen->server_unit, false, deadline, error) &&
           (link_has_server(device->link) ||
            tell_core(device, device->chosen->core.ops->add_halt, deadline, error));
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
    if (core->ops->debug_enable != NULL)
        ledger_forget(device->ledger, core->ops->debug_enable(core));
    if (core->ops->cause_register != NULL)
        ledger_forget(device->ledger, core->ops->cause_register(core));
}

bool device_undo(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->ledger == NULL)
        return true;
    if (device->halted_access != NULL)
        halted_access_undo(device->halted_access);
    if (device->chosen != NULL && device->leave >= LEAVE_HALTED_RESET)
        keep_stop(device);
    if (device->leave != LEAVE_AS_IT_IS)
        link_leave_power(device->link, LINK_POWER_UP);
    bool halt = device->chosen != NULL && device->leave == LEAVE_HALTED_AGAIN && device->debugger == NULL;
    if (device->debugger != NULL)
        device->debugger->stays_halted |= device->leave != LEAVE_AS_IT_IS;
    /* Without a server nothing else can halt a core whose debug is about to be switched off. */
    if (halt && !link_has_server(device->link)) {
        ledger_forget(device->ledger, device->chosen->core.ops->debug_enable(&device->chosen->core));
        if (!halt_again(device, deadline, error))
            return false;
        device->leave = LEAVE_AS_IT_IS;
        halt = false;
    }
    if (!ledger_undo(device->ledger, deadline, error))
        return false;
    if (device->server_held && !link_hold(device->link, false, error))
        return false;
    device->server_held = false;
    if (halt && !halt_again(device, deadline, error))
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
