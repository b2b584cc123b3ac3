/* SPDX-License-Identifier: MIT */
// Registers of the performance monitor of Armv7-A and Armv7-R, and of Armv8 in AArch32 state, by CP15: DDI
// 0406C, table B3-42. Privileged code only, until pmu_user_enable(). Part of pmu_stub.h.
#ifndef PMU_STUB_V7_H
#define PMU_STUB_V7_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_STUB_EVENTS  1
#define PMU_STUB_USER    1
#define PMU_STUB_BY_64   1
#define PMU_COUNTER_BITS 32

typedef uint32_t pmu_cycles_t;

// The memory clobber keeps the compiler from moving measured code out of the measurement
#define PMU_STUB_READ(name, crm, op2)                                                                        \
    PMU_STUB_INLINE uint32_t pmu_read_##name(void)                                                           \
    {                                                                                                        \
        uint32_t value;                                                                                      \
        __asm__ volatile("mrc p15, 0, %0, c9, " #crm ", " #op2 : "=r"(value) : : "memory");                  \
        return value;                                                                                        \
    }
#define PMU_STUB_WRITE(name, crm, op2)                                                                       \
    PMU_STUB_INLINE void pmu_write_##name(uint32_t value)                                                    \
    {                                                                                                        \
        __asm__ volatile("mcr p15, 0, %0, c9, " #crm ", " #op2 : : "r"(value) : "memory");                   \
    }
#define PMU_STUB_BOTH(name, crm, op2) PMU_STUB_READ(name, crm, op2) PMU_STUB_WRITE(name, crm, op2)

PMU_STUB_BOTH(PMCR, c12, 0)
PMU_STUB_BOTH(PMCNTENSET, c12, 1)
PMU_STUB_WRITE(PMCNTENCLR, c12, 2) // many documents write CNTENSET here, which enables
PMU_STUB_BOTH(PMOVSR, c12, 3)
PMU_STUB_WRITE(PMSWINC, c12, 4)
PMU_STUB_BOTH(PMSELR, c12, 5)
PMU_STUB_BOTH(PMCCNTR, c13, 0)
PMU_STUB_BOTH(PMXEVTYPER, c13, 1)
PMU_STUB_BOTH(PMXEVCNTR, c13, 2)
PMU_STUB_BOTH(PMUSERENR, c14, 0)
PMU_STUB_BOTH(PMINTENSET, c14, 1)
PMU_STUB_WRITE(PMINTENCLR, c14, 2)

#undef PMU_STUB_BOTH
#undef PMU_STUB_WRITE
#undef PMU_STUB_READ

// PMCR bits that pmu_start() and pmu_open() set
#define PMU_STUB_PMCR_WANTED 0u

// A context synchronization event, DDI 0406C B3.15.5: earlier writes take effect on what follows
PMU_STUB_INLINE void pmu_sync(void)
{
    __asm__ volatile("isb" : : : "memory");
}

static inline void pmu_prepare(void)
{
}

// PMCR.N
static inline unsigned pmu_counters(void)
{
    return pmu_read_PMCR() >> 11 & 0x1F;
}

// The architecture requires a barrier between a write to PMSELR and the access that it selects. An interrupt
// handler that writes PMSELR must restore it.
PMU_STUB_INLINE void pmu_select(unsigned n)
{
    pmu_write_PMSELR(n);
    pmu_sync();
}

PMU_STUB_INLINE void pmu_write_type(unsigned n, uint32_t type)
{
    pmu_select(n);
    pmu_write_PMXEVTYPER(type);
}

PMU_STUB_INLINE void pmu_write_count(unsigned n, uint32_t value)
{
    pmu_select(n);
    pmu_write_PMXEVCNTR(value);
}

PMU_STUB_INLINE uint32_t pmu_read_count(unsigned n)
{
    pmu_select(n);
    return pmu_read_PMXEVCNTR();
}

// PMUv2 and later: the states in which the cycle counter counts, as bits of an event number. It counts in
// Hyp mode only with PMU_AT_EL2
static inline void pmu_cycles_filter(uint32_t filter)
{
    pmu_write_type(31, filter);
    pmu_sync();
}

#endif
