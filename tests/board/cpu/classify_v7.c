// Instruction classes: see the header. Encodings: DDI 0406C A5 (ARM) and A6 (Thumb).
#include "cpu/classify_v7.h"

#include <string.h>

enum { JUMPS = OP_PC_WRITE | OP_INTERWORKS, ERET = JUMPS | OP_EXC_RETURN | OP_PSR };
enum { HINT_YIELD = 1, HINT_WFE = 2, HINT_WFI = 3, HINT_SEV = 4 };
enum { LR = 14, SP = 13, PC = 15 };

static uint32_t hint(unsigned number)
{
    if (number == HINT_WFI)
        return OP_WAIT;
    return number == HINT_YIELD || number == HINT_WFE || number == HINT_SEV ? OP_IDLE : 0;
}

static uint32_t barrier(unsigned option)
{
    return option == 4 ? OP_DSB : option == 5 ? OP_DMB : option == 6 ? OP_ISB : 0;
}

// MRC and MCR, of either instruction set
static uint32_t coprocessor(uint32_t op)
{
    unsigned number = op >> 8 & 15, opc1 = op >> 21 & 7, crn = op >> 16 & 15, crm = op & 15,
             opc2 = op >> 5 & 7;
    bool write = !(op & 1u << 20);
    if (number == 14 && opc1 == 0)
        return OP_COPROCESSOR;
    if (number == 15 && opc1 == 4 && crn != 7 && crn != 8) // Hyp mode's, without caches and the TLB
        return OP_COPROCESSOR;
    if (number != 15 || opc1 != 0)
        return 0;
    if (crn == 9 && crm >= 12 && crm <= 14)
        return OP_COPROCESSOR;
    if (crn == 0 && crm == 0 && !write && (opc2 == 0 || opc2 == 5)) // MIDR, MPIDR
        return OP_COPROCESSOR;
    if (crn != 7 || !write)
        return 0;
    if (crm == 0 && opc2 == 4)
        return OP_WAIT;
    if (crm == 5 && opc2 == 4)
        return OP_ISB;
    return crm == 10 && opc2 == 4 ? OP_DSB : crm == 10 && opc2 == 5 ? OP_DMB : 0;
}

static uint32_t unconditional(uint32_t op)
{
    if ((op & 0x0E000000) == 0x0A000000) // BLX to a label
        return OP_IMMEDIATE | OP_ALWAYS | JUMPS;
    if ((op & 0x0E500000) == 0x08100000) // RFE
        return ERET | OP_ALWAYS;
    if ((op & 0x0FF10020) == 0x01000000) // CPS
        return OP_PSR;
    if ((op & 0x0FFFFF00) == 0x057FF000)
        return barrier(op >> 4 & 15);
    return 0;
}

static uint32_t miscellaneous(uint32_t op)
{
    if ((op & 0x0FFFFFD0) == 0x012FFF10) // BX, BLX
        return JUMPS | ((op & 0x2F) == LR ? OP_RETURN : 0);
    if ((op & 0x0FFFFFF0) == 0x012FFF20) // BXJ
        return JUMPS;
    if ((op & 0x0FF000F0) == 0x01200070)
        return OP_BKPT;
    if ((op & 0x0FF000F0) == 0x01000070)
        return OP_HLT;
    if ((op & 0x0FFFFF00) == 0x0320F000)
        return hint(op & 0xFF);
    if ((op & 0x0FFFFFFF) == 0x0160006E)
        return ERET | OP_HYP;
    if ((op & 0x0FF000F0) == 0x01400070) // HVC
        return OP_HYP;
    if ((op & 0x0FBF0FFF) == 0x010F0000 || (op & 0x0FB00EFF) == 0x01000200) // MRS, also of a banked register
        return OP_HYP;
    if ((op & 0x0FF0FFF0) == 0x0160F000 || (op & 0x0FB0FEF0) == 0x0120F200) // MSR of SPSR, and banked
        return OP_HYP;
    if ((op & 0x0FB0FFF0) == 0x0120F000 || (op & 0x0FB0F000) == 0x0320F000) // MSR
        return op & 1u << 22 ? 0 : OP_PSR;
    return 0;
}

