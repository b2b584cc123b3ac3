// Instruction classes: see the header. Encodings: DDI 0487H C4.1.65, branches, exception generating and
// system instructions; everything else the emulator does, and its loads and stores it reports itself.
#include "cpu/classify_v8.h"

#include <string.h>

enum { HINT_YIELD = 1, HINT_WFE = 2, HINT_WFI = 3, HINT_SEV = 4, HINT_SEVL = 5 };
enum { COND_AL = 14 };

static uint16_t hint(unsigned number)
{
    if (number == HINT_WFI)
        return A64_WFI;
    bool idle = number == HINT_YIELD || number == HINT_WFE || number == HINT_SEV || number == HINT_SEVL;
    return idle ? A64_IDLE : 0;
}

static uint16_t branch_to_register(uint32_t op)
{
    unsigned opc = op >> 21 & 15;
    if (opc > 2)
        return opc == 4 || opc == 5 ? A64_ERET : 0;
    return A64_BRANCH | A64_ALWAYS | (opc == 2 ? A64_RETURN : 0);
}

uint16_t a64_classify_op(uint32_t op)
{
    if ((op & 0x1C000000) != 0x14000000)
        return 0;
    if ((op & 0x7C000000) == 0x14000000) // B, BL
        return A64_IMMEDIATE | A64_BRANCH | A64_ALWAYS;
    if ((op & 0x7C000000) == 0x34000000) // CBZ, CBNZ, TBZ, TBNZ
        return A64_IMMEDIATE | A64_BRANCH;
    if ((op & 0xFF000010) == 0x54000000) // B.cond; the last two conditions are "always"
        return A64_IMMEDIATE | A64_BRANCH | ((op & 15) >= COND_AL ? A64_ALWAYS : 0);
    if ((op & 0xFE000000) == 0xD6000000)
        return branch_to_register(op);
    if ((op & 0xFF000000) == 0xD4000000)
        return A64_EXCEPTION;
    if ((op & 0xFFFFF01F) == 0xD503201F)
        return hint(op >> 5 & 0x7F);
    if ((op & 0xFFF8F01F) == 0xD500401F)
        return A64_PSTATE;
    return (op & 0xFFD00000) == 0xD5100000 ? A64_REGISTER : 0;
}

const struct a64 *a64_classify_anew(struct a64_classifier *c, struct a64 *one, uint32_t pc)
{
    const uint8_t *bytes = pc & 3 ? NULL : bus_bytes(c->bus, pc, sizeof one->op);
    *one = (struct a64){.pc = pc, .bytes = bytes};
    if (bytes) {
        memcpy(&one->op, bytes, sizeof one->op);
        one->is = a64_classify_op(one->op);
    }
    return one;
}
