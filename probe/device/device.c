/* SPDX-License-Identifier: MIT */
#include "device/device.h"

#include "cores/architectures.h"
#include "debuggers/debugger.h"
#include "device/own_stops.h"
#include "device/run.h"
#include "device/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void device_leave_as(struct device *device, enum leave leave)
{
    if (leave > device->leave)
        device->leave = leave;
}

/* --- run control ---------------------------------------------------------------------------------------- */

/* Who stops and starts the chosen core: we do by its debug registers, and it runs while nothing is asked of
 * it; or a debugger does, which halted it when it connected and lets it run only on request. */
struct run_control {
    /* Finds a core's state, and the PC where it was found halted. */
    bool (*look)(struct device *, struct device_core *, const struct deadline *, struct error *);
    /* Makes the chosen core, whose registers can be reached, ours; it runs from here on. */
    bool (*take)(struct device *, bool resume, const struct deadline *, struct error *);
    /* Around the undoing of the ledger: leave the core as device->leave says. */
    bool (*before_undo)(struct device *, const struct deadline *, struct error *);
    bool (*after_undo)(struct device *, const struct deadline *, struct error *);
};

/* --- by the core's debug registers ---------------------------------------------------------------------- */

/* A core that lost power since it was last read hides its registers. Reading the register that reports the
 * loss shows them again. */
static bool device_read_status(struct device *device, const struct core *core, uint64_t *status,
                               const struct deadline *deadline, struct error *error)
{
    uint64_t ignored;
    struct error unread = {0}, unseen = {0};
    if (ledger_read(device->ledger, core_status_register(core), status, deadline, &unread))
        return true;
    bool refused = error_is_refusal(&unread);
    if (refused && core_has(core, DEBUG_COMPONENT) &&
        ledger_read(device->ledger, core_reset_register(core), &ignored, deadline, &unseen))
        return ledger_read(device->ledger, core_status_register(core), status, deadline, error);
    return error_copy(error, &unread);
}

static bool look_by_registers(struct device *device, struct device_core *core,
                              const struct deadline *deadline, struct error *error)
{
    uint64_t status;
    struct error unread = {0};
    core->state = CORE_HIDDEN;
    if (!device_read_status(device, &core->core, &status, deadline, &unread)) {
        bool refused = error_is_refusal(&unread);
        return (refused && core_has(&core->core, HIDES)) || error_copy(error, &unread);
    }
    core->status = status;
    core->state = core_state_of(&core->core, status);
    if (core->state == CORE_HALTED && core_unreadable(&core->core, status) != NULL)
        (void)core_take_state(&core->core, !core_has(&core->core, WIDE_REGISTERS));
    bool reads_pc = !core_has(&core->core, BORROWS_REGISTERS) || !device->keeps_registers;
    if (core->state != CORE_HALTED || core_unreadable(&core->core, status) != NULL || !reads_pc)
        return true;
    if (!run_allow_commands(device->ledger, &core->core, error) ||
        !run_read_register(device->ledger, &core->core, CORE_PC, &core->halted_at, deadline, error))
        return false;
    core->halted_at = core_code_place(core->halted_at);
    return true;
}

static bool tell_core(struct device *device, void (*add)(const struct core *, struct steps *),
                      const struct deadline *deadline, struct error *error)
{
    return run_add(device->ledger, &device->chosen->core, add, deadline, error);
}

/* On A and R cores a server that inspects a halted core uses its registers; it must not while we do. */
static bool hold_server(struct device *device, struct error *error)
{
    struct step halted;
    bool uses = device->debugger == NULL && core_halted_test(&device->chosen->core, &halted);
    link_hold_while(device->link, uses ? &halted : NULL);
    return link_hold(device->link, true, error);
}

bool device_server_has(struct device *device, bool *has, struct error *error)
{
    struct link_view views[TARGET_VIEWS];
    *has = false;
    if (!link_has_server(device->link))
        return true;
    size_t n = link_views(device->link, views, TARGET_VIEWS, error);
    for (size_t i = 0; i < n; i++)
        *has = *has || (views[i].unit == device->chosen->server_unit && views[i].state == VIEW_HALTED);
    return n > 0;
}

