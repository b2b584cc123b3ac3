/*
 * Armv7-A and Armv7-R (Cortex-A5 to A17, R4 to R8): halting debug through memory-mapped debug registers.
 * Registers of the core are read by instructions that it is given in Debug state, so that what they go
 * through (R0, and the debug communications channel) is borrowed for a moment. Places in code carry their
 * instruction set in bit 0, see core_code. Source: DDI 0406C (Armv7-A and -R), chapters C3, C5, C8 and C11.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reads that identify a core, in this order. They work on running, halted and locked cores. */
enum { ARMV7_MIDR, ARMV7_DIDR, ARMV7_AUTHSTATUS, ARMV7_IDENTITY };
void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list);
/* False if it is not such a core. The caller fills in memory_unit, pmu_base and cti_base. */
bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out);

/*
 * Armv8-A (Cortex-A35, A53 and later): external debug of cores in AArch64 state. They are halted and let run
 * through their cross trigger interface, on channels that nobody else uses, and each stop is told from the
 * one before by a bit that only entering Debug state clears (EDSCR.MA). Registers of the core are read by
 * instructions that it is given in Debug state, so that X0 is borrowed for some of them. Source: DDI 0487
 * (Armv8-A), chapters H2 to H5, H8 and H9.
 */
enum { ARMV8_TRIGGERS = 10 }; /* how many triggers of a cross trigger interface are read, at most */
/* The reads that identify a core, in this order. Most of these registers cannot be read without power. */
enum {
    ARMV8_MIDR,
    ARMV8_DFR,
    ARMV8_AUTHSTATUS,
    ARMV8_TRIGGER_CONTROL,
    ARMV8_TRIGGER_CHANNELS,
    ARMV8_INPUTS,
    ARMV8_OUTPUTS = ARMV8_INPUTS + ARMV8_TRIGGERS,
    ARMV8_IDENTITY = ARMV8_OUTPUTS + ARMV8_TRIGGERS
};

/* Whether this ARCHID in DEVARCH is that of an Armv8-A or Armv8-R core. */
bool armv8_is_archid(uint16_t archid);
/* `cti_base` 0: there is none. */
void armv8_add_identity(uint16_t unit, uint64_t debug_base, uint64_t cti_base, struct steps *list);
/* The caller fills in memory_unit and pmu_base. */
void armv8_identify(uint16_t unit, uint64_t debug_base, uint64_t cti_base, const uint64_t *values,
                    struct core *out);
/* A core whose registers cannot be read; only the part number of its component is known. */
void armv8_identify_hidden(uint16_t unit, uint64_t debug_base, uint64_t cti_base, uint16_t part,
                           struct core *out);

/*
 * Cortex-M (Armv6-M, Armv7-M, Armv8-M): halting debug by DHCSR, register transfer by DCRSR and DCRDR,
 * breakpoints by the BPU or FPB. Sources: DDI 0419 (Armv6-M) chapter C1, DDI 0403 (Armv7-M) chapter C1.
 */
/* The reads that identify a core, in this order. */
enum { CORTEX_M_CPUID, CORTEX_M_FP_CTRL, CORTEX_M_CCR, CORTEX_M_IDENTITY };
void cortex_m_add_identity(uint16_t unit, struct steps *list);
/* False if CPUID is not that of a Cortex-M. */
bool cortex_m_identify(uint16_t unit, const uint64_t *values, struct core *out);

bool cortex_m_is_v6(const struct core *core);
bool cortex_m_is_v8(const struct core *core);
/* Armv6-M and Armv8-M Baseline: their DWT has no counters. */
bool cortex_m_is_baseline(const struct core *core);
/* Its software lock may hold for a debugger too. */
bool cortex_m_has_dwt_lock(const struct core *core);
/* DAUTHSTATUS of Armv8-M, and what a value of it means for the core. */
struct address cortex_m_authentication(const struct core *core);
void cortex_m_take_authentication(struct core *core, uint64_t status);
/* Where the vector table is told to be, VTOR; Armv6-M without one reads as 0, where it then is. */
/* Whether the next instruction will execute, by an xPSR: in an IT block it may be skipped. */
bool cortex_m_condition_holds(uint64_t xpsr);
struct address cortex_m_vectors(const struct core *core);

/*
 * Knights Corner: a hardware thread of an Intel Xeon Phi of that name, four of which share a core. What can
 * be reached of it is its model-specific registers; nobody stops or starts it through them.
 */
enum { KNC_THREADS = 4 }; /* of a core */

/* `cpu` is the card's own number for the thread. */
void knc_describe(uint16_t cpu, struct core *out);
struct address knc_msr(const struct core *core, uint64_t number);

/*
 * A program on an x86-64 processor, as a debugger shows it: what stops and starts it is the debugger's
 * business, and its counters are reached in another way. Known of it is how a function returns.
 */
/* `unit` is the link's view of its memory. */
void x86_64_describe(uint16_t unit, struct core *out);
