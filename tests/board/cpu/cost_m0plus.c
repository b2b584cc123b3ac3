// Cortex-M0+ instruction cycles, DDI 0484C section 3.3, table 3-1, memory without wait states. The published
// RP2040 figures (2 cycles between two adjacent reads of SysTick, 3 with a NOP between) follow from it.
#include "cpu/cost.h"

static unsigned ones(unsigned bits)
{
    return (unsigned)__builtin_popcount(bits);
}

static struct cost lsu(unsigned extra)
{
    return (struct cost){.lsu = (uint8_t)extra};
}

static struct cost cpi(unsigned extra)
{
    return (struct cost){.cpi = (uint8_t)extra};
}

static struct cost miscellaneous(uint16_t op)
{
    // N counts LR and PC as well, as in the note to the Cortex-M0's table (DDI 0432C, 3.3)
    if ((op & 0xFE00) == 0xB400) // PUSH: 1+N
        return lsu(ones(op & 0x1FF));
    if ((op & 0xFE00) == 0xBC00) // POP: 1+N, with PC 3+N
        return (struct cost){.lsu = (uint8_t)ones(op & 0x1FF), .cpi = op & 0x100 ? 2 : 0};
    if (op == 0xBF20 || op == 0xBF30) // WFE, WFI: 2 and the wait
        return cpi(1);
    return cpi(0);
}

struct cost cost_m0plus(uint16_t first, uint16_t second, bool wide, bool jumped)
{
    (void)second;
    if (wide) // BL, MRS, MSR, DMB, DSB, ISB: 3 each
        return cpi(2);
    switch (first >> 12) {
    case 0x4:
        if ((first & 0xF800) == 0x4800) // LDR literal
            return lsu(1);
        return cpi(jumped ? 1 : 0); // BX, BLX, MOV and ADD to PC: 2
    case 0x5:
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9:
        return lsu(1);
    case 0xB:
        return miscellaneous(first);
    case 0xC: // LDM, STM: 1+N
        return lsu(ones(first & 0xFF));
    case 0xD:
    case 0xE:
        return cpi(jumped ? 1 : 0);
    default:
        return cpi(0);
    }
}
