#include "cores/thumb.h"

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
    if ((code & 0xFE00) == 0xBE00) /* BKPT, IT and hints; of these only NOP does nothing */
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
