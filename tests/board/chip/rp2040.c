// A Cortex-M0+ with the memory map of the RP2040 (no boot ROM: the cores start from vector tables in
// flash). The emulator has no M0+; its M0 executes the same instructions.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

static const struct cm_profile cortex_m0plus = {
    .emulated_as = UC_CPU_ARM_CORTEX_M0,
    .v7m = false,
    .cpuid = 0x410CC601, // DDI 0484C 4.1.1, r0p1
    .vtor_mask = 0xFFFFFF00,
    .priority_mask = 0xC0,
    .code_comparators = 4,
    .literal_comparators = 0,
    .watchpoints = 2,
    .entry_cycles = 15,  // DDI 0484C 3.5.2
    .return_cycles = 13, // ours: the manual gives none
    .tail_cycles = 6,    // ours, as on the M3
    .debug_hidden = true,
    .any_read_clears_countflag = true, // "clears on read by application or debugger", RP2040 data sheet 2.4.8
    // The watchdog's tick of 1 us, which the timer has too, at 12 MHz; 4.7.2, and 2.4.8 for SYST_CALIB
    .reference = {12, 0},
    .rom = {.part = 0x4C0, .class = COMPONENT_ROM, .devtype = COMPONENT_SYSTEM_MEMORY}, // DDI 0484C 7.2
    .scs = {.part = 0x008, .class = COMPONENT_GENERIC},
    .dwt = {.part = 0x00A, .class = COMPONENT_GENERIC},
    .fpb = {.part = 0x00B, .class = COMPONENT_GENERIC},
    .rom_entries = cm_rom_entries,
    .rom_count = CM_ROM_ENTRIES,
    .cost = cost_m0plus,
};

const struct chip chip_rp2040 = {
    .name = "rp2040",
    .create = cm_create,
    .profile = &cortex_m0plus,
    .start = 0x10000000,
    .flash = {.base = 0x10000000, .size = 256 * 1024, .alias = 0x10000000},
    .ram = {.base = 0x20000000, .size = 256 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x0BC12477,
    .targetid = 0x01002927,
    .second = "core1_vectors",
    .aps = {{.idr = 0x04770031, .base = 0xE00FF003, .wrap = 1024}}, // what IHI 0031 C2.6.8 promises
    .ap_count = 1,
    .sysinfo_base = 0x40000000, // RP2040 data sheet 2.2
    .chip_id = 0x20002927,      // 2.20, version 2
    .timer_base = 0x40054000,   // RP2040 data sheet 2.2
    .timer_cycles = 12,         // at 12 MHz, what the crystal has
};
