// A Cortex-M4F with the memory map of many STM32F4: flash at 0x08000000 and again at 0.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

static const struct cm_profile cortex_m4 = {
    .emulated_as = UC_CPU_ARM_CORTEX_M4,
    .v7m = true,
    .cpuid = 0x410FC241, // DDI 0439 4.1, r0p1
    .vtor_mask = 0xFFFFFF80,
    .priority_mask = 0xF0,
    .code_comparators = 6,
    .literal_comparators = 2,
    .watchpoints = 4,
    .entry_cycles = 12, // DDI 0439 3.9
    .return_cycles = 10,
    .tail_cycles = 6,
    .reference = {8, 0x4000493E},       // HCLK/8; SKEW, TENMS 18750: RM0090 12.1.3
    .watch_delay = 2,                   // ours; the architecture sets no limit
    .any_read_clears_countflag = false, // only as AHB-AP MasterType 0, DDI 0337 (M3) SysTick CSR
    .mvfr0 = 0x10110021,                // DDI 0439 7.2
    .mvfr1 = 0x11000011,
    .dbgmcu_idcode = 0x10076413, // RM0090 38.6.1: STM32F405 and F407, revision Z
    .dbgmcu_base = 0xE0042000,
    .gpiob = 0x40020400,
    .trace_bits = 1 << 5, // TRACE_IOEN: RM0090 38.16.3
    .rom = {.part = 0x4C4, .class = COMPONENT_ROM, .devtype = COMPONENT_SYSTEM_MEMORY}, // DDI 0439 4.3
    .scs = {.part = 0x00C, .class = COMPONENT_GENERIC},
    .dwt = {.part = 0x002, .class = COMPONENT_GENERIC},
    .fpb = {.part = 0x003, .class = COMPONENT_GENERIC},
    .itm = {.part = 0x001, .class = COMPONENT_GENERIC},
    .rom_entries = cm_rom_entries,
    .rom_count = CM_ROM_WITH_TPIU,
    .cost = cost_m4,
};

const struct chip chip_m4 = {
    .name = "m4",
    .create = cm_create,
    .profile = &cortex_m4,
    .start = 0x00000000,
    .flash = {.base = 0x08000000, .size = 256 * 1024, .alias = 0},
    .ram = {.base = 0x20000000, .size = 128 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x24770011, .base = 0xE00FF003, .wrap = 4096}}, // DDI 0439 and DDI 0337, AHB-AP TAR
    .ap_count = 1,
    .trace = TRACE_CORE_TPIU,
};
