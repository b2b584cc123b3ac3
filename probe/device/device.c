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

bool target_run(struct target *target, const struct steps *list, uint64_t *results,
                const struct deadline *deadline, struct error *error)
{
    size_t done = 0;
    while (done < list->n) {
        struct outcome outcome = ledger_execute(target->ledger, list->items + done, list->n - done,
                                                results + done, deadline, error);
        done += outcome.done;
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
static bool look_at_security(struct target *target, struct core *core, const struct deadline *deadline,
                             struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    if (!cortex_m_is_v8(core))
        return true;
    if (ledger_read(target->ledger, cortex_m_authentication(core), &status, deadline, &unread)) {
        cortex_m_take_authentication(core, status);
        return true;
    }
    return unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP ||
           error_set(error, unread.kind, "%s", unread.text);
}

/* A block that refuses to be read is there all the same, and doctor tells why. */
static bool identify_blocks(struct target *target, struct target_core *core, const struct deadline *deadline,
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
        if (target_run(target, &list, values, deadline, &unread)) {
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
static bool read_status(struct target *target, const struct core *core, uint64_t *status,
                        const struct deadline *deadline, struct error *error)
{
    uint64_t ignored;
    struct error unread = {0}, unseen = {0};
    if (ledger_read(target->ledger, core->ops->status(core), status, deadline, &unread))
        return true;
    bool refused = unread.kind == ERROR_FAULT || unread.kind == ERROR_ASLEEP;
    if (refused && core->family != CORE_M && core->ops->cause_register != NULL &&
        ledger_read(target->ledger, core->ops->cause_register(core), &ignored, deadline, &unseen))
        return ledger_read(target->ledger, core->ops->status(core), status, deadline, error);
    return error_set(error, unread.kind, "%s", unread.text);
}

static bool look_at_state(struct target *target, struct target_core *core, const struct deadline *deadline,
                          struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    if (attached_has(target, core))
        return attached_look(target, core, deadline, error);
    core->state = CORE_HIDDEN;
    if (!read_status(target, &core->core, &status, deadline, &unread)) {
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
        if (!ledger_allow(target->ledger, commands[i], error))
            return false;
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    size_t at = core->core.ops->add_register(&core->core, &list, CORE_PC);
    if (!target_run(target, &list, values, deadline, error))
        return false;
    core->halted_at = core_code_place(core_register_value(&core->core, CORE_PC, values, at));
    return true;
}

/* Locks, which hide a PMU until they are opened; through the ledger, which closes them again. */
static bool open_locks(struct target *target, const struct deadline *deadline, struct error *error)
{
    struct target_core *core = target->chosen;
    if (core->core.family == CORE_M)
        return true;
    /* The coprocessor stops the core for each look, and minds what a caught reset leaves. */
    bool only_looks = core->core.pmu_base != 0;
    if (!target_apply_core(target->ledger, &core->core, only_looks ? APPLY_TO_LOOK : APPLY_ALL, deadline,
                           error))
        return false;
    if (core->state != CORE_HIDDEN)
        return identify_blocks(target, core, deadline, error);
    if (!look_at_state(target, core, deadline, error))
        return false;
    if (core->state == CORE_HIDDEN)
        return error_set(error, ERROR_ASLEEP, "the core's debug registers refuse to be read");
    return identify_blocks(target, core, deadline, error);
}

bool target_open(struct target *target, struct link *link, const struct target_wish *wish,
                 const struct deadline *deadline, struct error *error)
{
    *target = (struct target){.link = link, .debugger = link_debugger(link)};
    target->ledger = ledger_new(link);
    if (target->ledger == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    struct link_view views[TARGET_VIEWS];
    size_t n = link_views(link, views, TARGET_VIEWS, error);
    if (n == 0)
        return error_set(error, ERROR_NO_CORE, "the link shows no target");
    target->room = n > TARGET_CORES ? n : TARGET_CORES;
    target->cores = calloc(target->room, sizeof *target->cores);
    target->buses = calloc(TARGET_BUSES, sizeof *target->buses);
    if (target->cores == NULL || target->buses == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    if (!discovery_m_run(target, views, n, deadline, error) ||
        !discovery_run(target, views, n, deadline, error) ||
        !placing_run(target, views, n, wish, deadline, error))
        return false;
    for (size_t i = 0; i < target->n_cores; i++)
        if (!look_at_state(target, &target->cores[i], deadline, error) ||
            !look_at_security(target, &target->cores[i].core, deadline, error) ||
            !identify_blocks(target, &target->cores[i], deadline, error))
            return false;
    return true;
}

bool target_choose(struct target *target, int number, struct error *error)
{
    if (target->n_cores == 0 && target->has_passed_over)
        return error_set(error, ERROR_NO_CORE,
                         "no core that can be measured was found; nobody looked for a Cortex-M behind access "
                         "port %u, which no ROM table tells of: --debug-base %u:0x%08X does",
                         target->passed_over & 0xFFU, target->passed_over & 0xFFU, (unsigned)DISCOVERY_M_SCS);
    if (target->n_cores == 0)
        return error_set(error, ERROR_NO_CORE, "no core that can be measured was found");
    if (elsewhere_is_there(target))
        return elsewhere_choose(target, number, error);
    size_t chosen = number < 0 ? attached_number(target, target->preferred) : (size_t)number;
    if (number >= 0 && target->cores[0].core.family == CORE_KNC) /* by the number of the CPU */
        for (chosen = 0; chosen < target->n_cores && target->cores[chosen].core.unit != number;)
            chosen++;
    if (chosen >= target->n_cores)
        return error_set(error, ERROR_NO_CORE, "there is no core %d: the last one%s is core %zu", number,
                         target->cores_cut ? " that is looked at" : "",
                         target->cores[0].core.family == CORE_KNC
                             ? target->cores[target->n_cores - 1].core.unit
                             : target->n_cores - 1);
    target->chosen = &target->cores[chosen];
    return attached_check(target, chosen, error);
}

/* Its debug registers can be used from here on. */
static bool reach_core(struct target *target, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &target->chosen->core;
    struct address commands[LIST_ROOM];
    size_t n = core->ops->commands(core, commands, LIST_ROOM);
    if (target->chosen->state == CORE_LOCKUP)
        return error_set(error, ERROR_LOCKUP, "the core is locked up");
    for (size_t i = 0; i < n; i++)
        if (!ledger_allow(target->ledger, commands[i], error))
            return false;
    return open_locks(target, deadline, error);
}

bool target_keep(struct target *target, const struct deadline *deadline, struct error *error)
{
    target->held = reach_core(target, deadline, error) && link_hold(target->link, true, error);
    return target->held;
}

static bool tell_core(struct target *target, void (*add)(const struct core *, struct steps *),
                      const struct deadline *deadline, struct error *error)
{
    struct step items[LIST_ROOM];
    uint64_t values[LIST_ROOM];
    struct steps list = {.items = items, .room = LIST_ROOM};
    add(&target->chosen->core, &list);
    return target_run(target, &list, values, deadline, error);
}

bool target_take(struct target *target, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error)
{
    if (target->chosen->state == CORE_HALTED && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at %s", place);
    if (!reach_core(target, deadline, error))
        return false;
    bool halted = target->chosen->state == CORE_HALTED;
    if (target->debugger != NULL) {
        target->halt_at_end = resume;
        return true;
    }
    if (halted && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at 0x%08" PRIX64,
                         target->chosen->halted_at);
    if (halted) {
        target->halt_at_end = true;
        if (!link_server_run(target->link, target->chosen->server_unit, true, deadline, error))
            return false;
    }
    target->held = link_hold(target->link, true, error);
    if (!target->held)
        return false;
    return !halted || link_has_server(target->link) || tell_core(target, core_add_let_go, deadline, error);
}

static bool halt_again(struct target *target, const struct deadline *deadline, struct error *error)
{
    return link_server_run(target->link, target->chosen->server_unit, false, deadline, error) &&
           (link_has_server(target->link) ||
            tell_core(target, target->chosen->core.ops->add_halt, deadline, error));
}

bool target_undo(struct target *target, const struct deadline *deadline, struct error *error)
{
    if (target->ledger == NULL)
        return true;
    if (target->coprocessor != NULL)
        coprocessor_undo(target->coprocessor);
    if (target->chosen != NULL && target->leave_halted) {
        /* Whoever set that breakpoint must still find debug enabled and the reason of the stop. */
        const struct core *core = &target->chosen->core;
        if (core->ops->debug_enable != NULL)
            ledger_forget(target->ledger, core->ops->debug_enable(core));
        if (core->ops->cause_register != NULL)
            ledger_forget(target->ledger, core->ops->cause_register(core));
    }
    if (target->leave_halted || target->halt_at_end)
        link_leave_power(target->link, LINK_POWER_UP);
    /* Without a server nobody else can halt a core whose debug is about to be switched off. */
    bool halt = target->chosen != NULL && target->halt_at_end && !target->leave_halted;
    if (target->debugger != NULL) {
        target->debugger->stays_halted |= target->leave_halted || target->halt_at_end;
        halt = false;
    }
    if (halt && !link_has_server(target->link)) {
        ledger_forget(target->ledger, target->chosen->core.ops->debug_enable(&target->chosen->core));
        if (!halt_again(target, deadline, error))
            return false;
        target->halt_at_end = halt = false;
    }
    if (!ledger_undo(target->ledger, deadline, error))
        return false;
    if (target->held && !link_hold(target->link, false, error))
        return false;
    target->held = false;
    if (halt && !halt_again(target, deadline, error))
        return false;
    target->halt_at_end = false;
    return true;
}

bool target_check_left(const struct target *target, struct error *error)
{
    return target->coprocessor == NULL || coprocessor_check_stays(target->coprocessor, error);
}

void target_close(struct target *target)
{
    ledger_free(target->ledger);
    coprocessor_free(target->coprocessor);
    free(target->buses);
    target->coprocessor = NULL;
    free(target->cores);
    target->buses = NULL;
    target->cores = NULL;
    target->ledger = NULL;
}
