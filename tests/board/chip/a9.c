// Two Cortex-A9 with the debug side of a Zynq-7000: its access ports, its ROM tables, its debug components.
// No MMU is used, no boot ROM is there: the cores start in flash at 0.
#include "chip/chip.h"
#include "cpu/armv7.h"

// The events that are modelled, as this core numbers them (DDI 0388I table 11-5). It has no 0x08 and no 0x0E.
static const uint16_t codes[] = {0x03, 0x04, 0x06, 0x07, 0x09, 0x0A, 0x0C, 0x0D,
                                 0x0F, 0x68, 0x6E, 0x72, 0x90, 0x91, 0x92, 0x93};
static const uint8_t events[] = {V7_L1D_REFILL, V7_L1D_ACCESS,
                                 V7_LOAD,       V7_STORE,
                                 V7_EXCEPTION,  V7_EXCEPTION_RETURN,
                                 V7_PC_WRITE,   V7_BRANCH_IMMEDIATE,
                                 V7_UNALIGNED,  V7_INSTRUCTION,
                                 V7_RETURN,     V7_LOAD_OR_STORE,
                                 V7_ISB,        V7_DSB,
                                 V7_DMB,        V7_IRQ};

static const struct v7_profile cortex_a9 = {
    .emulated_as = UC_CPU_ARM_CORTEX_A9,
    .midr = 0x413FC090, // DDI 0388I 4.3.1, r3p0
    .mpidr = 0x80000000,
    .has_vbar = true,
    .didr = 0x35137030, // DDI 0388I 10.3.1: 6 breakpoints, 4 watchpoints, Armv7 debug with all of CP14
    .authstatus = 0xFF,
    .samples_targets = true,
    .breakpoints = 6,
    .watchpoints = 4,
    .debug = {.part = 0xC09, .class = COMPONENT_CORESIGHT, .revision = 1, .devtype = 0x15},
    .monitor = {.part = 0x9A0, .class = COMPONENT_CORESIGHT, .revision = 1, .devtype = 0x16},
    .debug_base = 0x80090000,
    .debug_stride = 0x2000,
    .monitor_offset = 0x1000,
    .cti = {.part = 0x906, .class = COMPONENT_CORESIGHT, .devtype = 0x14, .devid = 0x00040800},
    .cti_base = 0x80098000,
    .cti_stride = 0x1000,
    .pmu = {.version = 1,
            .counters = 6,
            .pmcr = 0x41093000,
            .codes = codes,
            .events = events,
            .count = sizeof codes / sizeof *codes,
            .has_cycle_event = true},
};

// UG585 table 28-5: the first table leads to the second one
static const uint32_t of_the_chip[] = {0x00001003, 0x00002003, 0x00003003,
                                       0x00004003, 0x00005003, 0x00080003};
static const uint32_t of_the_cores[] = {0x00010003, 0x00011003, 0x00012003, 0x00013003,
                                        0x00018003, 0x00019003, 0x0001C003, 0x0001D003};

static const struct rom_table roms[] = {
    {.base = 0x80000000,
     .is = {.part = 0x3B2, .designer = 0x49, .class = COMPONENT_ROM}, // Xilinx
     .entries = of_the_chip,
     .count = sizeof of_the_chip / sizeof *of_the_chip},
    {.base = 0x80080000,
     .is = {.part = 0x4A9, .class = COMPONENT_ROM},
     .entries = of_the_cores,
     .count = sizeof of_the_cores / sizeof *of_the_cores},
};

#define PLAIN(at, number, type)                                                                              \
    {                                                                                                        \
        .base = (at), .is = {.part = (number), .class = COMPONENT_CORESIGHT, .devtype = (type) }             \
    }
static const struct placed_component plain[] = {
    PLAIN(0x80001000, 0x907, 0x21), // ETB
    PLAIN(0x80002000, 0x906, 0x14), // CTI
    PLAIN(0x80003000, 0x912, 0x11), // TPIU
    PLAIN(0x80004000, 0x908, 0x12), // funnel
    PLAIN(0x80005000, 0x913, 0x43), // ITM
    PLAIN(0x8009C000, 0x950, 0x13), // PTM of core 0
    PLAIN(0x8009D000, 0x950, 0x13), // and of core 1
};

static const struct chip_debug debug = {
    .roms = roms,
    .rom_count = sizeof roms / sizeof *roms,
    .plain = plain,
    .plain_count = sizeof plain / sizeof *plain,
    .window = 0xF8800000,
    .window_size = 0x00100000,
};

const struct chip chip_a9 = {
    .name = "a9",
    .create = v7_create,
    .profile = &cortex_a9,
    .start = 0x00000000,
    .second = "core1_start",
    .one_port = true,
    .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},
    .ram = {.base = 0x00100000, .size = 256 * 1024, .alias = 0x00100000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x44770001, .base = 0xFFFFFFFF, .wrap = 1024},
            {.idr = 0x24770002, .base = 0x80000000, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 2,
    .debug = &debug,
};
