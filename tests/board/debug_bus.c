// Debug bus: see the header.
#include "debug_bus.h"

// PADDRDBG[31], by which a component knows a debugger's access (IHI 0029; DDI 0406C C11.9)
#define DEBUGGER_BIT (1u << 31)

bool debug_bus_set_up(struct bus *bus, const struct chip_debug *d)
{
    if (!d)
        return true;
    bus->debugger_bit = DEBUGGER_BIT;
    for (size_t i = 0; i < d->plain_count; i++)
        if (!component_add(bus, &d->plain[i]))
            return false;
    for (size_t i = 0; i < d->rom_count; i++)
        if (!rom_table_add(bus, &d->roms[i]))
            return false;
    return true;
}

// The window begins at the bus's address 0: with the debugger's bit clear
static uint32_t window_read(void *self, uint32_t offset, enum bus_master master)
{
    uint32_t value;
    bus_read(self, offset, 4, &value, master);
    return value;
}

static void window_write(void *self, uint32_t offset, uint32_t value, enum bus_master master)
{
    bus_write(self, offset, 4, value, master);
}

static bool window_allows(void *self, uint32_t offset, bool write, enum bus_master master)
{
    return bus_allows(self, offset, write, master);
}

bool debug_bus_show(struct bus *bus, struct bus *of_a_core, const struct chip_debug *d)
{
    if (!d || !d->window_size)
        return true;
    return bus_add_device(of_a_core, (struct device){.base = d->window,
                                                     .size = d->window_size,
                                                     .read = window_read,
                                                     .write = window_write,
                                                     .self = bus,
                                                     .allows = window_allows});
}
