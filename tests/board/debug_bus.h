// A chip's debug bus (the CoreSight APB): its ROM tables, the components that belong to no core, and the
// window through which the cores themselves see it, with the software lock of each component in force.
#ifndef BOARD_DEBUG_BUS_H
#define BOARD_DEBUG_BUS_H

#include "chip/chip.h"

// Both do nothing where the chip has none of it
bool debug_bus_set_up(struct bus *, const struct chip_debug *);
bool debug_bus_show(struct bus *, struct bus *of_a_core, const struct chip_debug *);

#endif
