// ITSTATE, which the emulator keeps only from block to block (DDI 0403E A7.3.3 and B1.4.2). A core may stop
// and take exceptions at each instruction of an IT block.
#include "cpu/cortex_m.h"

#define IT_LOW_LSB  25 // of ITSTATE[1:0] in xPSR
#define IT_HIGH_LSB 10 // of ITSTATE[7:2]
#define IT_BITS     (3u << IT_LOW_LSB | 0x3Fu << IT_HIGH_LSB)
#define FLAG_N      (1u << 31)
#define FLAG_Z      (1u << 30)
#define FLAG_C      (1u << 29)
#define FLAG_V      (1u << 28)

static unsigned left_in_block(uint8_t it)
{
    return it & 0xF ? 4 - (unsigned)__builtin_ctz(it & 0xF) : 0;
}

void cm_load_it(struct cortex_m *cm)
{
    cm->it = 0;
    cm->it_end = 0;
    if (!cm->decoder.has_it)
        return;
    uint32_t xpsr = cm_get(cm, UC_ARM_REG_XPSR);
    cm->it = (uint8_t)((xpsr >> IT_LOW_LSB & 3) | (xpsr >> IT_HIGH_LSB & 0x3F) << 2);
    if (cm->it)
        cm->it_end = decode_past(&cm->decoder, cm_pc(cm), left_in_block(cm->it));
}

static void store(struct cortex_m *cm, uint8_t it)
{
    if (!cm->decoder.has_it)
        return;
    uint32_t was = cm_get(cm, UC_ARM_REG_XPSR);
    uint32_t xpsr = (was & ~IT_BITS) | (it & 3u) << IT_LOW_LSB | (it >> 2 & 0x3Fu) << IT_HIGH_LSB;
    if (xpsr != was)
        cm_set(cm, UC_ARM_REG_XPSR, xpsr);
}

void cm_store_it(struct cortex_m *cm)
{
    store(cm, cm->it);
}

void cm_isolate_it(struct cortex_m *cm)
{
    enum { ALWAYS_LAST = 0xE8 };
    store(cm, ALWAYS_LAST);
}

void cm_advance_it(struct cortex_m *cm, bool jumped)
{
    cm->it = (cm->it & 7) && !jumped ? (uint8_t)((cm->it & 0xE0) | (cm->it << 1 & 0x1F)) : 0;
}

// DDI 0403E A7.3.1
bool cm_condition_passes(const struct cortex_m *cm)
{
    uint32_t xpsr = cm->it ? cm_get(cm, UC_ARM_REG_XPSR) : 0;
    bool n = xpsr & FLAG_N, z = xpsr & FLAG_Z, c = xpsr & FLAG_C, v = xpsr & FLAG_V;
    const bool met[] = {z, c, n, v, c && !z, n == v, n == v && !z, true};
    unsigned condition = cm->it >> 4;
    return !cm->it || condition >= 0xE || met[condition >> 1] == !(condition & 1);
}
