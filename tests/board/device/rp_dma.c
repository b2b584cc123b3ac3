// The RP2350's DMA: see the header.
#include "device/rp_dma.h"

#include <string.h>

enum {
    DMA = 0x50000000,
    DMA_SIZE = 0x1000,
    ACCESS = 0x40060000,
    ACCESS_SIZE = 0x1000,
    CORESIGHT_TRACE = 0x58,
    ABORT = 0x464,
    STRIDE = 0x40,
    DREQ_CORESIGHT = 53
};
enum { READ_ADDR, WRITE_ADDR, TRANS_COUNT, CTRL_TRIG };
enum { NORMAL = 0, TRIGGER_SELF = 1, ENDLESS = 15 };
#define EN              (1u << 0)
#define SIZE(ctrl)      ((ctrl) >> 2 & 3)
#define INCR_READ       (1u << 4)
#define INCR_WRITE      (1u << 6)
#define RING_SIZE(ctrl) ((ctrl) >> 8 & 15)
#define RING_SEL        (1u << 12)
#define TREQ(ctrl)      ((ctrl) >> 17 & 63)
#define BUSY            (1u << 26)
#define READ_ERROR      (1u << 30)
#define AHB_ERROR       (1u << 31)
#define WRITABLE        0x03FFFFFFu
#define COUNT           0x0FFFFFFFu
#define MODE(count)     ((count) >> 28)
#define MAY_RESET       0xB8u
#define MAY_DMA         (1u << 6)
#define MAY_KEY         0xACCEu

static uint32_t dma_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct rp_dma *d = self;
    (void)master;
    if (offset >= RP_CHANNELS * STRIDE)
        return 0;
    const struct rp_channel *c = &d->channels[offset / STRIDE];
    switch (offset % STRIDE / 4) {
    case READ_ADDR:
        return c->read;
    case WRITE_ADDR:
        return c->write;
    case TRANS_COUNT:
        return c->count;
    case CTRL_TRIG:
        return c->ctrl | (c->busy ? BUSY : 0);
    default:
        return 0;
    }
}

static void dma_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct rp_dma *d = self;
    (void)master;
    if (offset == ABORT)
        for (unsigned i = 0; i < RP_CHANNELS; i++)
            d->channels[i].busy = d->channels[i].busy && !(value >> i & 1);
    if (offset >= RP_CHANNELS * STRIDE)
        return;
    struct rp_channel *c = &d->channels[offset / STRIDE];
    switch (offset % STRIDE / 4) {
    case READ_ADDR:
        c->read = value;
        break;
    case WRITE_ADDR:
        c->write = value;
        break;
    case TRANS_COUNT: // takes effect with the next trigger, but reads so at once where nothing is under way
        c->reload = value;
        if (!c->busy)
            c->count = value;
        break;
    case CTRL_TRIG:
        c->ctrl = value & WRITABLE;
        if (value & EN && !c->busy) {
            c->count = c->reload;
            c->busy = c->count & COUNT;
        }
        break;
    default:
        break;
    }
}

static uint32_t access_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct rp_dma *d = self;
    (void)master;
    return offset == CORESIGHT_TRACE ? d->may_trace : 0;
}

static void access_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    struct rp_dma *d = self;
    (void)master;
    if (offset == CORESIGHT_TRACE && value >> 16 == MAY_KEY)
        d->may_trace = value & 0xFF;
}

void rp_dma_power_on(struct rp_dma *d)
{
    memset(d->channels, 0, sizeof d->channels);
    d->may_trace = MAY_RESET;
}

bool rp_dma_add(struct rp_dma *d, struct bus *bus)
{
    d->bus = bus;
    return bus_add_device(
               bus,
               (struct device){
                   .base = DMA, .size = DMA_SIZE, .read = dma_read, .write = dma_write, .self = d}) &&
           bus_add_device(bus, (struct device){.base = ACCESS,
                                               .size = ACCESS_SIZE,
                                               .read = access_read,
                                               .write = access_write,
                                               .self = d});
}

static uint32_t next_in_ring(uint32_t address, uint32_t ring)
{
    uint32_t mask = ring ? (1u << ring) - 1 : UINT32_MAX;
    return (address & ~mask) | ((address + 4) & mask);
}

bool rp_dma_takes(struct rp_dma *d, uint32_t fifo, uint32_t word)
{
    for (unsigned i = 0; i < RP_CHANNELS; i++) {
        struct rp_channel *c = &d->channels[i];
        if (!c->busy || !(c->ctrl & EN) || TREQ(c->ctrl) != DREQ_CORESIGHT || c->read != fifo ||
            SIZE(c->ctrl) != 2)
            continue;
        uint8_t *to = bus_bytes(d->bus, c->write, 4);
        if (!(d->may_trace & MAY_DMA) || !to) { // the bus refuses it, and the channel halts
            c->ctrl |= READ_ERROR | AHB_ERROR;
            c->busy = false;
            return false;
        }
        memcpy(to, &word, 4);
        if (c->ctrl & INCR_READ)
            c->read = next_in_ring(c->read, c->ctrl & RING_SEL ? 0 : RING_SIZE(c->ctrl));
        if (c->ctrl & INCR_WRITE)
            c->write = next_in_ring(c->write, c->ctrl & RING_SEL ? RING_SIZE(c->ctrl) : 0);
        if (MODE(c->count) != ENDLESS && (--c->count & COUNT) == 0) {
            c->busy = MODE(c->reload) == TRIGGER_SELF;
            c->count = c->busy ? c->reload : 0;
        }
        return true;
    }
    return false;
}

unsigned rp_dma_set(const struct rp_dma *d)
{
    unsigned n = 0;
    for (unsigned i = 0; i < RP_CHANNELS; i++) {
        const struct rp_channel *c = &d->channels[i];
        n += c->read || c->write || c->count || c->ctrl || c->busy;
    }
    return n;
}
