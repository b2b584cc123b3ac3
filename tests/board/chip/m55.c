// A Cortex-M55 without Security Extension, vector extension and floating point, with the memory map of the
// m4. The emulator has no M55: its M33 executes, and so lacks what Armv8.1-M added to the instruction set.
// Its timing is that of the m4, nothing of the part's own. The cores of its system are on one AHB5 access
// port.
#include "chip/chip.h"
#include "cpu/cortex_m.h"

// Every component of the core has the core's own number (the Cortex-M55 TRM, 101051, tables of identification
// values); DEVARCH and DEVTYPE say what it is
#define PART          0xD22
#define SYSTEM_MEMORY (1u << 4) // DEVID of a ROM table of class 9, IHI 0029 D7
// Offsets from 0xE00FF000: SCS, DWT, breakpoint unit, monitor, ITM, TPIU, and a trace unit that is not there
static const uint32_t rom_entries[] = {0xFFF0F003, 0xFFF02003, 0xFFF03003, 0xFFF04003,
                                       0xFFF01003, 0xFFF41003, 0xFFF42002};

static const struct cm_profile cortex_m55 = {
    .emulated_as = UC_CPU_ARM_CORTEX_M33,
    .v7m = true,
    .v81m = true,
    .cpuid = 0x411FD221, // r1p1
    .vtor_mask = 0xFFFFFF80,
    .priority_mask = 0xE0,
    .code_comparators = 8,
    .literal_comparators = 0,
    .watchpoints = 4,
    .fpb_v2 = true,
    .entry_cycles = 12, // as the M4's
    .return_cycles = 10,
    .tail_cycles = 6,
    .watch_delay = 2, // ours; the architecture sets no limit
    .any_read_clears_countflag = false,
    .data_cache = true,
    .rom = {.part = PART, .class = COMPONENT_CORESIGHT, .devarch = 0x47700AF7, .devid = SYSTEM_MEMORY},
    .scs = {.part = PART, .class = COMPONENT_CORESIGHT, .devarch = 0x47702A04},
    .dwt = {.part = PART, .class = COMPONENT_CORESIGHT, .devarch = 0x47711A02},
    .fpb = {.part = PART, .class = COMPONENT_CORESIGHT, .devarch = 0x47701A03},
    .itm = {.part = PART, .class = COMPONENT_CORESIGHT, .devtype = 0x43, .devarch = 0x47701A01},
    .pmu = {.part = PART, .class = COMPONENT_CORESIGHT, .devtype = 0x16, .devarch = 0x47700A06},
    .rom_entries = rom_entries,
    .rom_count = sizeof rom_entries / sizeof *rom_entries,
    .event_counters = PMU_V81M_COUNTERS,
    .cost = cost_m4,
};

const struct chip chip_m55 = {
    .name = "m55",
    .create = cm_create,
    .profile = &cortex_m55,
    .start = 0x00000000,
    .flash = {.base = 0x08000000, .size = 256 * 1024, .alias = 0},
    .ram = {.base = 0x20000000, .size = 128 * 1024, .alias = 0x20000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x14770005, .base = 0xE00FF003, .wrap = 1024}}, // AHB5, IHI 0031 table C2-4
    .ap_count = 1,
    .trace = TRACE_CORE_TPIU,
};