static uint32_t data_processing(uint32_t op)
{
    unsigned opcode = op >> 21 & 15;
    bool immediate = op & 1u << 25, sets = op & 1u << 20;
    if (!immediate && (op & 0x90) == 0x90) // multiplications, extra loads and stores
        return 0;
    if (opcode >= 8 && opcode <= 11)
        return sets ? 0 : miscellaneous(op);
    if ((op >> 12 & 15) != PC)
        return 0;
    if (sets)
        return ERET;
    return JUMPS | ((op & 0x0FFFFFFF) == 0x01A0F00E ? OP_RETURN : 0); // MOV pc, lr
}

uint32_t classify_arm(uint32_t op)
{
    uint32_t always = op >> 28 == 14 ? OP_ALWAYS : 0;
    unsigned rn = op >> 16 & 15;
    if (op >> 28 == 15)
        return unconditional(op);
    switch (op >> 25 & 7) {
    case 0:
    case 1:
        return data_processing(op) | always;
    case 2:
    case 3: // LDR pc, but no media instruction
        if ((op & 0x0010F000) == 0x0010F000 && !((op & 1u << 25) && (op & 1u << 4)) && !(op & 1u << 22))
            return JUMPS | always | (rn == SP ? OP_RETURN : 0);
        return 0;
    case 4: // LDM with the PC
        if ((op & 0x00108000) != 0x00108000)
            return 0;
        return (op & 1u << 22 ? ERET : JUMPS) | always | (rn == SP ? OP_RETURN : 0);
    case 5:
        return OP_IMMEDIATE | OP_PC_WRITE | always;
    case 7:
        if (op & 1u << 24)
            return OP_SVC;
        return op & 1u << 4 ? coprocessor(op) : 0;
    default:
        return 0;
    }
}

static uint32_t thumb_b(uint16_t op)
{
    if ((op & 0xF500) == 0xB100) // CBZ, CBNZ
        return OP_IMMEDIATE | OP_PC_WRITE;
    if ((op & 0xFF00) == 0xBD00) // POP with the PC
        return JUMPS | OP_ALWAYS | OP_RETURN;
    if ((op & 0xFF00) == 0xBE00)
        return OP_BKPT;
    if ((op & 0xFFC0) == 0xBA80)
        return OP_HLT;
    if ((op & 0xFF00) == 0xBF00)
        return op & 15 ? OP_IT : hint(op >> 4 & 15);
    return (op & 0xFFE8) == 0xB660 ? OP_PSR : 0; // CPS
}

uint32_t classify_thumb16(uint16_t op)
{
    switch (op >> 12) {
    case 0x4:
        if ((op & 0xFF00) == 0x4700) // BX, BLX
            return JUMPS | OP_ALWAYS | (op == 0x4770 ? OP_RETURN : 0);
        if ((op & 0xFF87) == 0x4687 || (op & 0xFF87) == 0x4487) // MOV and ADD to the PC
            return OP_PC_WRITE | OP_ALWAYS | (op == 0x46F7 ? OP_RETURN : 0);
        return 0;
    case 0xB:
        return thumb_b(op);
    case 0xD:
        if ((op & 0xF00) == 0xF00)
            return OP_SVC;
        return (op & 0xF00) == 0xE00 ? 0 : OP_IMMEDIATE | OP_PC_WRITE;
    case 0xE:
        return OP_IMMEDIATE | OP_PC_WRITE | OP_ALWAYS;
    default:
        return 0;
    }
}

