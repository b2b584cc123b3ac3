#include "activity.h"

#include <stddef.h>

/* 327357 table 1-6, and the four of Linux at the end: unit mask and event */
static const uint16_t events[] = {
    0x0000, 0x0001, 0x0002, 0x0003, 0x0004, 0x0006, 0x0009, 0x000A, 0x000C, 0x000D, 0x000E, 0x0011, 0x0012,
    0x0015, 0x0016, 0x0017, 0x001C, 0x001E, 0x001F, 0x0020, 0x0021, 0x0028, 0x0029, 0x002A, 0x002B, 0x002C,
    0x002D, 0x002E, 0x0037, 0x0038, 0x003A, 0x003B, 0x10C8, 0x10C9, 0x10CA, 0x10CB, 0x10CC, 0x10D7, 0x10E3,
    0x10E6, 0x10E7, 0x10F0, 0x10F1, 0x10F2, 0x10F5, 0x10F6, 0x10F7, 0x10FC, 0x10FD, 0x10FE, 0x10FF, 0x2000,
    0x2001, 0x2003, 0x2004, 0x2005, 0x2016, 0x2017, 0x2018, 0x10C3, 0x10C4, 0x10CE, 0x10CF,
};

enum { VPU_ELEMENTS_ACTIVE = 0x2018, USER = 0xFFFF };

static uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t h = a * 2654435761U + b * 2246822519U + c * 3266489917U + 668265263U;
    h ^= h >> 15;
    h *= 2246822519U;
    return h ^ h >> 13;
}

bool activity_is_event(unsigned code)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i] == code)
            return true;
    return false;
}

unsigned activity_events(unsigned cpu, unsigned code, uint64_t cycle)
{
    uint32_t h = mix(cpu, code, (uint32_t)(cycle % ACTIVITY_PERIOD));
    if (code == CPU_CLK_UNHALTED)
        return h % 8 != 0;
    if (!activity_is_event(code))
        return 0;
    if (cycle % ACTIVITY_PERIOD == 0)
        return 1; /* so that nothing ever happens nowhere */
    if (h % 3 != 0)
        return 0;
    return code == VPU_ELEMENTS_ACTIVE ? (h >> 8) % 17 : (h >> 8) % 4;
}

bool activity_is_user(unsigned cpu, uint64_t cycle)
{
    return cycle % ACTIVITY_PERIOD == 0 || mix(cpu, USER, (uint32_t)(cycle % ACTIVITY_PERIOD)) % 4 != 0;
}
