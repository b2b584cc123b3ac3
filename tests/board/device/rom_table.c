// The ROM table that leads a debugger to the core's debug components, the identification registers that every
// one of them ends with (IHI 0031, "Component and Peripheral ID registers"), and the rest of the private bus,
// which reads as zero.
#include "cpu/cortex_m.h"

enum { PIDR4 = 0xFD0, PIDR0 = 0xFE0, PIDR1 = 0xFE4, PIDR2 = 0xFE8, CIDR0 = 0xFF0, MEMTYPE = 0xFCC };
enum { JEP106_ARM = 0x3B, CONTINUATION_ARM = 4, CLASS_ROM_TABLE = 1 };

uint32_t cm_component_id(uint16_t part, unsigned component_class, uint32_t offset)
{
    static const uint8_t preamble[] = {0x0D, 0x00, 0x05, 0xB1};
    switch (offset) {
    case PIDR4:
        return CONTINUATION_ARM;
    case PIDR0:
        return part & 0xFF;
    case PIDR1:
        return (JEP106_ARM & 0xF) << 4 | part >> 8;
    case PIDR2:
        return 1u << 3 | JEP106_ARM >> 4; // bit 3: the designer's code is JEDEC's
    default:
        if (offset < CIDR0)
            return 0;
        return preamble[(offset - CIDR0) / 4 & 3] | (offset == CIDR0 + 4 ? component_class << 4 : 0);
    }
}

static uint32_t rom_table_read(void *self, uint32_t offset, enum bus_master master)
{
    // Offsets to SCS, DWT and breakpoint unit from 0xE00FF000, each present and of 32-bit format
    static const uint32_t entries[] = {0xFFF0F003, 0xFFF02003, 0xFFF03003};
    const struct cortex_m *cm = self;
    (void)master;
    if (offset / 4 < sizeof entries / sizeof *entries)
        return entries[offset / 4];
    if (offset == MEMTYPE)
        return 1; // system memory can be reached on this bus
    return offset >= PIDR4 ? cm_component_id(cm->profile->rom_part, CLASS_ROM_TABLE, offset) : 0;
}

static uint32_t nothing_read(void *self, uint32_t offset, enum bus_master master)
{
    (void)self, (void)offset, (void)master;
    return 0;
}

static void nothing_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    (void)self, (void)offset, (void)value, (void)master;
}

bool cm_add_rom_table(struct cortex_m *cm)
{
    struct bus *bus = cm->core.bus;
    return bus_add_device(bus, (struct device){0xE00FF000, 0x1000, rom_table_read, nothing_write, cm}) &&
           bus_add_device(bus, (struct device){0xE0000000, 0x100000, nothing_read, nothing_write, cm});
}
