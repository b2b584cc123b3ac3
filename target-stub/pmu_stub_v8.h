/* SPDX-License-Identifier: MIT */
// System registers of PMUv3 in AArch64: DDI 0487H D13.4. For EL1 and above, until pmu_user_enable(). A
// hypervisor or secure firmware may deny access (MDCR_EL2.TPM and HPMN, MDCR_EL3.TPM). Part of pmu_stub.h.
#ifndef PMU_STUB_V8_H
#define PMU_STUB_V8_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_STUB_EVENTS  1
#define PMU_STUB_USER    1
#define PMU_STUB_BY_64   1
#define PMU_COUNTER_BITS 32

typedef uint64_t pmu_cycles_t;

// The memory clobber keeps the compiler from moving measured code out of the measurement
#define PMU_STUB_READ(name, reg, type)                                                                       \
    PMU_STUB_INLINE type pmu_read_##name(void)                                                               \
    {                                                                                                        \
        uint64_t value;                                                                                      \
        __asm__ volatile("mrs %0, " #reg : "=r"(value) : : "memory");                                        \
        return (type)value;                                                                                  \
    }
#define PMU_STUB_WRITE(name, reg, type)                                                                      \
    PMU_STUB_INLINE void pmu_write_##name(type value)                                                        \
    {                                                                                                        \
        __asm__ volatile("msr " #reg ", %0" : : "r"((uint64_t)value) : "memory");                            \
    }
#define PMU_STUB_BOTH(name, reg, type) PMU_STUB_READ(name, reg, type) PMU_STUB_WRITE(name, reg, type)

PMU_STUB_BOTH(PMCR, pmcr_el0, uint32_t)
PMU_STUB_BOTH(PMCNTENSET, pmcntenset_el0, uint32_t)
PMU_STUB_WRITE(PMCNTENCLR, pmcntenclr_el0, uint32_t)
PMU_STUB_BOTH(PMOVSR, pmovsclr_el0, uint32_t)
PMU_STUB_WRITE(PMSWINC, pmswinc_el0, uint32_t)
PMU_STUB_BOTH(PMSELR, pmselr_el0, uint32_t)
PMU_STUB_BOTH(PMCCNTR, pmccntr_el0, uint64_t)
PMU_STUB_BOTH(PMCCFILTR, pmccfiltr_el0, uint32_t)
PMU_STUB_BOTH(PMXEVTYPER, pmxevtyper_el0, uint32_t)
PMU_STUB_BOTH(PMXEVCNTR, pmxevcntr_el0, uint32_t)
PMU_STUB_BOTH(PMUSERENR, pmuserenr_el0, uint32_t)
PMU_STUB_BOTH(PMINTENSET, pmintenset_el1, uint32_t)
PMU_STUB_WRITE(PMINTENCLR, pmintenclr_el1, uint32_t)
PMU_STUB_BOTH(MDCR_EL3, mdcr_el3, uint64_t)

#undef PMU_STUB_BOTH
#undef PMU_STUB_WRITE
#undef PMU_STUB_READ

// PMCR_EL0.LC: the cycle counter overflows from its 64 bits. Without it the flag shows a carry out of bit 31.
#define PMU_STUB_PMCR_WANTED (1u << 6)

// A context synchronization event, DDI 0487H D13.1.2: earlier writes take effect on what follows
PMU_STUB_INLINE void pmu_sync(void)
{
    __asm__ volatile("isb" : : : "memory");
}

static inline void pmu_prepare(void)
{
}

// PMCR_EL0.N. At EL1 and EL0, MDCR_EL2.HPMN limits it
static inline unsigned pmu_counters(void)
{
    return pmu_read_PMCR() >> 11 & 0x1F;
}

// The architecture requires a barrier between a write to PMSELR_EL0 and the access that it selects. An
// interrupt handler that writes PMSELR_EL0 must restore it.
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

// The states in which the cycle counter counts, as bits of an event number. At EL2 only with PMU_AT_EL2
static inline void pmu_cycles_filter(uint32_t filter)
{
    pmu_write_PMCCFILTR(filter);
    pmu_sync();
}

// User mode may read the counters (CR, ER). Unlike after pmu_user_enable(), it may not set anything up
static inline void pmu_user_enable_reading(void)
{
    pmu_write_PMUSERENR(0xC);
    pmu_sync();
}

// EL3 only: events are counted in Secure state too, MDCR_EL3.SPME. Without it, and without a debugger's
// authentication, a program that stays at EL3 or in Secure EL1 reads zero from its event counters.
static inline void pmu_secure_enable(void)
{
    pmu_write_MDCR_EL3(pmu_read_MDCR_EL3() | UINT64_C(1) << 17);
    pmu_sync();
}

#endif
