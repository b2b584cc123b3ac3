// The DMA of an RP2350 as far as its trace FIFO needs it, and the register that lets it read there. Data
// sheet, 12.6 and 10.6; pico-sdk's regs/dma.h and regs/accessctrl.h.
#ifndef BOARD_DEVICE_RP_DMA_H
#define BOARD_DEVICE_RP_DMA_H

#include "bus.h"

enum { RP_CHANNELS = 16 };

struct rp_dma {
    struct bus *bus; // its memories are those of all cores
    struct rp_channel {
        uint32_t read, write, count, reload, ctrl;
        bool busy;
    } channels[RP_CHANNELS];
    uint32_t may_trace;
};

void rp_dma_power_on(struct rp_dma *);
bool rp_dma_add(struct rp_dma *, struct bus *);
// A word is in the trace FIFO: whether a channel takes it
bool rp_dma_takes(struct rp_dma *, uint32_t fifo, uint32_t word);

// Channels of which a register is not zero
unsigned rp_dma_set(const struct rp_dma *);

#endif
