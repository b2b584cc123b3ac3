// Two Cortex-A53 with the debug side of a Zynq UltraScale+ (whose other two are marked absent): its access
// ports, ROM tables and debug components. No MMU is used, no boot ROM is there: the cores start in flash at
// 0, in EL3. Its timing is one cycle an instruction, nothing of the part's own.
#include "chip/chip.h"
#include "cpu/armv7.h"
#include "cpu/armv8.h"

// The events that are modelled, of DDI 0500J table 12-28. The core has no 0x0E, BR_RETURN_RETIRED.
static const uint16_t codes[V8_EVENTS] = {
    [V8_L1D_REFILL] = 0x03,
    [V8_L1D] = 0x04,
    [V8_LOAD] = 0x06,
    [V8_STORE] = 0x07,
    [V8_INSTRUCTION] = 0x08,
    [V8_EXCEPTION] = 0x09,
    [V8_EXCEPTION_RETURN] = 0x0A,
    [V8_CONTEXT_WRITE] = 0x0B,
    [V8_PC_WRITE] = 0x0C,
    [V8_BRANCH_IMMEDIATE] = 0x0D,
    [V8_UNALIGNED] = 0x0F,
    [V8_MEMORY] = 0x13,
    [V8_IRQ] = 0x86,
};

// Its programs in AArch32 state, under a system in AArch64 state
static const struct v7_profile in_aarch32 = {.emulated_as = UC_CPU_ARM_CORTEX_A15, .didr = 0x35160000};

// Identification values: DDI 0500J 11.10, 11.11 (debug), 14.5 (cross trigger), 12.9 (monitor)
#define PROFILE(number, features, architecture)                                                              \
    {                                                                                                        \
        .emulated_as = UC_CPU_ARM64_A53, .user32 = &in_aarch32, .midr = (number), .mpidr = 0x80000000,       \
        .pfr = 0x00002222, .dfr = (features), .mmfr = 0x00001122, .ctr = 0x84448004, .clidr = 0x0A200023,    \
        .ccsidr = {0x700FE01A, 0x201FE00A, 0x707FE07A, 0},                                                   \
        .debug = {.part = 0xD03,                                                                             \
                  .class = COMPONENT_CORESIGHT,                                                              \
                  .revision = 4,                                                                             \
                  .devtype = 0x15,                                                                           \
                  .devarch = (architecture),                                                                 \
                  .devid = 0x01110F13,                                                                       \
                  .devid1 = 0x2}, /* PC samples are without an offset */                                     \
            .cti = {.part = 0x9A8,                                                                           \
                    .class = COMPONENT_CORESIGHT,                                                            \
                    .revision = 4,                                                                           \
                    .devtype = 0x14,                                                                         \
                    .devarch = 0x47701A14,                                                                   \
                    .devid = 0x00040800},                                                                    \
        .monitor = {.part = 0x9D3,                                                                           \
                    .class = COMPONENT_CORESIGHT,                                                            \
                    .revision = 4,                                                                           \
                    .devtype = 0x16,                                                                         \
                    .devarch = 0x47702A16},                                                                  \
        .debug_base = 0x80410000, .cti_base = 0x80420000, .monitor_base = 0x80430000, .stride = 0x00100000,  \
        .pmu = {.counters = 6,                                                                               \
                .id = 0x41030000,                                                                            \
                .ceid = 0x67FFBFFF,                                                                          \
                .codes = codes,                                                                              \
                .count = sizeof codes / sizeof *codes},                                                      \
    }

// r0p4; 6 breakpoints, 4 watchpoints, PMUv3
static const struct v8_profile cortex_a53 = PROFILE(0x410FD034, 0x10305106, 0x47706A15);
// r2p0, as far as Armv8.2 is another architecture: ID_AA64DFR0 and EDDEVARCH of DDI 100442
static const struct v8_profile cortex_a55 = PROFILE(0x412FD050, 0x10305408, 0x47708A15);

// The chip's table leads to the cluster's
static const uint32_t of_the_chip[] = {0x00400003};
static const uint32_t of_the_cluster[] = {
    0x00010003, 0x00020003, 0x00030003, 0x00040003, 0x00110003, 0x00120003, 0x00130003, 0x00140003,
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
static const struct placed_component plain[] = {TRACE_UNIT(0x80440000), TRACE_UNIT(0x80540000)};

static const struct chip_debug debug = {
    .roms = roms,
    .rom_count = sizeof roms / sizeof *roms,
    .plain = plain,
    .plain_count = sizeof plain / sizeof *plain,
    .window = 0xFE800000,
    .window_size = 0x00800000,
};

#define CHIP(of, is)                                                                                         \
    {                                                                                                        \
        .name = (of), .create = v8_create, .profile = (is), .start = 0x00000000, .second = "core1_start",    \
        .one_port = true, .flash = {.base = 0x00000000, .size = 256 * 1024, .alias = 0x00000000},            \
        .ram = {.base = 0x00100000, .size = 256 * 1024, .alias = 0x00100000, .ram = true},                   \
        .idcode = 0x5BA00477, .dpidr = 0x2BA01477,                                                           \
        .aps =                                                                                               \
            {{.idr = 0x84770004, .base = 0xFFFFFFFF, .wrap = 1024},                                          \
             {.idr = 0x44770002, .base = 0x80000000, .wrap = 1024, .debug_bus = true, .words_only = true}},  \
        .ap_count = 2, .debug = &debug,                                                                      \
    }

const struct chip chip_a53 = CHIP("a53", &cortex_a53);
const struct chip chip_a55 = CHIP("a55", &cortex_a55);
