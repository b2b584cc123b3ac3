#include "target/stub.h"

#include "target/stub_way.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* target-stub/pushed_*.S: where its entries are, in words, and what they return. */
enum { ENABLE, DISABLE, STATUS };
enum { RETURNED_USER, RETURNED_CONTROL, RETURNED_ENABLED };

static const uint32_t code_v7[] = {
#include "target/stub_v7.inc"
};
static const uint32_t code_v8[] = {
#include "target/stub_v8.inc"
};

/* --- by code -------------------------------------------------------------------------------------------- */

static bool take_back(void *context, const struct deadline *deadline, struct error *error)
{
    struct stub *stub = context;
    uint64_t results[ERRAND_GENERAL];
    return errand_run(stub->errand, DISABLE, stub->before, results, deadline, error) ||
           error_prefix(error, "could not restore the monitor: ");
}

static bool look_by_code(struct stub *stub, struct stub_state *out, const struct deadline *deadline,
                         struct error *error)
{
    const uint64_t none[2] = {0};
    uint64_t results[ERRAND_GENERAL];
    if (!errand_run(stub->errand, STATUS, none, results, deadline, error))
        return false;
    uint32_t user = (uint32_t)results[RETURNED_USER] & ~STUB_CYCLES;
    uint32_t control = (uint32_t)results[RETURNED_CONTROL], enabled = (uint32_t)results[RETURNED_ENABLED];
    stub->before[0] = (uint32_t)results[RETURNED_USER];
    stub->before[1] = control;
    *out = (struct stub_state){.has_user = true,
                               .user = (user & STUB_EN) != 0,
                               .enabled = (control & STUB_E) != 0,
                               .cycles = (enabled & STUB_CYCLES) != 0,
                               .events = enabled & ~STUB_CYCLES};
    snprintf(out->registers, sizeof out->registers,
             "PMCR 0x%08" PRIX32 ", PMCNTENSET 0x%08" PRIX32 ", PMUSERENR 0x%08" PRIX32, control, enabled,
             user);
    return true;
}

static bool change_by_code(struct stub *stub, size_t entry, const uint64_t *arguments,
                           const struct deadline *deadline, struct error *error)
{
    uint64_t results[ERRAND_GENERAL];
    return ledger_owe(stub->target->ledger, (struct ledger_debt){stub, take_back}, error) &&
           errand_run(stub->errand, entry, arguments, results, deadline, error);
}

static bool enable_by_code(struct stub *stub, const struct stub_state *found, const struct deadline *deadline,
                           struct error *error)
{
    (void)found;
    return change_by_code(stub, ENABLE, stub->before, deadline, error);
}

/* LC is what the way in sets along with E. */
static bool disable_by_code(struct stub *stub, const struct stub_state *found,
                            const struct deadline *deadline, struct error *error)
{
    uint32_t with_e = STUB_E | (stub->target->chosen->core.family == CORE_ARMV8 ? STUB_LC : 0);
    uint64_t to[2] = {stub->before[0] & ~(uint64_t)STUB_EN, stub->before[1]};
    if (found->events == 0) {
        to[0] &= ~(uint64_t)STUB_CYCLES;
        to[1] &= ~(uint64_t)with_e;
    }
    return change_by_code(stub, DISABLE, to, deadline, error);
}

static void stays_by_code(struct stub *stub)
{
    ledger_forgive(stub->target->ledger, (struct ledger_debt){stub, take_back});
}

static const struct stub_way by_code = {look_by_code, enable_by_code, disable_by_code, stays_by_code};

static bool load_code(struct stub *stub, uint64_t at, const struct deadline *deadline, struct error *error)
{
    bool v7 = stub->target->chosen->core.family == CORE_ARMV7;
    stub->way = &by_code;
    stub->errand = errand_new(stub->target);
    if (stub->errand == NULL)
        return error_set(error, ERROR_SYSTEM, "out of memory");
    return v7 ? errand_load(stub->errand, code_v7, sizeof code_v7 / sizeof *code_v7, at, deadline, error)
              : errand_load(stub->errand, code_v8, sizeof code_v8 / sizeof *code_v8, at, deadline, error);
}

