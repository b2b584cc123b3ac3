// Identification registers and ROM tables: see the header.
#include "device/coresight.h"

enum {
    DEVARCH = 0xFBC,
    DEVID1 = 0xFC4,
    DEVID = 0xFC8,
    DEVTYPE = 0xFCC,
    PIDR4 = 0xFD0,
    PIDR0 = 0xFE0,
    PIDR1 = 0xFE4,
    PIDR2 = 0xFE8
};
enum { CIDR0 = 0xFF0, CIDR1 = 0xFF4, CIDR2 = 0xFF8, CIDR3 = 0xFFC };
enum { JEP106_ARM = 4 << 7 | 0x3B };

uint32_t component_read(const struct component *c, uint32_t offset)
{
    uint32_t designer = c->designer ? c->designer : JEP106_ARM;
    switch (offset) {
    case DEVARCH:
        return c->devarch;
    case DEVID1:
        return c->devid1;
    case DEVID:
        return c->devid;
    case DEVTYPE: // in a ROM table MEMTYPE: no system memory on this bus
        return c->devtype;
    case PIDR4:
        return designer >> 7;
    case PIDR0:
        return c->part & 0xFF;
    case PIDR1:
        return (designer & 0xF) << 4 | c->part >> 8;
    case PIDR2: // bit 3: the designer's code is JEDEC's
        return (uint32_t)c->revision << 4 | 1u << 3 | (designer >> 4 & 7);
    case CIDR0:
        return 0x0D;
    case CIDR1:
        return (uint32_t)c->class << 4;
    case CIDR2:
        return 0x05;
    case CIDR3:
        return 0xB1;
    default:
        return 0;
    }
}

static uint32_t plain_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct placed_component *c = self;
    (void)master;
    return component_read(&c->is, offset);
}

static uint32_t rom_read(void *self, uint32_t offset, enum bus_master master)
{
    const struct rom_table *rom = self;
    (void)master;
    return offset / 4 < rom->count ? rom->entries[offset / 4] : component_read(&rom->is, offset);
}

static void no_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)self, (void)offset, (void)value, (void)master;
}

bool component_add(struct bus *bus, const struct placed_component *c)
{
    return bus_add_device(bus, (struct device){.base = c->base,
                                               .size = COMPONENT_SIZE,
                                               .read = plain_read,
                                               .write = no_write,
                                               .self = (void *)c});
}

bool rom_table_add(struct bus *bus, const struct rom_table *rom)
{
    return bus_add_device(bus, (struct device){.base = rom->base,
                                               .size = COMPONENT_SIZE,
                                               .read = rom_read,
                                               .write = no_write,
                                               .self = (void *)rom});
}
