// A plain model of the Cortex-M4, not the part's true timing: one cycle an instruction, one more for each
// word that a load or store moves, two more for every jump, fixed figures for division and long
// multiplication, IT folded. No wait states, no pairing of loads. Enough to make every profiling counter move
// and the identity between them hold: instructions = CYCCNT - CPICNT - EXCCNT - SLEEPCNT - LSUCNT + FOLDCNT
// (DDI 0403E C1.8.5).
#include "cpu/cost.h"

enum { JUMP = 2, DIVIDE = 5, LONG_MULTIPLY = 1 };

static unsigned ones(unsigned bits)
{
    return (unsigned)__builtin_popcount(bits);
}

static unsigned words_narrow(uint16_t op)
{
    switch (op >> 12) {
    case 0x4:
        return (op & 0xF800) == 0x4800; // LDR literal
    case 0x5:
    case 0x6:
    case 0x7:
    case 0x8:
    case 0x9:
        return 1;
    case 0xB:
        if ((op & 0xFE00) == 0xB400 || (op & 0xFE00) == 0xBC00) // PUSH, POP
            return ones(op & 0x1FF);
        return 0;
    case 0xC:
        return ones(op & 0xFF); // STM, LDM
    default:
        return 0;
    }
}

static unsigned words_wide(uint16_t first, uint16_t second)
{
    if ((first & 0xFE40) == 0xE800) // LDM, STM
        return ones(second);
    if ((first & 0xFE40) == 0xE840) // LDRD, STRD 2; exclusives and table branches 1
        return (first & 0x0120) ? 2 : 1;
    if ((first & 0xFE00) == 0xF800) // single loads and stores
        return 1;
    if ((first & 0xFE00) == 0xEC00 && (first & 0x01E0) != 0x0040) // VLDR, VSTR, VLDM, VSTM: as one word
        return 1;
    return 0;
}

struct cost cost_m4(uint16_t first, uint16_t second, bool wide, bool jumped)
{
    struct cost c = {0};
    if (!wide && (first & 0xFF00) == 0xBF00 && (first & 0xF)) { // IT
        c.folded = 1;
        return c;
    }
    c.lsu = (uint8_t)(wide ? words_wide(first, second) : words_narrow(first));
    c.cpi = jumped ? JUMP : 0;
    if (wide && (first & 0xFFD0) == 0xFB90) // SDIV, UDIV
        c.cpi += DIVIDE;
    else if (wide && (first & 0xFF80) == 0xFB80)
        c.cpi += LONG_MULTIPLY;
    return c;
}
