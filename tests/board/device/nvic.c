// NVIC registers: see the header.
#include "device/nvic.h"

#include <string.h>

// Offsets from 0xE000E100 (DDI 0403E B3.4.4 and following)
enum { ISER = 0x000, ICER = 0x080, ISPR = 0x100, ICPR = 0x180, IABR = 0x200, IPR = 0x300 };

void nvic_reset(struct nvic *n)
{
    n->pending = 0;
    n->active = 0;
    n->enabled = exc_bit(EXC_IRQ0) - 1; // what is not an interrupt is always enabled
    memset(n->priority, 0, sizeof n->priority);
}

uint32_t nvic_read(const struct nvic *n, uint32_t offset)
{
    switch (offset) {
    case ISER:
    case ICER:
        return (uint32_t)(n->enabled >> EXC_IRQ0);
    case ISPR:
    case ICPR:
        return (uint32_t)(n->pending >> EXC_IRQ0);
    case IABR:
        return (uint32_t)(n->active >> EXC_IRQ0);
    default:
        return offset >= IPR && offset < IPR + NVIC_IRQS ? nvic_priorities(n, EXC_IRQ0 + (offset - IPR)) : 0;
    }
}

void nvic_write(struct nvic *n, uint32_t offset, uint32_t value)
{
    uint64_t bits = (uint64_t)value << EXC_IRQ0;
    switch (offset) {
    case ISER:
        n->enabled |= bits;
        break;
    case ICER:
        n->enabled &= ~bits;
        break;
    case ISPR:
        n->pending |= bits;
        break;
    case ICPR:
        n->pending &= ~bits;
        break;
    default:
        if (offset >= IPR && offset < IPR + NVIC_IRQS)
            nvic_set_priorities(n, EXC_IRQ0 + (offset - IPR), value);
        break;
    }
}

uint32_t nvic_priorities(const struct nvic *n, unsigned first)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4 && first + i < NVIC_EXCEPTIONS; i++)
        word |= (uint32_t)n->priority[first + i] << (8 * i);
    return word;
}

void nvic_set_priorities(struct nvic *n, unsigned first, uint32_t value)
{
    for (unsigned i = 0; i < 4 && first + i < NVIC_EXCEPTIONS; i++)
        n->priority[first + i] = (uint8_t)(value >> (8 * i)) & n->priority_mask;
}