struct own_breakpoint device_own_breakpoint(const struct device *device, uint64_t pc,
                                            const struct deadline *deadline)
{
    const struct core *core = &device->chosen->core;
    struct own_breakpoint own = own_breakpoint_at(device->ledger, core, device->symbols, pc, deadline);
    return own.code.name != NULL ? own : own_stops_find(device->ledger, core, pc, deadline);
}

bool device_debug_is_ours(const struct device *device)
{
    return device->debugger == NULL && !link_has_server(device->link) &&
           own_breakpoint_is_by_us(device->ledger, &device->chosen->core);
}

/* After a semihosting call, which nothing answers here: the core would only stop there again. */
static bool let_go_on(struct device *device, const struct deadline *deadline, struct error *error)
{
    uint64_t pc = device->chosen->halted_at;
    if (link_has_server(device->link))
        return true;
    return (!device_own_breakpoint(device, pc, deadline).is_call ||
            own_breakpoint_skip(device->ledger, &device->chosen->core, pc, deadline, error)) &&
           tell_core(device, core_add_let_go, deadline, error);
}

/* A core that halts again at once counts nothing. */
static bool check_goes_on(struct device *device, const struct deadline *deadline, struct error *error)
{
    enum { GLANCE_US = 5000 };
    const struct core *core = &device->chosen->core;
    uint64_t status;
    deadline_nap_us(GLANCE_US);
    if (!ledger_read(device->ledger, core_status_register(core), &status, deadline, error))
        return false;
    return core_state_of(core, status) != CORE_HALTED ||
           error_advise(
               error, ERROR_HALTED,
               "pmu-probe restore --force removes breakpoints; pmu-probe reset starts the program anew.",
               "the core, resumed at 0x%08" PRIX64
               ", halted again at once: a breakpoint is there or soon after",
               device->chosen->halted_at);
}

static bool take_by_registers(struct device *device, bool resume, const struct deadline *deadline,
                              struct error *error)
{
    bool halted = device->chosen->state == CORE_HALTED;
    ledger_sync(device->ledger);
    if (halted && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at 0x%08" PRIX64,
                         device->chosen->halted_at);
    if (halted) {
        device_leave_as(device, LEAVE_HALTED_AGAIN);
        if (!link_server_run(device->link, device->chosen->server_unit, true, deadline, error))
            return false;
    }
    device->server_held = hold_server(device, error);
    if (!device->server_held)
        return false;
    return !halted || (let_go_on(device, deadline, error) && check_goes_on(device, deadline, error));
}

static bool halt_again(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->chosen == NULL)
        return true;
    if (!link_server_run(device->link, device->chosen->server_unit, false, deadline, error) ||
        (!link_has_server(device->link) && !tell_core(device, core_add_halt, deadline, error)))
        return false;
    device->leave = LEAVE_AS_IT_IS;
    return true;
}

/* Without a server nothing else can halt a core whose debug is about to be switched off. */
static bool halt_without_server(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->chosen == NULL || device->leave != LEAVE_HALTED_AGAIN || link_has_server(device->link))
        return true;
    ledger_keep_at_end(device->ledger, core_debug_enable(&device->chosen->core));
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

/* A server may say that it halted a core that was halted already: the core's own register knows better. A
 * Cortex-M's register does not, for the first read clears it. */
static bool stood_already(struct device *device, const struct core *core, bool *stood,
                          const struct deadline *deadline, struct error *error)
{
    struct step items[4];
    uint64_t values[4];
    struct steps list = {.items = items, .room = 4};
    *stood = device->debugger->facts.was_halted;
    if (*stood || !core_has_run_control(core) || core_has(core, STATUS_FORGETS))
        return true;
    size_t at = core_add_cause(core, &list);
    if (!ledger_run(device->ledger, &list, values, deadline, error))
        return false;
    enum stop_cause cause = core_cause(core, values[at], 0);
    *stood = cause == STOP_BREAKPOINT || cause == STOP_WATCHPOINT || cause == STOP_FAULT;
    return true;
}

