#include "base/call_code.h"

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
