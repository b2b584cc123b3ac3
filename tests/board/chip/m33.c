// A Cortex-M33 with the Security Extension as a debugger meets it, and the memory map of the m4: the program
// stays in the Secure state, or with `--core-state non-secure` in the other. Its timing is that of the m4.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

static const struct cm_profile cortex_m33 = {
    .emulated_as = UC_CPU_ARM_CORTEX_M33,
    .v7m = true,
    .v81m = true,
    .security = true,
    .cpuid = 0x410FD214, // r0p4
    .vtor_mask = 0xFFFFFF80,
    .priority_mask = 0xE0,
    .code_comparators = 8,
    .fpb_v2 = true,
    .watchpoints = 4,
    .entry_cycles = 12, // as the M4's
    .return_cycles = 10,
    .tail_cycles = 6,
    .reference = {8, 0x4000493E}, // HCLK/8, as the m4's
    .hides_dwt = true,
    // An STM32H563 as its core sees it, by ST's stm32h563xx.h (0x44024000; 0xE0044000 is seen at port 0
    // alone, which is not modelled); RM0481 59.12.4: TRACE_IOEN and TRACE_EN
    .dbgmcu_idcode = 0x10016484,
    .dbgmcu_base = 0x44024000,
    .gpiob = 0x42020400,
    .trace_bits = 3 << 4,
    .rom = {.part = 0x4C9, .class = COMPONENT_ROM, .devtype = COMPONENT_SYSTEM_MEMORY},
    .scs = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47702A04},
    .dwt = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47701A02},
    .fpb = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47701A03},
    .itm = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devtype = 0x43, .devarch = 0x47701A01},
    .rom_entries = cm_rom_entries,
    .rom_count = CM_ROM_WITH_TPIU,
    .cost = cost_m4,
};

const struct chip chip_m33 = {
    .name = "m33",
    .create = cm_create,
    .profile = &cortex_m33,
    .start = 0x00000000,
    .flash = {.base = 0x08000000, .size = 256 * 1024, .alias = 0},
    .ram = {.base = 0x20000000, .size = 128 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x14770015, .base = 0xE00FF003, .wrap = 1024}},
    .ap_count = 1,
    .trace = TRACE_CORE_TPIU,
};