/* The state is the one before the debugger connected, in which the debugger will leave the core. */
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
    char name[8];
    core_register_name(&core->core, CORE_PC, name, sizeof name);
    return !stood || debugger->ops->read_register(debugger, name, &core->halted_at, deadline, error);
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

static bool tell_debugger(struct device *device, const struct deadline *deadline, struct error *error)
{
    (void)deadline;
    (void)error;
    device->debugger->stays_halted |= device->leave != LEAVE_AS_IT_IS;
    device->debugger->undoing = true;
    return true;
}

static bool nothing_left(struct device *device, const struct deadline *deadline, struct error *error)
{
    (void)device;
    (void)deadline;
    (void)error;
    return true;
}

static const struct run_control *control_of(const struct device *device)
{
    static const struct run_control by_registers = {.look = look_by_registers,
                                                    .take = take_by_registers,
                                                    .before_undo = halt_without_server,
                                                    .after_undo = halt_by_server};
    static const struct run_control by_debugger = {.look = look_by_debugger,
                                                   .take = take_by_debugger,
                                                   .before_undo = tell_debugger,
                                                   .after_undo = nothing_left};
    return device->debugger != NULL ? &by_debugger : &by_registers;
}

bool device_refuse_debugger(const char *what, const char *more, struct error *error)
{
    return error_advise(error, ERROR_USAGE, "", "%s needs OpenOCD's Tcl port or a CMSIS-DAP probe%s", what,
                        more);
}

bool device_has_run_control(const struct device *device)
{
    return device->debugger == NULL && core_has_run_control(&device->chosen->core);
}

bool device_sees_running(const struct device *device)
{
    return device->debugger == NULL;
}

/* --- finding the cores ---------------------------------------------------------------------------------- */

/* Security stays unknown if the register cannot be read. False only when the link fails. */
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
    return error_is_refusal(&unread) || error_copy(error, &unread);
}

/* A block that refuses to be read is listed all the same, and doctor shows why. */
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
        if (!error_is_refusal(&unread))
            return error_copy(error, &unread);
        *block = (struct counter_block){.kind = kinds[i]};
        snprintf(block->text, sizeof block->text, "not identified");
        snprintf(block->unusable, sizeof block->unusable, "registers not readable");
        core->n_blocks++;
    }
    return true;
}

/* Finds cores and buses, which are the device's even after a failure. */
static bool device_find(struct device *device, const struct device_request *request,
                        const struct deadline *deadline, struct error *error)
{
    struct link_view views[TARGET_VIEWS];
    struct found found = {
        .ledger = device->ledger, .deadline = deadline, .error = error, .views = views, .passed_over = -1};
    found.n_views = link_views(device->link, views, TARGET_VIEWS, error);
    if (found.n_views == 0)
        return error_set(error, ERROR_NO_CORE, "the link shows no target");
    found.room = found.n_views > TARGET_CORES ? found.n_views : TARGET_CORES;
    found.cores = device->cores = calloc(found.room, sizeof *found.cores);
    found.buses = device->buses = calloc(TARGET_BUSES, sizeof *found.buses);
    if (found.cores == NULL || found.buses == NULL)
        return error_memory(error);
    bool done = discovery_m_run(&found) && discovery_run(&found) && discovery_place(&found, request);
    if (done && found.n_cores == 0)
        done = nothing_found(&found, &device->nothing);
    device->room = found.room;
    device->n_cores = found.n_cores;
    device->n_buses = found.n_buses;
    device->cores_cut = found.cores_cut;
    device->buses_cut = found.buses_cut;
    device->preferred = found.preferred;
    device->passed_over = found.passed_over;
    return done;
}

bool device_open(struct device *device, struct link *link, const struct device_request *request,
                 const struct deadline *deadline, struct error *error)
{
    *device = (struct device){
        .link = link, .debugger = link_debugger(link), .keeps_registers = request->keeps_registers};
    device->ledger = ledger_new(link);
    if (device->ledger == NULL)
        return error_memory(error);
    if (!device_find(device, request, deadline, error))
        return false;
    for (size_t i = 0; i < device->n_cores; i++)
        if (!control_of(device)->look(device, &device->cores[i], deadline, error) ||
            !look_at_security(device, &device->cores[i].core, deadline, error) ||
            !identify_blocks(device, &device->cores[i], deadline, error))
            return false;
    return true;
}

