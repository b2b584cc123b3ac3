// A Cortex-M7 with the memory map of the m4. Its timing is that of the m4 but for a data cache, whose misses
// take time; the caches hold no data themselves. It has what shows a debugger that it is not an M4:
// erratum 3092511, breakpoint comparators for all of memory, and a lock before its DWT.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

static const struct cm_profile cortex_m7 = {
    .emulated_as = UC_CPU_ARM_CORTEX_M7,
    .v7m = true,
    .cpuid = 0x411FC271, // DDI 0489 (Cortex-M7 TRM) 3.1, r1p1
    .vtor_mask = 0xFFFFFF80,
    .priority_mask = 0xF0,
    .code_comparators = 8,
    .fpb_v2 = true,
    .watchpoints = 4,
    .entry_cycles = 12, // as the M4's
    .return_cycles = 10,
    .tail_cycles = 6,
    .reference = {8, 0x4000493E}, // HCLK/8; SKEW, TENMS 18750: RM0385 10.1.2
    .halts_in_handler = true,
    .data_cache = true,
    .dwt_lock = true,
    .hides_dwt = true,
    .ccr_always = 0x00030000, // IC, DC: DDI 0403E B3.2.8
    .miss_cycles = 9,
    .mvfr0 = 0x10110221,
    .mvfr1 = 0x12000011,
    .rom = {.part = 0x4C7, .class = COMPONENT_ROM, .devtype = COMPONENT_SYSTEM_MEMORY},
    .scs = {.part = 0x00C, .class = COMPONENT_GENERIC},
    .dwt = {.part = 0x002, .class = COMPONENT_GENERIC},
    .fpb = {.part = 0x00E, .class = COMPONENT_GENERIC},
    .itm = {.part = 0x001, .class = COMPONENT_GENERIC},
    .rom_entries = cm_rom_entries,
    .rom_count = CM_ROM_WITH_TPIU,
    .cost = cost_m4,
};

const struct chip chip_m7 = {
    .name = "m7",
    .create = cm_create,
    .profile = &cortex_m7,
    .start = 0x00000000,
    .flash = {.base = 0x08000000, .size = 256 * 1024, .alias = 0},
    .ram = {.base = 0x20000000, .size = 128 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x84770001, .base = 0xE00FF003, .wrap = 1024}},
    .ap_count = 1,
    .trace = TRACE_CORE_TPIU,
};

// The same core with the debug side of an STM32H743: two more access ports, trace through funnels and an ETF
const struct chip chip_h7 = {
    .name = "h7",
    .create = cm_create,
    .profile = &cortex_m7,
    .start = 0x00000000,
    .flash = {.base = 0x08000000, .size = 256 * 1024, .alias = 0},
    .ram = {.base = 0x20000000, .size = 128 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps =
        {{.idr = 0x84770001, .base = 0xE00FF003, .wrap = 1024},
         {.idr = 0x84770001, .base = 2, .wrap = 1024, .debug_bus = true}, // domain 1's bus; nothing is on it
         {.idr = 0x54770002, .base = 0xE00E0003, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 3,
    .trace = TRACE_H7,
};
