/* SPDX-License-Identifier: MIT */
// Cortex-M0, M0+ and M23 have no cycle counter, so SysTick counts cycles. It has 24 bits and counts down. If
// the program keeps time with it, the program's period is the longest span. Part of pmu_stub.h.
#ifndef PMU_STUB_SYSTICK_H
#define PMU_STUB_SYSTICK_H

#include "pmu_stub_m.h"

// A reading; only pmu_cycles_elapsed() knows its direction
typedef uint32_t pmu_cycles_t;

PMU_STUB_INLINE void pmu_sync(void)
{
    pmu_m_sync();
}

static inline void pmu_enable(void)
{
}

static inline void pmu_disable(void)
{
}

static inline void pmu_cycles_enable(void)
{
    (void)pmu_systick_start();
}

static inline void pmu_cycles_disable(void)
{
    pmu_systick_stop();
}

// Begins a new period, for all code that uses SysTick
static inline void pmu_cycles_reset(void)
{
    PMU_STUB_REG(PMU_STUB_SYST_CVR) = 0;
    pmu_sync();
}

PMU_STUB_INLINE pmu_cycles_t pmu_cycles_read(void)
{
    return pmu_systick_read();
}

static inline pmu_cycles_t pmu_cycles_elapsed(pmu_cycles_t start, pmu_cycles_t end)
{
    return pmu_systick_elapsed(start, end);
}

#endif
