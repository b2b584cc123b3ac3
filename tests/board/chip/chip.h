// A chip as a table: its cores, its memories, its debug port, and what is on its debug bus.
#ifndef BOARD_CHIP_CHIP_H
#define BOARD_CHIP_CHIP_H

#include "adi.h"
#include "cpu/core.h"
#include "device/coresight.h"
#include "device/trace_unit.h"

struct chip_memory {
    uint32_t base, size;
    uint32_t alias; // a second base for the same bytes, or the same as base
    bool ram;
};

struct chip_ap {
    uint32_t idr, base;
    uint32_t wrap;   // within how many bytes TAR increments
    bool debug_bus;  // leads to the debug bus, else to the core's
    bool words_only; // as APB is
    uint32_t at;     // ADIv6: where the debug port has its registers; 0: the first free place
    bool second;     // leads to the second core's bus
    bool no_memory;  // leads nowhere: it says its IDR
};

// The debug bus of chips whose debug components are not on the core's own bus. The cores put theirs
// there themselves.
struct chip_debug {
    const struct rom_table *roms;
    size_t rom_count;
    const struct placed_component *plain; // that only say what they are
    size_t plain_count;
    uint32_t window, window_size; // where the cores' buses show it; of size 0: nowhere
};

struct chip {
    const char *name;
    struct core *(*create)(const struct core_plan *);
    const void *profile; // of the kind of core that `create` makes
    uint32_t start;      // of the first core
    // A second core starts at what the firmware calls so; NULL: there is none
    const char *second;
    bool one_port; // the cores share a debug port, else each has its own
    struct chip_memory flash, ram;
    uint32_t idcode; // of the JTAG tap
    uint32_t dpidr;
    uint32_t targetid; // of a debug port with multidrop, else 0; the core's number is the instance
    bool adi_v6;       // DPv3, which answers without TARGETSEL as well, and is dormant at first
    struct chip_ap aps[ADI_APS];
    size_t ap_count;
    enum trace_route trace;
    const struct chip_debug *debug; // NULL: there is no debug bus
    // The RP2040's timer and the core clock's cycles in a microsecond; 0: there is none
    uint32_t timer_base, timer_cycles;
    uint32_t sysinfo_base, chip_id; // SYSINFO's CHIP_ID; base 0: there is none
};

extern const struct chip chip_rp2040, chip_rp2350, chip_m4, chip_m7, chip_m33, chip_m55, chip_a9, chip_a7,
    chip_r5, chip_a53, chip_a55, chip_a53in32, chip_r52, chip_h7;

// NULL if there is none of that name
const struct chip *chip_named(const char *name);
// All names, with '|' between
void chip_print_names(FILE *);

#endif
