// A Cortex-R5 with addresses as on a TMS570LC43: its performance monitor is in CP15 alone. It starts in flash
// at 0.
#include "chip/chip.h"
#include "cpu/armv7.h"

// The events that are modelled, as this core numbers them (DDI 0460 table 6-1). It has no event for cycles.
static const uint16_t codes[] = {0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E, 0x0F};
static const uint8_t events[] = {V7_L1D_REFILL,
                                 V7_L1D_ACCESS,
                                 V7_LOAD,
                                 V7_STORE,
                                 V7_INSTRUCTION,
                                 V7_EXCEPTION,
                                 V7_EXCEPTION_RETURN,
                                 V7_PC_WRITE,
                                 V7_BRANCH_IMMEDIATE,
                                 V7_RETURN,
                                 V7_UNALIGNED};

static const struct v7_profile cortex_r5 = {
    .emulated_as = UC_CPU_ARM_CORTEX_R5,
    .midr = 0x411FC153, // DDI 0460 4.3.2, r1p3
    .mpidr = 0xC0000000,
    .didr = 0x77040013, // DDI 0460 11.4.1: 8 breakpoints, 8 watchpoints, Armv7 debug with the basic CP14
                        // registers
    .authstatus = 0xAF,
    .breakpoints = 8,
    .watchpoints = 8,
    .debug = {.part = 0xC15, .class = COMPONENT_CORESIGHT, .revision = 3, .devtype = 0x15},
    .cti = {.part = 0x906, .class = COMPONENT_CORESIGHT, .devtype = 0x14, .devid = 0x00040800},
    .debug_base = 0x80001000,
    .cti_base = 0x80005000,
    .pmu = {.version = 1,
            .counters = 3,
            .pmcr = 0x41151800,
            .codes = codes,
            .events = events,
            .count = sizeof codes / sizeof *codes},
};

static const uint32_t entries[] = {0x00001003, 0x00003003, 0x00004003, 0x00005003};

static const struct rom_table rom = {
    .base = 0x80000000,
    .is = {.part = 0xB95, .designer = 0x17, .class = COMPONENT_ROM}, // Texas Instruments; the number is ours
    .entries = entries,
    .count = sizeof entries / sizeof *entries,
};

static const struct placed_component plain[] = {
    {.base = 0x80003000, .is = {.part = 0x931, .class = COMPONENT_CORESIGHT, .devtype = 0x13}}, // ETM
    {.base = 0x80004000, .is = {.part = 0x912, .class = COMPONENT_CORESIGHT, .devtype = 0x11}}, // TPIU
};

static const struct chip_debug debug = {
    .roms = &rom,
    .rom_count = 1,
    .plain = plain,
    .plain_count = sizeof plain / sizeof *plain,
};

const struct chip chip_r5 = {
    .name = "r5",
    .create = v7_create,
    .profile = &cortex_r5,
    .start = 0x00000000,
    .one_port = true,
    .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},
    .ram = {.base = 0x08000000, .size = 256 * 1024, .alias = 0x08000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x44770001, .base = 0xFFFFFFFF, .wrap = 1024},
            {.idr = 0x24770002, .base = 0x80000003, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 2,
    .debug = &debug,
};
