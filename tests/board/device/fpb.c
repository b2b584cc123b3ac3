// FPB and BPU: see the header.
#include "device/fpb.h"

// DDI 0403E C1.11.3 and following
enum { FP_CTRL = 0x0, FP_REMAP = 0x4, FP_COMP0 = 0x8 };
#define CTRL_ENABLE     (1u << 0)
#define CTRL_KEY        (1u << 1)
#define COMP_ENABLE     (1u << 0)
#define COMP_WRITABLE   0xDFFFFFFDu
#define COMP_ADDRESS    0x1FFFFFFCu
#define COMP_LOW        (1u << 30)  // match the halfword at the address
#define COMP_HIGH       (2u << 30)  // the one after it; with both bits, both
#define COMP_V2_ADDRESS 0xFFFFFFFEu // version 2: each halfword there is
#define CTRL_V2         (1u << 28)
#define REMAP_SUPPORTED (1u << 29)
#define REMAP_WRITABLE  0x1FFFFFE0u

static uint64_t bit_of(uint32_t pc)
{
    return (uint64_t)1 << ((pc >> 1) & 63);
}

static void fill_bloom(struct fpb *f)
{
    f->bloom = 0;
    for (unsigned i = 0; f->enabled && i < f->code; i++) {
        uint32_t c = f->comp[i];
        if (!(c & COMP_ENABLE))
            continue;
        if (f->v2)
            f->bloom |= bit_of(c & COMP_V2_ADDRESS);
        else if (c & COMP_LOW)
            f->bloom |= bit_of(c & COMP_ADDRESS);
        if (!f->v2 && (c & COMP_HIGH))
            f->bloom |= bit_of((c & COMP_ADDRESS) + 2);
    }
}

void fpb_power_on(struct fpb *f)
{
    *f = (struct fpb){.v2 = f->v2, .code = f->code, .literal = f->literal};
}

uint32_t fpb_read(const struct fpb *f, uint32_t offset)
{
    if (offset == FP_CTRL)
        return (f->code & 0xFu) << 4 | f->literal << 8 | (f->enabled ? CTRL_ENABLE : 0) |
               (f->v2 ? CTRL_V2 : 0);
    if (offset == FP_REMAP)
        return f->literal ? REMAP_SUPPORTED | f->remap : 0;
    unsigned n = (offset - FP_COMP0) / 4;
    return offset >= FP_COMP0 && n < f->code + f->literal ? f->comp[n] : 0;
}

void fpb_write(struct fpb *f, uint32_t offset, uint32_t value)
{
    unsigned n = (offset - FP_COMP0) / 4;
    if (offset == FP_CTRL && (value & CTRL_KEY))
        f->enabled = value & CTRL_ENABLE;
    else if (offset == FP_REMAP && f->literal)
        f->remap = value & REMAP_WRITABLE;
    else if (offset >= FP_COMP0 && n < f->code + f->literal)
        f->comp[n] = f->v2 ? value : value & COMP_WRITABLE;
    fill_bloom(f);
}

bool fpb_match(const struct fpb *f, uint32_t pc)
{
    if (!(f->bloom & bit_of(pc)))
        return false;
    for (unsigned i = 0; i < f->code; i++) {
        uint32_t c = f->comp[i];
        if (f->v2) {
            if (c == (pc | COMP_ENABLE))
                return true;
            continue;
        }
        // Comparing with all of pc's upper bits keeps code above 0x1FFFFFFF out of reach, as in the part
        if ((c & COMP_ENABLE) && (pc & ~3u) == (c & COMP_ADDRESS) && (c & (pc & 2 ? COMP_HIGH : COMP_LOW)))
            return true;
    }
    return false;
}
