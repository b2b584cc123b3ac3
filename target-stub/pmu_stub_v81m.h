/* SPDX-License-Identifier: MIT */
// Registers of the Armv8.1-M performance monitor: DDI 0553B D1.2, at 0xE0003000. Its event counters have 16
// bits. An overflow raises the DebugMonitor exception, not an interrupt. Privileged code only: no register
// opens the private peripheral bus to user mode. Part of pmu_stub.h.
#ifndef PMU_STUB_V81M_H
#define PMU_STUB_V81M_H

#include "pmu_stub_m.h"

#define PMU_STUB_EVENTS  1
#define PMU_COUNTER_BITS 16

typedef uint32_t pmu_cycles_t;

#define PMU_STUB_AT(offset) PMU_STUB_REG(0xE0003000u + (offset))
// The memory clobbers keep the compiler from moving measured code out of the measurement
#define PMU_STUB_READ(name, offset)                                                                          \
    PMU_STUB_INLINE uint32_t pmu_read_##name(void)                                                           \
    {                                                                                                        \
        __asm__ volatile("" : : : "memory");                                                                 \
        uint32_t value = PMU_STUB_AT(offset);                                                                \
        __asm__ volatile("" : : : "memory");                                                                 \
        return value;                                                                                        \
    }
#define PMU_STUB_WRITE(name, offset)                                                                         \
    PMU_STUB_INLINE void pmu_write_##name(uint32_t value)                                                    \
    {                                                                                                        \
        PMU_STUB_AT(offset) = value;                                                                         \
    }
#define PMU_STUB_BOTH(name, offset) PMU_STUB_READ(name, offset) PMU_STUB_WRITE(name, offset)

// With their names on Armv7
PMU_STUB_BOTH(PMCCNTR, 0x07Cu)
PMU_STUB_BOTH(PMCNTENSET, 0xC00u)
PMU_STUB_WRITE(PMCNTENCLR, 0xC20u)
PMU_STUB_BOTH(PMINTENSET, 0xC40u)
PMU_STUB_WRITE(PMINTENCLR, 0xC60u)
PMU_STUB_BOTH(PMOVSR, 0xC80u)
PMU_STUB_WRITE(PMSWINC, 0xCA0u)
PMU_STUB_READ(PMU_TYPE, 0xE00u)
PMU_STUB_BOTH(PMCR, 0xE04u)

#undef PMU_STUB_BOTH
#undef PMU_STUB_WRITE
#undef PMU_STUB_READ

#define PMU_STUB_PMCR_WANTED 0u

PMU_STUB_INLINE void pmu_sync(void)
{
    pmu_m_sync();
}

// Without DEMCR.TRCENA the monitor neither counts nor takes writes
static inline void pmu_prepare(void)
{
    pmu_m_trace_enable();
}

static inline unsigned pmu_counters(void)
{
    return pmu_read_PMU_TYPE() & 0xFF;
}

PMU_STUB_INLINE void pmu_write_type(unsigned n, uint32_t type)
{
    PMU_STUB_AT(0x400u + 4 * n) = type;
}

PMU_STUB_INLINE void pmu_write_count(unsigned n, uint32_t value)
{
    PMU_STUB_AT(4 * n) = value;
}

PMU_STUB_INLINE uint32_t pmu_read_count(unsigned n)
{
    return PMU_STUB_AT(4 * n) & 0xFFFF;
}

// The DebugMonitor exception for overflows, at the priority in SHPR3. The core never takes it while a
// debugger has DHCSR.C_DEBUGEN set.
static inline void pmu_monitor_enable(void)
{
    PMU_STUB_REG(PMU_STUB_DEMCR) = PMU_STUB_REG(PMU_STUB_DEMCR) | PMU_STUB_MON_EN;
    pmu_m_sync();
}

static inline void pmu_monitor_disable(void)
{
    PMU_STUB_REG(PMU_STUB_DEMCR) = PMU_STUB_REG(PMU_STUB_DEMCR) & ~PMU_STUB_MON_EN;
    pmu_m_sync();
}

// DFSR.PMU. Call this in the handler after pmu_overflow_handle(), else the core enters the handler again
static inline void pmu_monitor_clear(void)
{
    PMU_STUB_REG(0xE000ED30u) = 1u << 5;
    pmu_m_sync();
}

#endif
