// The core's registers, in the emulator.
#include "cpu/armv7.h"
#include "cpu/armv8.h"

uint32_t v7_get(const struct armv7 *v7, int unicorn_register)
{
    uint32_t value = 0;
    uc_reg_read(v7->uc, unicorn_register, &value);
    return value;
}

void v7_set(struct armv7 *v7, int unicorn_register, uint32_t value)
{
    uc_reg_write(v7->uc, unicorn_register, &value);
}

static const int by_number[] = {
    UC_ARM_REG_R0,  UC_ARM_REG_R1,  UC_ARM_REG_R2,  UC_ARM_REG_R3, UC_ARM_REG_R4,
    UC_ARM_REG_R5,  UC_ARM_REG_R6,  UC_ARM_REG_R7,  UC_ARM_REG_R8, UC_ARM_REG_R9,
    UC_ARM_REG_R10, UC_ARM_REG_R11, UC_ARM_REG_R12, UC_ARM_REG_SP, UC_ARM_REG_LR,
};

uint32_t v7_register(const struct armv7 *v7, unsigned number)
{
    return number < sizeof by_number / sizeof *by_number ? v7_get(v7, by_number[number]) : 0;
}

void v7_set_register(struct armv7 *v7, unsigned number, uint32_t value)
{
    if (number < sizeof by_number / sizeof *by_number)
        v7_set(v7, by_number[number], value);
}

uint32_t v7_cpsr(const struct armv7 *v7)
{
    uint32_t value = (v7_get(v7, UC_ARM_REG_CPSR) & ~CPSR_T) | (v7->thumb ? CPSR_T : 0);
    return v7->hyp || v7_in_hyp(v7) ? (value & ~CPSR_MODE) | MODE_HYP : value;
}

// The emulator is in System mode here, before and after it
static void swap_stack(struct armv7 *v7)
{
    uint32_t in_use = v7_register(v7, 13);
    v7_set_register(v7, 13, v7->other_stack);
    v7->other_stack = in_use;
}

static void set_hyp(struct armv7 *v7, bool on)
{
    v7_set(v7, UC_ARM_REG_CPSR, (v7_get(v7, UC_ARM_REG_CPSR) & ~(CPSR_MODE | CPSR_T)) | MODE_SYS);
    swap_stack(v7);
    v7->hyp = on;
}

void v7_set_cpsr(struct armv7 *v7, uint32_t value)
{
    bool hyp = v7->profile->has_hyp && (value & CPSR_MODE) == MODE_HYP;
    if (hyp != v7->hyp)
        set_hyp(v7, hyp);
    if (hyp)
        value |= MODE_SYS;
    if (v7->svc_is_hyp && (value & CPSR_MODE) == MODE_HYP)
        value = (value & ~CPSR_MODE) | MODE_SVC;
    v7->thumb = value & CPSR_T;
    v7_set(v7, UC_ARM_REG_CPSR,
           value & ~CPSR_T); // the emulator's own T follows from the address that it starts at
    v7->attention = true;
    v7_mode_changed(v7);
}

static uc_arm_cp_reg cp15(unsigned crn, unsigned crm, unsigned op2, uint32_t value)
{
    return (uc_arm_cp_reg){.cp = 15, .crn = crn, .crm = crm, .opc2 = op2, .val = value};
}

uint32_t v7_cp15(const struct armv7 *v7, unsigned crn, unsigned crm, unsigned op2)
{
    uc_arm_cp_reg reg = cp15(crn, crm, op2, 0);
    return uc_reg_read(v7->uc, UC_ARM_REG_CP_REG, &reg) == UC_ERR_OK ? (uint32_t)reg.val : 0;
}

void v7_set_cp15(struct armv7 *v7, unsigned crn, unsigned crm, unsigned op2, uint32_t value)
{
    uc_arm_cp_reg reg = cp15(crn, crm, op2, value);
    uc_reg_write(v7->uc, UC_ARM_REG_CP_REG, &reg);
}

bool v7_user(const struct armv7 *v7)
{
    return (v7_get(v7, UC_ARM_REG_CPSR) & CPSR_MODE) == MODE_USER;
}

bool v7_in_hyp(const struct armv7 *v7)
{
    return v7->svc_is_hyp && (v7_get(v7, UC_ARM_REG_CPSR) & CPSR_MODE) == MODE_SVC;
}

void v7_mode_changed(struct armv7 *v7)
{
    bool user = v7_user(v7);
    unsigned level = v7->hyp ? 2 : !user;
    if (!v7->outside) {
        pmu_v7_set_mode(&v7->pmu, user, v7_in_hyp(v7));
    } else if (v7->outside->level != level) {
        v7->outside->level = level;
        v8_level_changed(v7->outside);
    }
}
