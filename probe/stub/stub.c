/* SPDX-License-Identifier: MIT */
#include "stub/stub.h"

#include "base/arm_debug.h"
#include "cores/cortex_m.h"
#include "device/halted_access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One way to do the stub's work: by the PMU's registers, or by the DWT's. */
struct stub_way {
    bool (*look)(struct stub *, struct stub_state *out, struct error *);
    /* Through the ledger, so that it is undone unless `stays` follows. */
    bool (*enable)(struct stub *, const struct stub_state *found, struct error *);
    bool (*disable)(struct stub *, const struct stub_state *found, struct error *);
};

/* Bits of PMCR, and of PMCNTENSET, PMCNTENCLR and PMUSERENR. */
enum {
    PMCR_E = 1 << 0,
    PMCR_P = 1 << 1,
    PMCR_C = 1 << 2,
    PMCR_D = 1 << 3,
    PMCR_DP = 1 << 5, /* where events are prohibited, as in Secure state, cycles stop too */
    PMCR_LC = 1 << 6,
    PMUSERENR_EN = 1 << 0
};
static const uint32_t CYCLES = UINT32_C(1) << 31;

/* Cortex-M, DDI 0403E C1.7.4, C1.8.7 and C1.8.17. */
enum { CYCCNTENA = 1 << 0, FUNCTION = 0xF };
static const uint32_t TRACED = 0x7F1001; /* of DWT_CTRL: all that counts, samples or makes packets */

static struct address pmu_word(const struct stub *stub, uint32_t offset)
{
    const struct core *core = &stub->device->chosen->core;
    return stub->by_core                  ? pmu_by_core(core, offset)
           : core_has(core, SYSTEM_SPACE) ? core_word(core, M_PMU + offset)
                                          : core_pmu(core, offset);
}