/* --- which way ------------------------------------------------------------------------------------------ */

static bool has_block(const struct target_core *core, const char *name)
{
    for (size_t i = 0; i < core->n_blocks; i++)
        if (core->blocks[i].unusable[0] == '\0' && strcmp(core->blocks[i].kind->name, name) == 0)
            return true;
    return false;
}

static const struct stub_way *way_by_registers(const struct target_core *core)
{
    if (core->core.family == CORE_ARMV8) /* PMUSERENR_EL0 is not among those that a debugger sees */
        return NULL;
    if (core->core.family == CORE_ARMV7 && core->core.pmu_base == 0) /* a PMU in CP15 alone */
        return NULL;
    if (has_block(core, "pmu"))
        return &stub_by_pmu;
    return core->core.family == CORE_M && has_block(core, "dwt") ? &stub_by_dwt : NULL;
}

bool stub_open(struct stub *stub, struct target *target, const uint64_t *at, const struct deadline *deadline,
               struct error *error)
{
    *stub = (struct stub){.target = target};
    if (target->debugger != NULL)
        return error_set(error, ERROR_STATE,
                         "stub goes through a probe or OpenOCD, not through a GDB server");
    if (!target_keep(target, deadline, error))
        return false;
    const struct target_core *core = target->chosen;
    stub->way = way_by_registers(core);
    if (core->core.family != CORE_M && (at != NULL || stub->way == NULL))
        return load_code(stub, at != NULL ? *at : 0, deadline, error);
    if (stub->way == NULL)
        return error_set(error, ERROR_NO_COUNTER,
                         "this core has neither CYCCNT nor a PMU: nothing is to be switched on");
    return at == NULL || error_set(error, ERROR_USAGE, "this core needs no code: leave the location out");
}

void stub_close(struct stub *stub)
{
    errand_free(stub->errand);
    stub->errand = NULL;
}

bool stub_look(struct stub *stub, struct stub_state *out, const struct deadline *deadline,
               struct error *error)
{
    return stub->way->look(stub, out, deadline, error);
}

bool stub_enable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                 const struct deadline *deadline, struct error *error)
{
    uint64_t before[2];
    if (!stub_look(stub, found, deadline, error))
        return false;
    memcpy(before, stub->before, sizeof before);
    if (!stub->way->enable(stub, found, deadline, error) || !stub_look(stub, now, deadline, error))
        return false;
    memcpy(stub->before, before, sizeof before);
    if ((now->has_user && !now->user) || !now->enabled || !now->cycles)
        return error_set(error, ERROR_NO_COUNTER, "the counters do not take it: %s", now->registers);
    stub->way->stays(stub);
    return true;
}

bool stub_disable(struct stub *stub, struct stub_state *found, struct stub_state *now,
                  const struct deadline *deadline, struct error *error)
{
    uint64_t before[2];
    if (!stub_look(stub, found, deadline, error))
        return false;
    memcpy(before, stub->before, sizeof before);
    if (!stub->way->disable(stub, found, deadline, error) || !stub_look(stub, now, deadline, error))
        return false;
    memcpy(stub->before, before, sizeof before);
    if (now->user || (found->events == 0 && now->cycles))
        return error_set(error, ERROR_NO_COUNTER, "the counters do not take it: %s", now->registers);
    stub->way->stays(stub);
    return true;
}

bool stub_leave_code(struct stub *stub, struct error *error)
{
    if (stub->errand == NULL)
        return error_set(error, ERROR_USAGE,
                         "no code is needed here: stub enable writes the registers itself");
    errand_leave_image(stub->errand);
    return true;
}