static uint32_t branches_and_control(uint16_t first, uint16_t second)
{
    if (second & 0x5000) { // B, BL, BLX
        bool changes = (second & 0x5000) == 0x4000;
        return OP_IMMEDIATE | OP_PC_WRITE | OP_ALWAYS | (changes ? OP_INTERWORKS : 0);
    }
    if ((first & 0x0380) != 0x0380)
        return OP_IMMEDIATE | OP_PC_WRITE;
    if (first == 0xF3DE) // SUBS pc, lr
        return ERET | OP_ALWAYS | (second == 0x8F00 ? OP_HYP : 0);
    if ((first & 0xFFF0) == 0xF7E0 && (second & 0xF000) == 0x8000) // HVC
        return OP_HYP;
    if ((first & 0xFFE0) == 0xF3E0) // MRS
        return OP_HYP;
    if (first == 0xF3BF)
        return barrier(second >> 4 & 15);
    if (first == 0xF3AF)
        return second & 0x0700 ? OP_PSR : hint(second & 0xFF);
    if ((first & 0xFFF0) == 0xF3C0) // BXJ
        return JUMPS | OP_ALWAYS;
    if ((first & 0xFFE0) == 0xF380 && ((first & 0x10) || (second & 0x20))) // MSR of SPSR or a banked register
        return OP_HYP;
    return (first & 0xFFF0) == 0xF380 ? OP_PSR : 0; // MSR
}

uint32_t classify_thumb32(uint32_t op)
{
    uint16_t first = (uint16_t)(op >> 16), second = (uint16_t)op;
    uint32_t returns = (first & 15) == SP ? OP_RETURN : 0;
    if ((first & 0xF800) == 0xF000 && (second & 0x8000))
        return branches_and_control(first, second);
    if ((first & 0xFFD0) == 0xE810 || (first & 0xFFD0) == 0xE990) // RFE
        return ERET | OP_ALWAYS;
    if (((first & 0xFFD0) == 0xE890 || (first & 0xFFD0) == 0xE910) && (second & 0x8000)) // LDM with the PC
        return JUMPS | OP_ALWAYS | returns;
    if ((first & 0xFFF0) == 0xE8D0 && (second & 0xFFE0) == 0xF000) // TBB, TBH
        return OP_PC_WRITE | OP_ALWAYS;
    if ((first & 0xFF70) == 0xF850 && (second & 0xF000) == 0xF000) // LDR pc
        return JUMPS | OP_ALWAYS | returns;
    return (first & 0xFF00) == 0xEE00 && (second & 0x10) ? coprocessor(op) : 0;
}

static uint16_t halfword(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void look_at_arm(struct classified *one, const uint8_t *bytes)
{
    memcpy(&one->op, bytes, 4);
    one->is = classify_arm(one->op);
    one->bytes = bytes;
}

static void look_at_thumb(struct classified *one, const struct bus *bus, uint32_t pc, const uint8_t *bytes)
{
    uint16_t first = halfword(bytes);
    bool wide = first >= 0xE800; // DDI 0406C A6.1
    if (wide && !bus_bytes(bus, pc, 4))
        return;
    one->op = wide ? (uint32_t)first << 16 | halfword(bytes + 2) : first;
    one->is = wide ? classify_thumb32(one->op) : classify_thumb16(first);
    one->size = wide ? 4 : 2;
    one->it_length = one->is & OP_IT ? (uint8_t)(4 - __builtin_ctz(first & 15)) : 0;
    one->bytes = bytes;
}

static bool still(const struct classified *one)
{
    if (one->size == 2)
        return halfword(one->bytes) == one->op;
    if (one->pc & 1)
        return ((uint32_t)halfword(one->bytes) << 16 | halfword(one->bytes + 2)) == one->op;
    return memcmp(one->bytes, &one->op, 4) == 0;
}

static __attribute__((noinline)) const struct classified *anew(struct classifier *c, struct classified *one,
                                                               uint32_t pc, bool thumb)
{
    const uint8_t *bytes = bus_bytes(c->bus, pc, thumb ? 2 : 4);
    *one = (struct classified){.pc = pc | thumb, .size = 4};
    if (bytes && thumb)
        look_at_thumb(one, c->bus, pc, bytes);
    else if (bytes)
        look_at_arm(one, bytes);
    return one;
}

const struct classified *classify(struct classifier *c, uint32_t pc, bool thumb)
{
    struct classified *one = &c->each[(pc >> 1) % CLASSIFIED];
    return one->bytes && one->pc == (pc | thumb) && still(one) ? one : anew(c, one, pc, thumb);
}
