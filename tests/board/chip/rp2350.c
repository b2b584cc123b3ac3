// The Arm side of an RP2350: two Cortex-M33 on one ADIv6 debug port (no boot ROM: the cores start from
// vector tables in flash). The debug port has two more ports: the debug module of the RISC-V cores, which are
// off, and the RP-AP. With `--core-state riscv` it is the other way round: nothing of the Arm cores answers.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

// Registers from the M33's, and those of the RP2350's data sheet
static const struct cm_profile cortex_m33 = {
    .emulated_as = UC_CPU_ARM_CORTEX_M33,
    .v7m = true,
    .v81m = true,
    .security = true,
    .cpuid = 0x411FD210, // r1p0
    .vtor_mask = 0xFFFFFF80,
    .priority_mask = 0xF0,
    .code_comparators = 8,
    .fpb_v2 = true,
    .watchpoints = 4,
    .entry_cycles = 12, // as the M4's
    .return_cycles = 10,
    .tail_cycles = 6,
    .reference = {12, 0}, // a tick of 1 us at 12 MHz: RP2350 data sheet 8.5
    .hides_dwt = true,
    .rom = {.part = 0x4C9, .class = COMPONENT_ROM, .devtype = COMPONENT_SYSTEM_MEMORY},
    .scs = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47702A04},
    .dwt = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47701A02},
    .fpb = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devarch = 0x47701A03},
    .itm = {.part = 0xD21, .class = COMPONENT_CORESIGHT, .devtype = 0x43, .devarch = 0x47701A01},
    .rom_entries = cm_rom_entries,
    .rom_count = CM_ROM_WITH_ITM,
    .cost = cost_m4,
};

const struct chip chip_rp2350 = {
    .name = "rp2350",
    .create = cm_create,
    .profile = &cortex_m33,
    .start = 0x10000000,
    .second = "core1_vectors",
    .one_port = true,
    .flash = {.base = 0x10000000, .size = 256 * 1024, .alias = 0x10000000},
    .ram = {.base = 0x20000000, .size = 512 * 1024, .alias = 0x20000000, .ram = true},
    .dpidr = 0x4C013477,
    .targetid = 0x00040927,
    .adi_v6 = true,
    .aps = {{.idr = 0x34770008, .base = 0xE00FF003, .wrap = 1024, .at = 0x2000},
            {.idr = 0x34770008, .base = 0xE00FF003, .wrap = 1024, .at = 0x4000, .second = true},
            // The data sheet has no value of its BASE; a debug module has no ROM table
            {.idr = 0x54770006, .base = 2, .wrap = 1024, .debug_bus = true, .words_only = true, .at = 0xA000},
            {.idr = 0x04927002, .no_memory = true, .at = 0x80000}}, // the data sheet has no value of its IDR
    .ap_count = 4,
    .trace = TRACE_RP2350,
};
