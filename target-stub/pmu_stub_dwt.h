/* SPDX-License-Identifier: MIT */
// Cortex-M3, M4, M7, M33 and other cores without a performance monitor: the DWT's cycle counter and its five
// profiling counters, DDI 0403E C1.8 and DDI 0553B D1.2. CYCCNT has no overflow flag and no interrupt. Part
// of pmu_stub.h.
#ifndef PMU_STUB_DWT_H
#define PMU_STUB_DWT_H

#include "pmu_stub_m.h"

typedef uint32_t pmu_cycles_t;

#define PMU_STUB_DWT(offset) PMU_STUB_REG(0xE0001000u + (offset))
#define PMU_STUB_CYCCNTENA   1u
#define PMU_STUB_NOCYCCNT    (1u << 25)
#define PMU_STUB_NOPRFCNT    (1u << 24)

PMU_STUB_INLINE void pmu_sync(void)
{
    pmu_m_sync();
}

// The global switch is DEMCR.TRCENA. A Cortex-M7 ignores the program's writes to the DWT until its lock is
// open.
static inline void pmu_enable(void)
{
    pmu_m_trace_enable();
    PMU_STUB_DWT(0xFB0u) = 0xC5ACCE55u;
    pmu_m_sync();
}

// Also switches off ITM and every other trace component
static inline void pmu_disable(void)
{
    pmu_m_trace_disable();
}

// Valid only after pmu_enable()
static inline bool pmu_cycles_exist(void)
{
    return !(PMU_STUB_DWT(0) & PMU_STUB_NOCYCCNT);
}

static inline void pmu_cycles_enable(void)
{
    PMU_STUB_DWT(0) = PMU_STUB_DWT(0) | PMU_STUB_CYCCNTENA;
    pmu_sync();
}

static inline void pmu_cycles_disable(void)
{
    PMU_STUB_DWT(0) = PMU_STUB_DWT(0) & ~PMU_STUB_CYCCNTENA;
    pmu_sync();
}

static inline void pmu_cycles_write(pmu_cycles_t value)
{
    PMU_STUB_DWT(4) = value;
    pmu_sync();
}

static inline void pmu_cycles_reset(void)
{
    pmu_cycles_write(0);
}

PMU_STUB_INLINE pmu_cycles_t pmu_cycles_read(void)
{
    __asm__ volatile("" : : : "memory");
    uint32_t value = PMU_STUB_DWT(4);
    __asm__ volatile("" : : : "memory");
    return value;
}

static inline pmu_cycles_t pmu_cycles_elapsed(pmu_cycles_t start, pmu_cycles_t end)
{
    return end - start;
}

// Wraps so far, for totals of 64 bits. Start with zero.
struct pmu_totals {
    volatile uint32_t wraps, last;
};

// Call this at least once in 2^32 cycles: in a tick's handler
static inline void pmu_overflow_handle(struct pmu_totals *totals)
{
    uint32_t now = pmu_cycles_read();
    totals->wraps = totals->wraps + (now < totals->last);
    totals->last = now;
}

// Not for code that can interrupt pmu_overflow_handle()
static inline uint64_t pmu_cycles_total(const struct pmu_totals *totals)
{
    uint32_t wraps, last, now;
    do {
        wraps = totals->wraps;
        last = totals->last;
        now = pmu_cycles_read();
    } while (wraps != totals->wraps || last != totals->last);
    return (uint64_t)(wraps + (now < last)) << 32 | now;
}

// In the order of the registers, and of the bits in DWT_CTRL
enum pmu_profile { PMU_PROFILE_CPI, PMU_PROFILE_EXC, PMU_PROFILE_SLEEP, PMU_PROFILE_LSU, PMU_PROFILE_FOLD };

static inline bool pmu_profile_exist(void)
{
    return !(PMU_STUB_DWT(0) & PMU_STUB_NOPRFCNT);
}

// Sets it to zero, if it was not enabled
static inline void pmu_profile_enable(enum pmu_profile which)
{
    PMU_STUB_DWT(0) = PMU_STUB_DWT(0) | 1u << (17 + which);
    pmu_sync();
}

static inline void pmu_profile_disable(enum pmu_profile which)
{
    PMU_STUB_DWT(0) = PMU_STUB_DWT(0) & ~(1u << (17 + which));
    pmu_sync();
}

static inline uint32_t pmu_profile_read(enum pmu_profile which)
{
    return PMU_STUB_DWT(8u + 4u * which) & 0xFF;
}

// Eight bits: a difference is right if fewer than 256 were counted
static inline uint32_t pmu_profile_elapsed(uint32_t start, uint32_t end)
{
    return (end - start) & 0xFF;
}

#endif
