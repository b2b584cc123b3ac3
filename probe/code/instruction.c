#include "code/instruction.h"

static uint64_t offset_of(uint32_t bits, unsigned unused)
{
    return (uint64_t)(int64_t)((int32_t)(bits << unused) >> unused);
}

/* DDI 0406 A8.8.25 (BL and BLX of a number), A8.8.26 (BLX of a register); DDI 0553 C2.4 (BLXNS). */
enum call thumb_call_code(uint32_t code, unsigned size)
{
    if (size == 4)
        return (code & 0xF800C000) == 0xF000C000 ? CALL_DIRECT : CALL_NONE;
    return (code & 0xFF83) == 0x4780 ? CALL_INDIRECT : CALL_NONE;
}

/* DDI 0406 A8.8.25, A8.8.26. */
enum call arm_call_code(uint32_t code)
{
    if (code >> 25 == 0x7D || ((code & 0x0F000000) == 0x0B000000 && code >> 28 != 0xF))
        return CALL_DIRECT;
    return (code & 0x0FFFFFF0) == 0x012FFF30 ? CALL_INDIRECT : CALL_NONE;
}

/* DDI 0487 C6.2: BL, BLR, and BLRAA and its kin. */
enum call a64_call_code(uint32_t code)
{
    if ((code & 0xFC000000) == 0x94000000)
        return CALL_DIRECT;
    return (code & 0xFEFFF000) == 0xD63F0000 ? CALL_INDIRECT : CALL_NONE;
}

/* DDI 0406 A8.8.25: BLX has a bit more, the halfword's. */
uint64_t arm_call_target(uint32_t code, uint64_t address)
{
    uint64_t half = code >> 28 == 0xF ? (code >> 24 & 1) << 1 : 0;
    return (address + 8 + half + offset_of((code & 0xFFFFFF) << 2, 6)) & UINT32_MAX;
}

uint64_t a64_call_target(uint32_t code, uint64_t address)
{
    return address + offset_of((code & 0x3FFFFFF) << 2, 4);
}

/* --- what certainly goes on ---------------------------------------------------------------------------- */

/* DDI 0403 A5.2: instructions of one halfword. */
static bool narrow_falls_through(uint16_t code)
{
    unsigned destination = (code & 7U) | (code >> 4 & 8U);
    if ((code & 0xF000) == 0xD000 || (code & 0xF800) == 0xE000) /* B, SVC, UDF */
        return false;
    if ((code & 0xFF00) == 0x4700) /* BX, BLX */
        return false;
    if ((code & 0xFD00) == 0x4400 && destination == 15) /* ADD, MOV to the PC; CMP writes none */
        return false;
    if ((code & 0xF500) == 0xB100 || (code & 0xFF00) == 0xBD00) /* CBZ, CBNZ, POP with the PC */
        return false;
    if ((code & 0xFE00) == 0xBE00) /* BKPT, IT and hints; of these only NOP falls through */
        return code == 0xBF00;
    return true;
}

/* DDI 0403 A5.3: instructions of two. */
static bool wide_falls_through(uint16_t first, uint16_t second)
{
    bool loads = (first & 0x0010) != 0;
    switch (first >> 9 & 0xF) {
    case 0x4: /* 1110 100: load and store, multiple, dual, exclusive; table branches */
        if ((first & 0x0040) == 0)
            return !loads || (second & 0x8000) == 0;
        return (first & 0xFFF0) != 0xE8D0;
    case 0x8: /* 1111 000 and 1111 001: with an immediate; branches, hints and system registers */
    case 0x9:
    case 0xA:
    case 0xB:
        return (second & 0x8000) == 0;
    case 0xC: /* 1111 100: load and store of one */
        return !loads || (second & 0xF000) != 0xF000;
    default: /* arithmetic on registers, coprocessors */
        return true;
    }
}

bool thumb_falls_through(uint16_t first, uint16_t second, unsigned *size)
{
    bool wide = first >> 11 >= 0x1D;
    *size = wide ? 4 : 2;
    return wide ? wide_falls_through(first, second) : narrow_falls_through(first);
}

/* DDI 0406 A5.2: data processing, multiplication, and the miscellaneous among them. */
static bool arm_data_falls_through(uint32_t code)
{
    bool wide_immediate = (code & 0x0FB00000) == 0x03000000; /* MOVW, MOVT */
    if ((code & 0x0FFFFFFF) == 0x0320F000)                   /* NOP */
        return true;
    if ((code & 0x01900000) == 0x01000000 && !wide_immediate)
        return false;                      /* BX and others */
    if ((code & 0x0E000090) == 0x00000090) /* multiplication has its destination elsewhere */
        return (code & 0xF000) != 0xF000 && (code & 0xF0000) != 0xF0000;
    return (code & 0xF000) != 0xF000;
}

/* DDI 0406 A5.1 */
bool arm_falls_through(uint32_t code)
{
    bool loads = (code & 0x00100000) != 0;
    if (code >> 28 == 0xF)
        return false;
    switch (code >> 25 & 7) {
    case 0:
    case 1:
        return arm_data_falls_through(code);
    case 2:
        return !loads || (code & 0xF000) != 0xF000;
    case 3: /* with bit 4: media */
        return (code & 0x10) == 0 && (!loads || (code & 0xF000) != 0xF000);
    case 4: /* LDM, STM; bit 22: of another mode, or a return from an exception */
        return (code & 0x00400000) == 0 && (!loads || (code & 0x8000) == 0);
    case 6: /* coprocessors' loads and stores */
        return true;
    default: /* branches, SVC; coprocessors' operations and register transfers */
        return (code & 0x0F000000) == 0x0E000000;
    }
}

/* DDI 0487 C4.1: all but branches, exceptions and system instructions other than MRS, and what is not
 * allocated. */
bool a64_falls_through(uint32_t code)
{
    uint32_t group = code >> 25 & 0xF;
    return (code & 0xFFF00000) == 0xD5300000 || (group & 0xE) == 0x8 || (group & 0x5) == 0x4 ||
           (group & 0x7) == 0x5 || (group & 0x7) == 0x7;
}

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

/* DDI 0403 A7.7.17, DDI 0406C A8.8.24. With 0xAB it is a Cortex-M's semihosting call. */
bool thumb_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xAB };
    uint32_t code = pc & 2 ? word >> 16 : word & 0xFFFF;
    *out = (struct breakpoint_code){.name = "BKPT",
                                    .number = code & 0xFF,
                                    .is_semihosting = (code & 0xFF) == SEMIHOSTING,
                                    .code = code,
                                    .size = 2};
    return (code & 0xFF00) == 0xBE00;
}

bool arm_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    bool is_arm = pc % 4 == 0 && (word & 0xFFF000F0) == 0xE1200070;
    if (!is_arm && !thumb_breakpoint(pc, word, out))
        return false;
    if (is_arm)
        *out = (struct breakpoint_code){
            .name = "BKPT", .number = (word >> 4 & 0xFFF0) | (word & 0xF), .code = word, .size = 4};
    out->is_semihosting = false; /* on these cores it is an SVC, which halts nothing */
    return true;
}

/* HLT, DDI 0487 C4.1.65 */
bool a64_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out)
{
    enum { SEMIHOSTING = 0xF000 };
    uint16_t number = word >> 5 & 0xFFFF;
    *out = (struct breakpoint_code){
        .name = "HLT", .number = number, .is_semihosting = number == SEMIHOSTING, .code = word, .size = 4};
    return pc % 4 == 0 && (word & 0xFFE0001F) == 0xD4400000;
}
