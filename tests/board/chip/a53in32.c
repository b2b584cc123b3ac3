// A Cortex-A53 as in a53.c whose program is in AArch32 state: EL0 and EL1 are, under firmware at EL3 that is
// in AArch64 state and never runs. It has one core.
#include "chip/chip.h"
#include "cpu/armv7.h"
#include "cpu/armv8.h"

// The events that are modelled, of DDI 0500J table 12-28
static const uint16_t codes[] = {0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0F, 0x13, 0x86};
static const uint8_t events[] = {V7_L1D_REFILL,
                                 V7_L1D_ACCESS,
                                 V7_LOAD,
                                 V7_STORE,
                                 V7_INSTRUCTION,
                                 V7_EXCEPTION,
                                 V7_EXCEPTION_RETURN,
                                 V7_PC_WRITE,
                                 V7_BRANCH_IMMEDIATE,
                                 V7_UNALIGNED,
                                 V7_LOAD_OR_STORE,
                                 V7_IRQ};

static const struct v7_profile engine = {
    .emulated_as = UC_CPU_ARM_CORTEX_A15,
    .has_vbar = true,
    .didr = 0x35160000, // 6 breakpoints, 4 watchpoints, Armv8
    .pmu = {.codes = codes, .events = events, .count = sizeof codes / sizeof *codes},
};

// Identification values: see a53.c
static const struct v8_profile cortex_a53 = {
    .aarch32 = &engine,
    .rw = 8,
    .rw_unknown = 3,
    .midr = 0x410FD034, // r0p4
    .mpidr = 0x80000000,
    .pfr = 0x00002222,
    .dfr = 0x10305106, // 6 breakpoints, 4 watchpoints, PMUv3
    .mmfr = 0x00001122,
    .ctr = 0x84448004,
    .clidr = 0x0A200023,
    .ccsidr = {0x700FE01A, 0x201FE00A, 0x707FE07A, 0},
    .debug = {.part = 0xD03,
              .class = COMPONENT_CORESIGHT,
              .revision = 4,
              .devtype = 0x15,
              .devarch = 0x47706A15,
              .devid = 0x01110F13,
              .devid1 = 0x2}, // PC samples are without an offset
    .cti = {.part = 0x9A8,
            .class = COMPONENT_CORESIGHT,
            .revision = 4,
            .devtype = 0x14,
            .devarch = 0x47701A14,
            .devid = 0x00040800},
    .monitor =
        {.part = 0x9D3, .class = COMPONENT_CORESIGHT, .revision = 4, .devtype = 0x16, .devarch = 0x47702A16},
    .debug_base = 0x80410000,
    .cti_base = 0x80420000,
    .monitor_base = 0x80430000,
    .stride = 0x00100000,
    .pmu = {.counters = 6,
            .id = 0x41030000,
            .ceid = 0x67FFBFFF,
            .codes = codes,
            .events = events,
            .count = sizeof codes / sizeof *codes},
};

// The chip's table leads to the cluster's
static const uint32_t of_the_chip[] = {0x00400003};
static const uint32_t of_the_cluster[] = {
    0x00010003, 0x00020003, 0x00030003, 0x00040003, 0x00110002, 0x00120002, 0x00130002, 0x00140002,
    0x00210002, 0x00220002, 0x00230002, 0x00240002, 0x00310002, 0x00320002, 0x00330002, 0x00340002,
};

static const struct rom_table roms[] = {
    {.base = 0x80000000,
     .is = {.part = 0x0, .designer = 0x49, .class = COMPONENT_ROM}, // Xilinx
     .entries = of_the_chip,
     .count = sizeof of_the_chip / sizeof *of_the_chip},
    {.base = 0x80400000,
     .is = {.part = 0x4A1, .class = COMPONENT_ROM, .revision = 4},
     .entries = of_the_cluster,
     .count = sizeof of_the_cluster / sizeof *of_the_cluster},
};

#define TRACE_UNIT(at)                                                                                       \
    {                                                                                                        \
        .base = (at), .is = {                                                                                \
            .part = 0x95D,                                                                                   \
            .class = COMPONENT_CORESIGHT,                                                                    \
            .revision = 4,                                                                                   \
            .devtype = 0x13,                                                                                 \
            .devarch = 0x47704A13                                                                            \
        }                                                                                                    \
    }
static const struct placed_component plain[] = {TRACE_UNIT(0x80440000)};

static const struct chip_debug debug = {
    .roms = roms,
    .rom_count = sizeof roms / sizeof *roms,
    .plain = plain,
    .plain_count = sizeof plain / sizeof *plain,
    .window = 0xFE800000,
    .window_size = 0x00800000,
};

const struct chip chip_a53in32 = {
    .name = "a53in32",
    .create = v8_create,
    .profile = &cortex_a53,
    .start = 0x00000000,
    .one_port = true,
    .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},
    .ram = {.base = 0x00100000, .size = 256 * 1024, .alias = 0x00100000, .ram = true},
    .idcode = 0x5BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x84770004, .base = 0xFFFFFFFF, .wrap = 1024},
            {.idr = 0x44770002, .base = 0x80000000, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 2,
    .debug = &debug,
};
