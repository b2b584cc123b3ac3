/* SPDX-License-Identifier: MIT */
/*
 * Parts: what is known of a core by its part number alone, in MIDR or CPUID. Registers show the rest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum architecture {
    ARCHITECTURE_OTHER,
    ARMV6_M,
    ARMV7_M,
    ARMV8_M_BASE,
    ARMV8_M_MAIN,
    ARMV81_M,
    ARMV7_A,
    ARMV7_R,
    ARMV8_A,
    ARMV8_R
};

/* Bits. Errata: Software Developers Errata Notice of the part. */
enum part_quirk {
    /* If an exception occurs just when a breakpoint is reached, the core may halt in its handler: 3092511. */
    HALTS_IN_HANDLER = 1 << 0,
    /* A single step enters a handler that is held off, and executes no instruction: 702596, r0p0 and r0p1. */
    STEPS_INTO_HANDLERS = 1 << 1,
    HAS_DWT_LOCK = 1 << 2, /* the DWT's software lock may hold for a debugger too */
    HAS_HYP = 1 << 3,      /* Hyp mode of Armv7-A */
    ONLY_AARCH32 = 1 << 4, /* of Armv8's Execution states */
    /* DBGPCSR has the target of the last branch, and no offset: 751471, of each Cortex-A9. */
    SAMPLES_TARGETS = 1 << 5,
    /* It may have a data cache, past which an access port reads and writes unless its accesses are cacheable:
     * DDI 0489 (M7), 101051 (M55), 101924 (M85), CMSIS's core_cm52.h and core_starmc1.h (__DCACHE_PRESENT).
     */
    HAS_DATA_CACHE = 1 << 6,
    RESETS_UNSEEN = 1 << 7, /* DBGPRSR.SR does not show a reset of the core: 799770, of the Cortex-A9 */
    /* Its DWT has no comparator for writes alone, FUNCTION 0xC to 0xF: Cortex-M3 r0p0 to r1p1; J. Yiu, The
     * Definitive Guide to ARM Cortex-M3 and M4, appendix G. */
    WATCHES_READS_TOO = 1 << 8,
};

/* PMUv1 in CP15 alone, PMUv1 and PMUv2 on the debug bus, PMUv3 without and with longer event codes, that of
 * Armv8.1-M. */
enum pmu_kind { PMU_NONE, PMU_CP15, PMU_V1, PMU_V2, PMU_V3, PMU_V3P1, PMU_V81M };

struct part_pmu {
    enum pmu_kind kind;
    const char *events; /* the set */
    uint8_t counters;   /* of PMU_CP15, before its registers can be read */
    uint32_t common;    /* PMUv1 has no register that says which common events there are; the TRMs do */
};

struct core_part {
    uint16_t number;
    enum architecture architecture;
    const char *name; /* NULL: not known, nor anything else */
    unsigned quirks;
    struct part_pmu pmu;
};

/* The i-th known; NULL: there are no more. */
const struct core_part *part_at(size_t i);
/* By MIDR or CPUID. */
const struct core_part *part_find(uint32_t id);