/* --- choosing one --------------------------------------------------------------------------------------- */

static size_t debugged_core(const struct device *device, size_t otherwise)
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

static bool check_core(const struct device *device, size_t number, struct error *error)
{
    return device->debugger == NULL || has_core(device, &device->cores[number]) ||
           error_set(error, ERROR_NO_CORE, "this port of the GDB server is %s, not core %zu",
                     device->debugger->facts.core, number);
}

/* --- counters of another link --------------------------------------------------------------------------- */

static bool counts_remotely(const struct device *device)
{
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only)
            return true;
    return false;
}

static struct device_core *device_find_cpu(const struct device *device, unsigned cpu)
{
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only && device->cores[i].core.unit == cpu)
            return &device->cores[i];
    return NULL;
}

/* Where there is only one there is no choice. */
static struct device_core *find_only(const struct device *device)
{
    struct device_core *only = NULL;
    for (size_t i = 0; i < device->n_cores; i++)
        if (device->cores[i].view.counts_only && only != NULL)
            return NULL;
        else if (device->cores[i].view.counts_only)
            only = &device->cores[i];
    return only;
}

static bool choose_remote(struct device *device, int number, struct error *error)
{
    const struct debugger_facts *facts = device->debugger != NULL ? &device->debugger->facts : NULL;
    size_t chosen = debugged_core(device, (size_t)device->preferred);
    if (device->cores[chosen].view.counts_only)
        return error_set(error, ERROR_NO_CORE, "%s", discovery_nothing);
    device->chosen = &device->cores[chosen];
    bool told = facts != NULL && facts->has_cpu;
    unsigned cpu = number >= 0 ? (unsigned)number : told ? facts->cpu : 0;
    device->remote = number >= 0 || told ? device_find_cpu(device, cpu) : find_only(device);
    if (device->remote != NULL)
        return check_core(device, chosen, error);
    if (number < 0 && !told)
        return error_set(error, ERROR_USAGE, "the program's CPU is not known: -C N names it");
    return error_set(error, ERROR_NO_CORE, "--counters shows no CPU %u%s", cpu,
                     number >= 0 ? "" : ", where the program is");
}

static bool no_such_core(const struct device *device, int number, struct error *error)
{
    const struct core *last = &device->cores[device->n_cores - 1].core;
    unsigned port = (unsigned)device->passed_over & 0xFFU;
    char other[160] = "";
    if (device->passed_over >= 0)
        snprintf(other, sizeof other,
                 ". Access port %u may have another: off, protected, or in no ROM table (--debug-base "
                 "%u:0x%08X takes that)",
                 port, port, (unsigned)DISCOVERY_M_SCS);
    return error_set(error, ERROR_NO_CORE, "there is no core %d: the last one%s is core %zu%s", number,
                     device->cores_cut ? " that is read" : "",
                     last->numbered_by_unit ? (size_t)last->unit : device->n_cores - 1, other);
}

bool device_choose(struct device *device, int number, struct error *error)
{
    if (device->n_cores == 0)
        return error_copy(error, &device->nothing);
    if (counts_remotely(device))
        return choose_remote(device, number, error);
    size_t chosen = number < 0 ? debugged_core(device, device->preferred) : (size_t)number;
    if (number >= 0 && device->cores[0].core.numbered_by_unit)
        for (chosen = 0; chosen < device->n_cores && device->cores[chosen].core.unit != number;)
            chosen++;
    if (chosen >= device->n_cores)
        return no_such_core(device, number, error);
    device->chosen = &device->cores[chosen];
    return check_core(device, chosen, error);
}

const char *device_remote_advice(const struct device *device)
{
    return device->remote == NULL ? ""
                                  : "; events with :u count no kernel, and nothing else must run on that CPU";
}

