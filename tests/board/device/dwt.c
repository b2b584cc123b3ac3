// DWT: see the header.
#include "device/dwt.h"

// DDI 0403E C1.8.7 and following
enum {
    DWT_CTRL = 0x00,
    DWT_CYCCNT = 0x04,
    DWT_CPICNT = 0x08,
    DWT_FOLDCNT = 0x18,
    DWT_PCSR = 0x1C,
    DWT_COMP0 = 0x20
};
#define CTRL_CYCCNTENA (1u << 0)
#define CTRL_CPIEVTENA (1u << 17) // EXC, SLEEP, LSU, FOLD follow
#define CTRL_WRITABLE  0x007F1FFFu
#define CTRL_V6M       0x0F000000u // no profiling counters, cycle counter, external triggers, trace packets
#define COMP_STRIDE    0x10

static bool counting(const struct dwt *d)
{
    return d->has_counters && d->traced && (d->control & CTRL_CYCCNTENA);
}

uint32_t dwt_cyccnt(const struct dwt *d, uint64_t now)
{
    return counting(d) ? d->cyccnt + (uint32_t)(now - d->at) : d->cyccnt;
}

static void settle(struct dwt *d, uint64_t now)
{
    d->cyccnt = dwt_cyccnt(d, now);
    d->at = now;
}

void dwt_reset(struct dwt *d, uint64_t now)
{
    settle(d, now);
    d->control = 0;
    d->cyccnt = 0;
    for (unsigned i = 0; i < DWT_COMPARATORS; i++)
        d->function[i] = 0;
}

void dwt_trace(struct dwt *d, bool traced, uint64_t now)
{
    settle(d, now);
    d->traced = traced;
}

void dwt_count(struct dwt *d, enum dwt_profile which, uint64_t cycles)
{
    if (d->traced && (d->control & (CTRL_CPIEVTENA << which)))
        d->profile[which] += (uint8_t)cycles;
}

uint32_t dwt_control(const struct dwt *d)
{
    return (uint32_t)d->comparators << 28 | (d->has_counters ? d->control : CTRL_V6M);
}

static const uint32_t *comparator(const struct dwt *d, uint32_t offset)
{
    unsigned n = (offset - DWT_COMP0) / COMP_STRIDE;
    if (offset < DWT_COMP0 || n >= d->comparators || n >= DWT_COMPARATORS)
        return 0;
    switch ((offset - DWT_COMP0) % COMP_STRIDE) {
    case 0x0:
        return &d->comp[n];
    case 0x4:
        return &d->mask[n];
    case 0x8:
        return &d->function[n];
    default:
        return 0;
    }
}

uint32_t dwt_read(const struct dwt *d, uint32_t offset, uint64_t now, uint32_t pc_sample)
{
    if (offset == DWT_CTRL)
        return dwt_control(d);
    if (offset == DWT_PCSR)
        return pc_sample;
    if (offset == DWT_CYCCNT)
        return dwt_cyccnt(d, now);
    if (offset >= DWT_CPICNT && offset <= DWT_FOLDCNT)
        return d->profile[(offset - DWT_CPICNT) / 4];
    const uint32_t *c = comparator(d, offset);
    return c ? *c : 0;
}

static void write_control(struct dwt *d, uint32_t value)
{
    value &= CTRL_WRITABLE;
    for (unsigned i = 0; i < DWT_PROFILES; i++) {
        uint32_t bit = CTRL_CPIEVTENA << i;
        if ((value & bit) && !(d->control & bit))
            d->profile[i] = 0; // enabling clears it (DDI 0403E C1.8.8 and following)
    }
    d->control = value;
}

void dwt_write(struct dwt *d, uint32_t offset, uint32_t value, uint64_t now)
{
    if (!d->traced)
        return;
    settle(d, now);
    uint32_t *c = (uint32_t *)comparator(d, offset);
    if (c)
        *c = value;
    else if (!d->has_counters)
        return;
    else if (offset == DWT_CTRL)
        write_control(d, value);
    else if (offset == DWT_CYCCNT)
        d->cyccnt = value;
    else if (offset >= DWT_CPICNT && offset <= DWT_FOLDCNT)
        d->profile[(offset - DWT_CPICNT) / 4] = (uint8_t)value;
}
