// A Cortex-A7 with debug addresses as on a SAMA7G5; its ROM table has room for more cores than there are. No
// MMU is used, no boot ROM is there: the core starts in flash at 0.
#include "chip/chip.h"
#include "cpu/armv7.h"

// The events that are modelled, as this core numbers them (DDI 0464 table 11-3)
static const uint16_t codes[] = {0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A,
                                 0x0C, 0x0D, 0x0E, 0x0F, 0x13, 0x86};
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
                                 V7_UNALIGNED,
                                 V7_L1D_ACCESS,
                                 V7_IRQ};

static const struct v7_profile cortex_a7 = {
    .emulated_as = UC_CPU_ARM_CORTEX_A7,
    .midr = 0x410FC075, // DDI 0464 4.3.1, r0p5
    .mpidr = 0x80000000,
    .has_vbar = true,
    .didr = 0x3515F005, // DDI 0464 10.4.1: 6 breakpoints, 4 watchpoints, debug v7.1
    .devid = 0x01110F13,
    .authstatus = 0xFF,
    .v71 = true,
    .breakpoints = 6,
    .watchpoints = 4,
    .debug = {.part = 0xC07, .class = COMPONENT_CORESIGHT, .revision = 5, .devtype = 0x15},
    .monitor = {.part = 0x9A7, .class = COMPONENT_CORESIGHT, .revision = 5, .devtype = 0x16},
    .debug_base = 0x80030000,
    .debug_stride = 0x2000,
    .monitor_offset = 0x1000,
    .cti = {.part = 0x906, .class = COMPONENT_CORESIGHT, .devtype = 0x14, .devid = 0x00040800},
    .cti_base = 0x80038000,
    .pmu = {.version = 2,
            .counters = 4,
            .pmcr = 0x41072000,
            .codes = codes,
            .events = events,
            .count = sizeof codes / sizeof *codes,
            .has_cycle_event = true,
            .ceid = 0x23FFFFFF},
};

static const uint32_t of_the_chip[] = {0x00020003};
// Debug and performance monitor of four cores, their CTIs, their ETMs: those of the first only are there
static const uint32_t of_the_cores[] = {
    0x00010003, 0x00011003, 0x00012002, 0x00013002, 0x00014002, 0x00015002, 0x00016002, 0x00017002,
    0x00018003, 0x00019002, 0x0001A002, 0x0001B002, 0x0001C003, 0x0001D002, 0x0001E002, 0x0001F002};

static const struct rom_table roms[] = {
    {.base = 0x80000000,
     .is = {.part = 0x162, .designer = 0x1F, .class = COMPONENT_ROM}, // Atmel
     .entries = of_the_chip,
     .count = sizeof of_the_chip / sizeof *of_the_chip},
    {.base = 0x80020000,
     .is = {.part = 0x4A7, .class = COMPONENT_ROM},
     .entries = of_the_cores,
     .count = sizeof of_the_cores / sizeof *of_the_cores},
};

static const struct placed_component plain[] = {
    {.base = 0x8003C000, .is = {.part = 0x956, .class = COMPONENT_CORESIGHT, .devtype = 0x13}}, // ETM
};

static const struct chip_debug debug = {
    .roms = roms,
    .rom_count = sizeof roms / sizeof *roms,
    .plain = plain,
    .plain_count = sizeof plain / sizeof *plain,
};

const struct chip chip_a7 = {
    .name = "a7",
    .create = v7_create,
    .profile = &cortex_a7,
    .start = 0x00000000,
    .one_port = true,
    .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},
    .ram = {.base = 0x60000000, .size = 256 * 1024, .alias = 0x60000000, .ram = true},
    .idcode = 0x4BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x64770001, .base = 0x00000002, .wrap = 1024},
            {.idr = 0x44770002, .base = 0x80000003, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 2,
    .debug = &debug,
};
