// A chip as a table: its core, its memories, what its debug port says of itself.
#ifndef BOARD_CHIP_CHIP_H
#define BOARD_CHIP_CHIP_H

#include "cpu/cortex_m.h"

struct chip_memory {
    uint32_t base, size;
    uint32_t alias; // a second base for the same bytes, or the same as base
    bool ram;
};

struct chip {
    const char *name;
    const struct cm_profile *core;
    struct chip_memory flash, ram;
    uint32_t idcode; // of the JTAG tap
    uint32_t dpidr;
    uint32_t targetid; // of a debug port with multidrop, else 0; the core's number is the instance
    const char
        *second; // a second core starts from the vector table that the firmware calls so; NULL: there is none
    uint32_t ap_idr, ap_base;
    uint32_t ap_wrap; // within how many bytes TAR increments
};

extern const struct chip chip_rp2040, chip_m4;

// NULL if there is none of that name
const struct chip *chip_named(const char *name);

#endif
