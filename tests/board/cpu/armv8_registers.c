// The core's registers: those that the emulator has, and PSTATE and the stack pointers of the Exception
// levels, which are the board's.
#include "cpu/armv8.h"

uint64_t v8_get(const struct armv8 *v8, int unicorn_register)
{
    uint64_t value = 0;
    uc_reg_read(v8->uc, unicorn_register, &value);
    return value;
}

void v8_set(struct armv8 *v8, int unicorn_register, uint64_t value)
{
    uc_reg_write(v8->uc, unicorn_register, &value);
}

static int by_number(unsigned number)
{
    if (number >= 29)
        return number == 29 ? UC_ARM64_REG_X29 : UC_ARM64_REG_X30;
    return UC_ARM64_REG_X0 + (int)number;
}

uint64_t v8_x(const struct armv8 *v8, unsigned number)
{
    if (v8->aarch32)
        return a32_register(v8, number);
    return number < 31 ? v8_get(v8, by_number(number)) : 0;
}

void v8_set_x(struct armv8 *v8, unsigned number, uint64_t value)
{
    if (number < 31)
        v8_set(v8, by_number(number), value);
}

uint64_t v8_stack(const struct armv8 *v8)
{
    return v8->aarch32 ? a32_register(v8, 13) : v8_get(v8, UC_ARM64_REG_SP);
}

uint32_t v8_pstate(const struct armv8 *v8)
{
    if (v8->aarch32)
        return a32_cpsr(v8);
    return ((uint32_t)v8_get(v8, UC_ARM64_REG_NZCV) & PSTATE_NZCV) | v8->daif | v8->level << 2 |
           (v8->handler_stack ? PSTATE_SPSEL : 0);
}

static unsigned stack_in_use(const struct armv8 *v8)
{
    return v8->handler_stack ? v8->level : 0;
}

void v8_set_pstate(struct armv8 *v8, uint32_t value)
{
    if (v8->user32 && v8->aarch32 && !(value & PSTATE_NRW))
        a32_leave_user(v8);
    if (v8->aarch32) {
        a32_set_cpsr(v8, value);
        return;
    }
    v8->sp[stack_in_use(v8)] = v8_get(v8, UC_ARM64_REG_SP);
    v8->daif = value & PSTATE_DAIF;
    v8->level = (value & PSTATE_LEVEL) >> 2;
    v8->handler_stack = v8->level && (value & PSTATE_SPSEL);
    v8_set(v8, UC_ARM64_REG_SP, v8->sp[stack_in_use(v8)]);
    v8_set(v8, UC_ARM64_REG_NZCV, value & PSTATE_NZCV);
    v8_level_changed(v8);
    if (v8->profile->user32 && (value & PSTATE_NRW))
        a32_enter_user(v8, value);
}

uint64_t v8_sp(const struct armv8 *v8, unsigned level)
{
    return level == stack_in_use(v8) ? v8_get(v8, UC_ARM64_REG_SP) : v8->sp[level];
}

void v8_set_sp(struct armv8 *v8, unsigned level, uint64_t value)
{
    if (level == stack_in_use(v8))
        v8_set(v8, UC_ARM64_REG_SP, value);
    else
        v8->sp[level] = value;
}

bool v8_secure(const struct armv8 *v8)
{
    return v8->level == 3 || !(v8->regs[R_SCR] & SCR_NS);
}

void v8_attend(struct armv8 *v8)
{
    v8->attention = true;
    if (v8->aarch32)
        a32_attend(v8);
}

void v8_level_changed(struct armv8 *v8)
{
    bool secure = v8_secure(v8);
    // From debug of Armv8.2 on a debugger's rights do not matter: DDI 0487 D11.5.3
    bool by_rights = (v8->profile->dfr & 0xF) < 8 && !v8->debug.unsigned_secure;
    bool prohibited = secure && !by_rights && !(v8->regs[R_MDCR_EL3] & MDCR_SPME);
    pmu_v3_divide(&v8->pmu, (uint32_t)v8->regs[R_MDCR_EL2]);
    pmu_v3_set_level(&v8->pmu, v8->level, secure, prohibited);
    v8_attend(v8);
}

uint64_t v8_emulators(const struct armv8 *v8, unsigned key, bool *is_there)
{
    uc_arm64_cp_reg reg = {
        .op0 = key >> 14, .op1 = key >> 11 & 7, .crn = key >> 7 & 15, .crm = key >> 3 & 15, .op2 = key & 7};
    *is_there = uc_reg_read(v8->uc, UC_ARM64_REG_CP_REG, &reg) == UC_ERR_OK;
    return reg.val;
}
