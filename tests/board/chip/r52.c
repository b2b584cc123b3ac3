// A Cortex-R52, with addresses of ours: Armv8-R, which has AArch32 state only. It starts in flash at 0, in
// Hyp mode. Its timing is one cycle an instruction, nothing of the
// part's own; it has as many comparators as the board's other Armv8 cores.
#include "chip/chip.h"
#include "cpu/armv7.h"
#include "cpu/armv8.h"

// The events that are modelled, as this core numbers them (DDI 100026 table 8-10)
static const uint16_t codes[] = {0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0C, 0x0D, 0x0E, 0x0F, 0x13};
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
                                 V7_LOAD_OR_STORE};

static const struct v7_profile engine = {
    .emulated_as = UC_CPU_ARM_CORTEX_R5,
    .has_hyp = true,
    .didr = 0x35160000, // 6 breakpoints, 4 watchpoints, Armv8
    .pmu = {.codes = codes, .events = events, .count = sizeof codes / sizeof *codes},
};

static const struct v8_profile cortex_r52 = {
    .aarch32 = &engine,
    .rw = 0,            // of levels that cannot be in AArch64 state no bit is UNKNOWN
    .midr = 0x411FD133, // r1p3
    .mpidr = 0x80000000,
    .dfr = 0x10305106, // 6 breakpoints, 4 watchpoints, PMUv3
    .debug = {.part = 0xD13,
              .class = COMPONENT_CORESIGHT,
              .revision = 1,
              .devtype = 0x15,
              .devarch = 0x47706A05,
              .devid = 0x01110F13,
              .devid1 = 0x2}, // PC samples are without an offset
    .cti = {.part = 0x9B6,
            .class = COMPONENT_CORESIGHT,
            .revision = 1,
            .devtype = 0x14,
            .devarch = 0x47701A14,
            .devid = 0x00040800},
    .monitor =
        {.part = 0x9B6, .class = COMPONENT_CORESIGHT, .revision = 1, .devtype = 0x16, .devarch = 0x47702A16},
    .debug_base = 0x80010000,
    .cti_base = 0x80020000,
    .monitor_base = 0x80030000,
    .stride = 0x00100000,
    .pmu = {.counters = 4,
            .id = 0x41130000,
            .ceid = 0x67FFFFFF,
            .codes = codes,
            .events = events,
            .count = sizeof codes / sizeof *codes},
};

static const uint32_t entries[] = {0x00010003, 0x00020003, 0x00030003};

static const struct rom_table rom = {
    .base = 0x80000000,
    .is = {.part = 0x4B6, .class = COMPONENT_ROM, .revision = 1},
    .entries = entries,
    .count = sizeof entries / sizeof *entries,
};

static const struct chip_debug debug = {.roms = &rom, .rom_count = 1};

const struct chip chip_r52 = {
    .name = "r52",
    .create = v8_create,
    .profile = &cortex_r52,
    .start = 0x00000000,
    .one_port = true,
    .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},
    .ram = {.base = 0x08000000, .size = 256 * 1024, .alias = 0x08000000, .ram = true},
    .idcode = 0x5BA00477,
    .dpidr = 0x2BA01477,
    .aps = {{.idr = 0x84770004, .base = 0xFFFFFFFF, .wrap = 1024},
            {.idr = 0x44770002, .base = 0x80000000, .wrap = 1024, .debug_bus = true, .words_only = true}},
    .ap_count = 2,
    .debug = &debug,
};