bool device_check_remote(const struct device *device, const struct debugger_stop *stop, struct error *error)
{
    if (device->remote == NULL || !stop->has_cpu || device->remote->core.unit == stop->cpu)
        return true;
    return error_advise(error, ERROR_NO_COUNTER, "",
                        "the program was on CPU %u, and CPU %u is counted: use taskset -c", stop->cpu,
                        (unsigned)device->remote->core.unit);
}

/* --- taking it, and leaving it -------------------------------------------------------------------------- */

/* Locks hide a PMU until they are opened. The ledger closes them again. */
static bool open_locks(struct device *device, const struct deadline *deadline, struct error *error)
{
    struct device_core *core = device->chosen;
    if (!core_has(&core->core, HIDES))
        return true;
    /* Without a PMU on the bus the core is halted for each reading, and resets are caught. */
    bool only_looks = device->looks_only || core->core.pmu_base != 0;
    if (!settings_apply_core(device->ledger, &core->core, only_looks ? APPLY_TO_LOOK : APPLY_ALL, deadline,
                             error))
        return false;
    if (core->state != CORE_HIDDEN)
        return identify_blocks(device, core, deadline, error);
    if (!control_of(device)->look(device, core, deadline, error))
        return false;
    if (core->state == CORE_HIDDEN)
        return error_set(error, ERROR_ASLEEP, "the core's debug registers refuse to be read");
    return identify_blocks(device, core, deadline, error);
}

static bool reach_core(struct device *device, const struct deadline *deadline, struct error *error)
{
    if (device->chosen->state == CORE_LOCKUP)
        return error_lockup(error);
    if (!device->watches_resets)
        device_watch_resets(device);
    if (!run_allow_commands(device->ledger, &device->chosen->core, error) ||
        !open_locks(device, deadline, error))
        return false;
    device_note_uses(device, device->chosen->blocks, device->chosen->n_blocks);
    return true;
}

bool device_keep(struct device *device, const struct deadline *deadline, struct error *error)
{
    ledger_sync(device->ledger);
    device->server_held = reach_core(device, deadline, error) && hold_server(device, error);
    return device->server_held;
}

bool device_hold_control(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    if (device->debugger != NULL || !core_has_run_control(core) || !core_has(core, BORROWS_REGISTERS))
        return true;
    struct setting on = core_comparators_on(core);
    return ledger_hold(device->ledger, on.at, on.restore, NULL, deadline, error);
}

bool device_take(struct device *device, bool resume, const char *place, const struct deadline *deadline,
                 struct error *error)
{
    if (device->chosen->state == CORE_HALTED && !resume)
        return error_set(error, ERROR_HALTED, "the core is halted at %s", place);
    return reach_core(device, deadline, error) && control_of(device)->take(device, resume, deadline, error);
}

bool device_run_for(struct device *device, int ms, const struct deadline *deadline, struct error *error)
{
    if (device->debugger != NULL)
        return debugger_run_for(device->debugger, ms, deadline, error);
    deadline_nap_us(INT64_C(1000) * ms);
    return true;
}

/* Who finds the core halted must find debug enabled, and the reason of the stop. */
static void keep_stop(struct device *device)
{
    const struct core *core = &device->chosen->core;
    if (!core_has_run_control(core))
        return;
    ledger_keep_at_end(device->ledger, core_debug_enable(core));
    ledger_keep_at_end(device->ledger, core_cause_register(core));
}

/* Whether a reset would halt the core only because of us. */
static bool catches_resets(const struct device *device)
{
    return device->chosen != NULL && device->debugger == NULL && device->leave == LEAVE_AS_IT_IS &&
           device->chosen->state == CORE_RUNNING &&
           settings_catch_is_left(device->ledger, &device->chosen->core);
}

/* A reset after the engine let the core go, and before its catch was undone. The check of the witness may
 * have seen it already, and then the register no longer shows it. */