static bool stub_read_word(struct stub *stub, struct address at, uint32_t *out, struct error *error)
{
    uint64_t value;
    if (!ledger_read(stub->device->ledger, at, &value, stub->deadline, error))
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool change(struct stub *stub, struct address at, uint64_t value, struct restore restore,
                   struct error *error)
{
    if (stub->n_changed == sizeof stub->changed / sizeof *stub->changed)
        return error_set(error, ERROR_SYSTEM, "too many registers");
    stub->changed[stub->n_changed++] = at;
    return ledger_write(stub->device->ledger, at, value, restore, stub->deadline, error);
}

static void stays(struct stub *stub)
{
    while (stub->n_changed > 0)
        ledger_forget(stub->device->ledger, stub->changed[--stub->n_changed]);
}

/* --- the trace system of a Cortex-M --------------------------------------------------------------------- */

static bool switch_trace_on(struct stub *stub, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t demcr;
    if (!core_has(core, SYSTEM_SPACE))
        return true;
    return stub_read_word(stub, core_word(core, DEMCR), &demcr, error) &&
           ((demcr & DEMCR_TRCENA) != 0 ||
            change(stub, core_word(core, DEMCR), demcr | DEMCR_TRCENA, (struct restore){0}, error));
}

/* Unless something else uses it, or a server switched it on for itself. */
static bool switch_trace_off(struct stub *stub, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t demcr, control, itm;
    if (!core_has(core, SYSTEM_SPACE))
        return true;
    if (!stub_read_word(stub, core_word(core, DEMCR), &demcr, error) ||
        !stub_read_word(stub, core_word(core, DWT_CTRL), &control, error) ||
        !stub_read_word(stub, core_word(core, ITM_TCR), &itm, error))
        return false;
    bool used = (control & TRACED) != 0 || (itm & ITM_ITMENA) != 0 || (demcr & DEMCR_TRCENA) == 0 ||
                link_has_server(stub->device->link);
    for (unsigned i = 0; i < watchpoints_count(control) && !used; i++) {
        uint32_t function;
        if (!stub_read_word(stub, watchpoints_function(core, i), &function, error))
            return false;
        used = (function & FUNCTION) != 0;
    }
    return used ||
           change(stub, core_word(core, DEMCR), demcr & ~(uint32_t)DEMCR_TRCENA, (struct restore){0}, error);
}

static bool trace_is_on(struct stub *stub, bool *on, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t demcr = DEMCR_TRCENA;
    if (core_has(core, SYSTEM_SPACE) && !stub_read_word(stub, core_word(core, DEMCR), &demcr, error))
        return false;
    *on = (demcr & DEMCR_TRCENA) != 0;
    return true;
}

/* --- the PMU -------------------------------------------------------------------------------------------- */

static bool look_at_pmu(struct stub *stub, struct stub_state *out, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t control, enabled, user = 0;
    bool traced, has_user = !core_has(core, SYSTEM_SPACE);
    if (!trace_is_on(stub, &traced, error) || !stub_read_word(stub, pmu_word(stub, PMCR), &control, error) ||
        !stub_read_word(stub, pmu_word(stub, PMCNTENSET), &enabled, error) ||
        (has_user && !stub_read_word(stub, pmu_word(stub, PMUSERENR), &user, error)))
        return false;
    *out = (struct stub_state){.has_user = has_user,
                               .user = (user & PMUSERENR_EN) != 0,
                               .enabled = traced && (control & PMCR_E) != 0,
                               .cycles = (enabled & CYCLES) != 0,
                               .events = enabled & ~CYCLES};
    int used =
        snprintf(out->registers, sizeof out->registers, "%s 0x%08" PRIX32 ", %s 0x%08" PRIX32,
                 has_user ? "PMCR" : "PMU_CTRL", control, has_user ? "PMCNTENSET" : "PMU_CNTENSET", enabled);
    if (has_user)
        snprintf(out->registers + used, sizeof out->registers - (size_t)used, ", PMUSERENR 0x%08" PRIX32,
                 user);
    return true;
}

/* The PMU ignores writes while its software lock is closed. The ledger closes the lock again. */
static bool open_lock(struct stub *stub, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    const struct setting lock = core_open_lock(pmu_word(stub, CORESIGHT_LAR), pmu_word(stub, CORESIGHT_LSR));
    return stub->by_core || core_has(core, SYSTEM_SPACE) ||
           ledger_apply(stub->device->ledger, &lock, stub->deadline, error);
}

static bool set_user(struct stub *stub, const struct stub_state *found, bool user, struct error *error)
{
    uint32_t now;
    if (!found->has_user || found->user == user)
        return true;
    return stub_read_word(stub, pmu_word(stub, PMUSERENR), &now, error) &&
           change(stub, pmu_word(stub, PMUSERENR), now ^ PMUSERENR_EN, (struct restore){0}, error);
}

/* At EL2 nothing is counted unless the counter is set to: PMCCFILTR.NSH. What is external is so on all Armv8
 * cores, and has its own lock. */
static bool set_hypervisor(struct stub *stub, bool on, struct error *error)
{
    enum { NSH = 1 << 27 };
    const struct core *core = &stub->device->chosen->core;
    const struct setting lock = core_open_lock(core_pmu(core, CORESIGHT_LAR), core_pmu(core, CORESIGHT_LSR));
    const struct halted_access *halted = stub->device->halted_access;
    uint32_t filter;
    if (!stub->by_core || core_mapped_pmu(core) != PMU_V3 || halted == NULL ||
        !halted_access_in_hypervisor(halted))
        return true;
    return ledger_apply(stub->device->ledger, &lock, stub->deadline, error) &&
           stub_read_word(stub, core_pmu(core, PMCCFILTR), &filter, error) &&
           (((filter & NSH) != 0) == on ||
            change(stub, core_pmu(core, PMCCFILTR), filter ^ NSH, (struct restore){0}, error));
}

static struct restore of_pair(const struct stub *stub)
{
    return (struct restore){.how = RESTORE_PAIR, .mask = CYCLES, .clear = pmu_word(stub, PMCNTENCLR)};
}

/* P and C, which would reset counters, are never written. */
static bool set_control(struct stub *stub, bool on, struct error *error)
{
    bool wide = core_has(&stub->device->chosen->core, WIDE_REGISTERS);
    uint64_t control, with_e = PMCR_E | (wide ? PMCR_LC : 0);
    if (!ledger_read(stub->device->ledger, pmu_word(stub, PMCR), &control, stub->deadline, error))
        return false;
    if (((control & PMCR_E) != 0) == on)
        return true;
    control &= ~(with_e | PMCR_P | PMCR_C | (on ? PMCR_D | PMCR_DP : 0));
    return change(stub, pmu_word(stub, PMCR), control | (on ? with_e : 0),
                  (struct restore){.mask = ~(uint64_t)(PMCR_P | PMCR_C)}, error);
}

static bool enable_pmu(struct stub *stub, const struct stub_state *found, struct error *error)
{
    return switch_trace_on(stub, error) && open_lock(stub, error) && set_user(stub, found, true, error) &&
           set_hypervisor(stub, true, error) &&
           (found->cycles || change(stub, pmu_word(stub, PMCNTENSET), CYCLES, of_pair(stub), error)) &&
           set_control(stub, true, error);
}

static bool disable_pmu(struct stub *stub, const struct stub_state *found, struct error *error)
{
    const struct restore nothing_came_up = {.how = RESTORE_CLEAR_NEW, .mask = CYCLES};
    if (!open_lock(stub, error) || !set_user(stub, found, false, error))
        return false;
    if (found->events != 0)
        return true;
    if (found->cycles && (!change(stub, pmu_word(stub, PMCNTENSET), 0, of_pair(stub), error) ||
                          !change(stub, pmu_word(stub, PMCNTENCLR), CYCLES, nothing_came_up, error)))
        return false;
    return set_hypervisor(stub, false, error) && set_control(stub, false, error) &&
           switch_trace_off(stub, error);
}

static const struct stub_way by_pmu = {look_at_pmu, enable_pmu, disable_pmu};

/* --- the DWT -------------------------------------------------------------------------------------------- */

static bool look_at_dwt(struct stub *stub, struct stub_state *out, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t control;
    *out = (struct stub_state){.has_user = false};
    if (!trace_is_on(stub, &out->enabled, error) ||
        !stub_read_word(stub, core_word(core, DWT_CTRL), &control, error))
        return false;
    out->cycles = (control & CYCCNTENA) != 0;
    snprintf(out->registers, sizeof out->registers, "DEMCR.TRCENA %d, DWT_CTRL 0x%08" PRIX32, out->enabled,
             control);
    return true;
}

static bool set_cyccnt(struct stub *stub, bool on, struct error *error)
{
    const struct core *core = &stub->device->chosen->core;
    uint32_t control;
    return stub_read_word(stub, core_word(core, DWT_CTRL), &control, error) &&
           (((control & CYCCNTENA) != 0) == on ||
            change(stub, core_word(core, DWT_CTRL), control ^ CYCCNTENA, (struct restore){0}, error));
}

static bool enable_dwt(struct stub *stub, const struct stub_state *found, struct error *error)
{
    (void)found;
    return switch_trace_on(stub, error) && set_cyccnt(stub, true, error);
}

static bool disable_dwt(struct stub *stub, const struct stub_state *found, struct error *error)
{
    return !found->enabled || (set_cyccnt(stub, false, error) && switch_trace_off(stub, error));
}

static const struct stub_way by_dwt = {look_at_dwt, enable_dwt, disable_dwt};

/* --- which way ------------------------------------------------------------------------------------------ */

static bool has_block(const struct device_core *core, const char *name)
{
    for (size_t i = 0; i < core->n_blocks; i++)
        if (core->blocks[i].unusable[0] == '\0' && strcmp(core->blocks[i].kind->name, name) == 0)
            return true;
    return false;
}

bool stub_open(struct stub *stub, struct device *device, const struct deadline *deadline, struct error *error)
{
    *stub = (struct stub){.device = device, .deadline = deadline};
    if (device->debugger != NULL)
        return error_set(error, ERROR_STATE, "stub needs a probe or OpenOCD, not a GDB server");
    if (!device_keep(device, deadline, error))
        return false;
    const struct device_core *core = device->chosen;
    /* PMUSERENR_EL0 is not on the debug bus, nor a PMU in CP15 alone. */
    stub->by_core = core_has(&core->core, DEBUG_COMPONENT) &&
                    (core->core.ops->mapped_pmu == PMU_V3 || core->core.pmu_base == 0);
    if (stub->by_core || has_block(core, "pmu"))
        stub->way = &by_pmu;
    else if (core_has(&core->core, SYSTEM_SPACE) && has_block(core, "dwt"))
        stub->way = &by_dwt;
    if (stub->way == NULL)
        return error_advise(error, ERROR_NO_COUNTER, "", "this core has neither CYCCNT nor a PMU");
    return !stub->by_core || device_access_by_core(device, deadline, error);
}

bool stub_look(struct stub *stub, struct stub_state *out, struct error *error)
{
    return stub->way->look(stub, out, error);
}

bool stub_change(struct stub *stub, bool on, struct stub_state *found, struct stub_state *now,
                 struct error *error)
{
    if (!stub_look(stub, found, error) ||
        !(on ? stub->way->enable : stub->way->disable)(stub, found, error) || !stub_look(stub, now, error))
        return false;
    bool is_on = now->enabled && now->cycles && (now->user || !now->has_user),
         is_off = !now->user && (found->events != 0 || !now->cycles);
    if (on ? !is_on : !is_off)
        return error_advise(error, ERROR_NO_COUNTER, "pmu-probe doctor says what keeps them off.",
                            "the counters do not take it: %s", now->registers);
    stays(stub);
    return true;
}
