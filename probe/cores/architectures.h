/* SPDX-License-Identifier: MIT */
/*
 * The architectures, and how a core of each is identified. Armv7-A and -R (Cortex-A5 to A17, R4 to R8):
 * halting debug through memory-mapped debug registers. The core executes instructions in Debug state to read
 * its registers, for which R0 and the debug communications channel are borrowed. DDI 0406C, chapters C3, C5,
 * C8 and C11.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stdint.h>

extern const struct core_ops cortex_m_ops, armv7_ops, armv8_ops, armv8_ops_in_aarch32;

/* The reads that identify a core, in this order. They work on running, halted and locked cores. */
enum { ARMV7_MIDR, ARMV7_DIDR, ARMV7_AUTHSTATUS, ARMV7_IDENTITY };
void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list);
/* Which bytes of its word a comparator matches: those of an A32 instruction, or of the first half of a T32
 * one. */
static inline uint32_t arm_match_bytes(uint64_t code)
{
    return !(code & 1) ? 0xF : code & 2 ? 0xC : 0x3;
}

/* Of programs in AArch32 state, on Armv8 too. */
extern const struct core_return_ops armv7_returns;
/* False if it is not such a core. The caller fills in memory_unit, pmu_base and cti_base. */
bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out);

/*
 * Armv8-A and -R (Cortex-A35, A53, R52 and later): external debug in either Execution state. The cross
 * trigger interface halts and resumes the core, on channels that nothing else uses. A new stop shows by
 * EDSCR.MA, which only entering Debug state clears. The core executes instructions in Debug state to read its
 * registers, for which X0 is borrowed. DDI 0487, chapters H2 to H5, H8 and H9.
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

bool armv8_is(const struct core *core);
/* Whether this ARCHID in DEVARCH is that of an Armv8-A or Armv8-R core. */
bool armv8_is_archid(uint16_t archid);
/* Whether a cross trigger with this DEVARCH has the catches of its core. */
bool armv8_cti_catches(uint32_t devarch);
/* `cti_base` 0: there is none. */
void armv8_add_identity(uint16_t unit, uint64_t debug_base, uint64_t cti_base, struct steps *list);
/* The caller fills in memory_unit, pmu_base and catches_by_cti. */
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
/* Its PMU can halt it: Armv8.1-M. */
bool cortex_m_has_pmu_halt(const struct core *core);
/* DEMCR.TRCENA, without which DWT and PMU neither count nor show the PC. */
struct setting cortex_m_trace(const struct core *core);
/* DAUTHSTATUS of Armv8-M, and what a value of it means for the core. */
struct address cortex_m_authentication(const struct core *core);
void cortex_m_take_authentication(struct core *core, uint64_t status);
/* Whether the next instruction will execute, by an xPSR: in an IT block it may be skipped. */
bool cortex_m_condition_holds(uint64_t xpsr);
/* VTOR, where the vector table is. Armv6-M without VTOR reads as 0, which is right there. */
struct address cortex_m_vectors(const struct core *core);
/* ICTR: the number of interrupt lines, in units of 32, less one. */
struct address cortex_m_lines(const struct core *core);
