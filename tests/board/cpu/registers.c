// The core's registers: in the emulator, and as DCRSR names them (DDI 0403E C1.6.3).
#include "cpu/cortex_m.h"

uint32_t cm_get(const struct cortex_m *cm, int unicorn_register)
{
    uint32_t value = 0;
    uc_reg_read(cm->uc, unicorn_register, &value);
    return value;
}

void cm_set(struct cortex_m *cm, int unicorn_register, uint32_t value)
{
    uc_reg_write(cm->uc, unicorn_register, &value);
}

uint32_t cm_pc(const struct cortex_m *cm)
{
    return cm_get(cm, UC_ARM_REG_PC) & ~1u;
}

void cm_set_pc(struct cortex_m *cm, uint32_t pc)
{
    cm_set(cm, UC_ARM_REG_PC, pc | 1); // an even value would leave Thumb state
}

static const int by_number[] = {
    UC_ARM_REG_R0,  UC_ARM_REG_R1,   UC_ARM_REG_R2,  UC_ARM_REG_R3,  UC_ARM_REG_R4,
    UC_ARM_REG_R5,  UC_ARM_REG_R6,   UC_ARM_REG_R7,  UC_ARM_REG_R8,  UC_ARM_REG_R9,
    UC_ARM_REG_R10, UC_ARM_REG_R11,  UC_ARM_REG_R12, UC_ARM_REG_SP,  UC_ARM_REG_LR,
    UC_ARM_REG_PC,  UC_ARM_REG_XPSR, UC_ARM_REG_MSP, UC_ARM_REG_PSP,
};

enum { SEL_PC = 15, SEL_XPSR = 16, SEL_SPECIAL = 20, SEL_FPSCR = 33, SEL_S0 = 64, SEL_S31 = 95 };

uint32_t cm_selected(const struct cortex_m *cm, unsigned regsel)
{
    if (regsel == SEL_PC)
        return cm_pc(cm);
    if (regsel < sizeof by_number / sizeof *by_number)
        return cm_get(cm, by_number[regsel]);
    if (regsel == SEL_SPECIAL) {
        uint32_t value = (cm_get(cm, UC_ARM_REG_CONTROL) & 7) << 24 | (cm_get(cm, UC_ARM_REG_PRIMASK) & 1);
        if (cm->profile->v7m)
            value |= (cm_get(cm, UC_ARM_REG_FAULTMASK) & 1) << 16 | (cm_get(cm, UC_ARM_REG_BASEPRI) & 0xFF)
                                                                        << 8;
        return value;
    }
    if (regsel == SEL_FPSCR && cm->profile->mvfr0)
        return cm_get(cm, UC_ARM_REG_FPSCR);
    if (regsel >= SEL_S0 && regsel <= SEL_S31 && cm->profile->mvfr0)
        return cm_get(cm, UC_ARM_REG_S0 + (int)(regsel - SEL_S0));
    return 0;
}

void cm_set_selected(struct cortex_m *cm, unsigned regsel, uint32_t value)
{
    cm->attention = true; // a mask or a stack may have changed
    if (regsel == SEL_PC) {
        cm->was_asleep = false; // the debugger sends it elsewhere
        cm_set_pc(cm, value);
    } else if (regsel == SEL_XPSR) {
        cm_set(cm, UC_ARM_REG_XPSR, value);
    } else if (regsel < sizeof by_number / sizeof *by_number) {
        cm_set(cm, by_number[regsel], value);
    } else if (regsel == SEL_SPECIAL) {
        cm_set(cm, UC_ARM_REG_CONTROL, value >> 24 & 3);
        cm_set(cm, UC_ARM_REG_PRIMASK, value & 1);
        if (cm->profile->v7m) {
            cm_set(cm, UC_ARM_REG_FAULTMASK, value >> 16 & 1);
            cm_set(cm, UC_ARM_REG_BASEPRI, value >> 8 & cm->profile->priority_mask);
        }
    } else if (regsel == SEL_FPSCR && cm->profile->mvfr0) {
        cm_set(cm, UC_ARM_REG_FPSCR, value);
    } else if (regsel >= SEL_S0 && regsel <= SEL_S31 && cm->profile->mvfr0) {
        cm_set(cm, UC_ARM_REG_S0 + (int)(regsel - SEL_S0), value);
    }
}
