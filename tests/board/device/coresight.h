// CoreSight components as a debugger finds them: the identification registers at the end of each one's 4 KB
// (IHI 0029 B2), and the ROM table that leads to them (IHI 0031 D3).
#ifndef BOARD_DEVICE_CORESIGHT_H
#define BOARD_DEVICE_CORESIGHT_H

#include "bus.h"

enum { COMPONENT_ROM = 1, COMPONENT_CORESIGHT = 9, COMPONENT_GENERIC = 14 };
enum { COMPONENT_IDS = 0xFBC, COMPONENT_SIZE = 0x1000 };
// In place of a ROM table's DEVTYPE: memory can be reached on its bus
enum { COMPONENT_SYSTEM_MEMORY = 1 };

struct component {
    uint16_t part;
    uint16_t designer; // JEP106 continuation << 7 | identity; 0: Arm
    uint8_t class, revision;
    uint8_t devtype;
    uint32_t devarch; // 0: it has none
    uint32_t devid, devid1;
};

struct placed_component {
    uint32_t base;
    struct component is;
};

struct rom_table {
    uint32_t base;
    struct component is;
    const uint32_t *entries; // as they are read; what follows them reads as zero
    size_t count;
};

// Offsets from COMPONENT_IDS on; 0 for those that are none of the identification registers
uint32_t component_read(const struct component *, uint32_t offset);

// On a bus: neither can be written. What they point to must outlive the bus.
bool component_add(struct bus *, const struct placed_component *);
bool rom_table_add(struct bus *, const struct rom_table *);

#endif
