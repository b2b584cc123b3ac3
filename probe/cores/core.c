#include "cores/core.h"

static struct address word(uint16_t unit, uint64_t offset)
{
    return (struct address){.space = SPACE_MEMORY, .size = 4, .unit = unit, .offset = offset};
}

uint64_t core_code(const struct core *core, uint64_t address, bool thumb)
{
    return core_place(core, address) | (core->family == CORE_ARMV7 && thumb ? 1 : 0);
}

uint64_t core_code_of_lr(const struct core *core, uint64_t lr)
{
    return core_code(core, lr, (lr & 1) != 0);
}

uint64_t core_code_place(uint64_t code)
{
    return code & ~UINT64_C(1);
}

uint64_t core_place(const struct core *core, uint64_t code)
{
    return core->family == CORE_X86_64 ? code : core_code_place(code);
}

/* A field a kind of debug and security state; 2 is "there, not allowed", 3 allowed. What does not say either
 * is taken for allowed. DDI 0406C C11.11, DDI 0487 H9.2. */
bool core_may_halt(uint32_t authstatus)
{
    unsigned other = authstatus & 3, secure = authstatus >> 4 & 3;
    return other == 3 || secure == 3 || (other != 2 && secure != 2);
}

bool core_keeps_secure(const struct core *core, uint32_t authstatus)
{
    return core->processes && core_may_halt(authstatus) && (authstatus >> 4 & 3) == 2;
}

uint64_t core_register_value(const struct core *core, enum core_register which, const uint64_t *results,
                             size_t at)
{
    return core->ops->register_value == NULL ? results[at]
                                             : core->ops->register_value(core, which, results, at);
}

void core_begin_proofs(const struct core *core, struct steps *list, struct core_proof *proofs, size_t n)
{
    const struct core_ops *ops = core->ops;
    if (ops->add_proofs != NULL) {
        ops->add_proofs(core, list, proofs, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (ops->add_registers_done == NULL)
            ops->add_expect_register(core, list, proofs[i].which, proofs[i].value, false);
        else
            proofs[i].at = ops->add_register(core, list, proofs[i].which);
    }
    if (ops->add_registers_done != NULL)
        ops->add_registers_done(core, list);
}

void core_end_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs, size_t n)
{
    for (size_t i = 0; i < n && core->ops->add_registers_done != NULL; i++)
        steps_add(list, step_check(list->n - proofs[i].at, UINT64_MAX, proofs[i].value));
}

const char *core_may_be_unseen(const struct core *core)
{
    if (core->keeps_secure)
        return "; Secure code would not stop there, for SPIDEN is low (pmu-probe doctor)";
    return core->security == SECURITY_HIDDEN
               ? ". The chip allows no Secure debug (DAUTHSTATUS): Secure code is never stopped"
               : "";
}

void core_add_let_go(const struct core *core, struct steps *list)
{
    if (core->ops->add_hold != NULL)
        core->ops->add_hold(core, list, false);
    core->ops->add_run(core, list);
}

struct address core_word(const struct core *core, uint64_t offset)
{
    return word(core->memory_unit, offset);
}

struct address core_debug(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->debug_base + offset);
}

struct address core_pmu(const struct core *core, uint64_t offset)
{
    return word(core->pmu_unit, core->pmu_base + offset);
}

struct address core_cti(const struct core *core, uint64_t offset)
{
    return word(core->unit, core->cti_base + offset);
}