static bool leave_reset(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct step items[4];
    uint64_t results[4], status;
    struct steps list = {.items = items, .room = 4};
    struct error unread = {0};
    size_t at = core_add_reset_since(core, &list);
    if (!ledger_run(device->ledger, &list, results, deadline, &unread) ||
        !(device->was_reset || core_reset_since(core, results[at])))
        return true;
    bool hides = core_has(core, HIDES); /* by now its locks are closed */
    if (hides && !settings_apply_core(device->ledger, core, APPLY_TO_LOOK, deadline, error))
        return false;
    bool theirs = false; /* another client of the server wants it halted */
    bool halted = ledger_read(device->ledger, core_status_register(core), &status, deadline, &unread) &&
                  core_state_of(core, status) == CORE_HALTED &&
                  !(device_server_has(device, &theirs, &unread) && theirs);
    return (!halted || !hides || settings_switch_on_comparators(device->ledger, core, deadline, error)) &&
           (!halted || tell_core(device, core_add_let_go, deadline, error)) &&
           (!hides || ledger_undo(device->ledger, deadline, error));
}

bool device_stands(struct device *device, uint64_t *pc, const struct deadline *deadline)
{
    struct error unread = {0};
    if (device->debugger != NULL || !look_by_registers(device, device->chosen, deadline, &unread) ||
        device->chosen->state != CORE_HALTED)
        return false;
    *pc = device->chosen->halted_at;
    return true;
}

/* The program made a semihosting call because it saw our debug, or its own comparator stopped it. Not resumed
 * here, where it could make the next one: it goes on as debug is switched off. For a comparator that a server
 * would see, too, it goes on at once. */
static void go_past_own_stop(struct device *device, const struct deadline *deadline)
{
    struct error unread = {0};
    uint64_t pc;
    if (device->leave != LEAVE_HALTED_FOREIGN || device->debugger != NULL)
        return;
    const struct core *core = &device->chosen->core;
    bool ours = device_debug_is_ours(device), can_skip = ours && core_can_skip(core);
    /* To read the PC of other cores executes instructions on them, which their debugger does not expect */
    if ((!can_skip && !core_has(core, SYSTEM_SPACE)) || !device_stands(device, &pc, deadline))
        return;
    struct own_breakpoint own = device_own_breakpoint(device, pc, deadline);
    bool goes = own.is_comparator || device->at_own_stop;
    if (can_skip && own.is_call)
        goes = own_breakpoint_skip(device->ledger, core, pc, deadline, &unread);
    else if (!ours && goes)
        goes = tell_core(device, core_add_let_go, deadline, &unread);
    if (goes)
        device->leave = LEAVE_AS_IT_IS;
}

bool device_undo(struct device *device, const struct deadline *deadline, struct error *error)
{
    const struct run_control *control = control_of(device);
    if (device->ledger == NULL)
        return true;
    bool catches = catches_resets(device);
    if (device->halted_access != NULL)
        halted_access_undo(device->halted_access);
    go_past_own_stop(device, deadline);
    if (device->chosen != NULL && device->leave >= LEAVE_HALTED_RESET)
        keep_stop(device);
    if (device->leave != LEAVE_AS_IT_IS)
        link_leave_power(device->link, LINK_POWER_UP);
    if (device->chosen != NULL)
        settings_undo_counters(device->ledger, &device->chosen->core, deadline);
    if (!control->before_undo(device, deadline, error) || !ledger_undo(device->ledger, deadline, error) ||
        (catches && !leave_reset(device, deadline, error)))
        return false;
    if (device->server_held && !link_hold(device->link, false, error))
        return false;
    device->server_held = device->was_reset = device->watches_resets = device->kept_halted = false;
    if (device->chosen != NULL && !run_end_loans(device->ledger, &device->chosen->core, deadline, error))
        return false;
    if (!control->after_undo(device, deadline, error))
        return false;
    device->leave = LEAVE_AS_IT_IS;
    if (device->debugger == NULL) /* that lets the core go only at the link's end */
        ledger_end_journal(device->ledger);
    return true;
}

bool device_check_left(const struct device *device, struct error *error)
{
    return device->halted_access == NULL || halted_access_check_stays(device->halted_access, error);
}

void device_close(struct device *device)
{
    halted_access_free(device->halted_access);
    ledger_free(device->ledger);
    free(device->buses);
    device->halted_access = NULL;
    free(device->cores);
    device->buses = NULL;
    device->cores = NULL;
    device->ledger = NULL;
}
