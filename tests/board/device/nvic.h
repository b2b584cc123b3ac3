// Which exceptions are pending, active and enabled, and at which priority: the NVIC's registers and the state
// that ICSR, SHPR and SHCSR show (DDI 0403E B1.5 and B3.4, DDI 0419 B1.5 and B3.4). What follows from it is
// cpu/exceptions.c.
#ifndef BOARD_DEVICE_NVIC_H
#define BOARD_DEVICE_NVIC_H

#include <stdbool.h>
#include <stdint.h>

enum {
    EXC_NONE = 0,
    EXC_NMI = 2,
    EXC_HARDFAULT = 3,
    EXC_SVCALL = 11,
    EXC_DEBUGMONITOR = 12,
    EXC_PENDSV = 14,
    EXC_SYSTICK = 15,
    EXC_IRQ0 = 16,
    NVIC_IRQS = 32,
    NVIC_EXCEPTIONS = EXC_IRQ0 + NVIC_IRQS,
};

struct nvic {
    uint64_t pending, active, enabled; // bit n is exception number n
    uint8_t priority[NVIC_EXCEPTIONS];
    uint8_t priority_mask; // the bits implemented
};

static inline uint64_t exc_bit(unsigned exception)
{
    return (uint64_t)1 << exception;
}

void nvic_reset(struct nvic *);
// Offsets from 0xE000E100
uint32_t nvic_read(const struct nvic *, uint32_t offset);
void nvic_write(struct nvic *, uint32_t offset, uint32_t value);
// Four priorities a word, from an exception number on
uint32_t nvic_priorities(const struct nvic *, unsigned first);
void nvic_set_priorities(struct nvic *, unsigned first, uint32_t value);

#endif
