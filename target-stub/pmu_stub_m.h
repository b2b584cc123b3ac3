/* SPDX-License-Identifier: MIT */
// Every Cortex-M has SysTick, and the switch that turns the trace and count units on. Part of pmu_stub.h.
// The functions of SysTick exist on all of them, as pmu_systick_...
#ifndef PMU_STUB_M_H
#define PMU_STUB_M_H

#include <stdbool.h>
#include <stdint.h>

#define PMU_STUB_REG(address) (*(volatile uint32_t *)(uintptr_t)(address))

// DDI 0403E C1.6.5, B3.3 and B3.2.4
#define PMU_STUB_DEMCR     0xE000EDFCu
#define PMU_STUB_TRCENA    (1u << 24)
#define PMU_STUB_MON_EN    (1u << 16)
#define PMU_STUB_SYST_CSR  0xE000E010u
#define PMU_STUB_SYST_RVR  0xE000E014u
#define PMU_STUB_SYST_CVR  0xE000E018u
#define PMU_STUB_ICSR      0xE000ED04u
#define PMU_STUB_PENDSTSET (1u << 26)

PMU_STUB_INLINE void pmu_m_sync(void)
{
    __asm__ volatile("dsb\n\tisb" : : : "memory");
}

static inline void pmu_m_trace_enable(void)
{
    PMU_STUB_REG(PMU_STUB_DEMCR) = PMU_STUB_REG(PMU_STUB_DEMCR) | PMU_STUB_TRCENA;
    pmu_m_sync();
}

static inline void pmu_m_trace_disable(void)
{
    PMU_STUB_REG(PMU_STUB_DEMCR) = PMU_STUB_REG(PMU_STUB_DEMCR) & ~PMU_STUB_TRCENA;
    pmu_m_sync();
}

// Runs SysTick at the processor's clock with the longest period and no interrupt. If it runs already, the
// program keeps time with it, and this does nothing. Returns whether it was idle.
static inline bool pmu_systick_start(void)
{
    if (PMU_STUB_REG(PMU_STUB_SYST_CSR) & 1)
        return false;
    PMU_STUB_REG(PMU_STUB_SYST_RVR) = 0xFFFFFF;
    PMU_STUB_REG(PMU_STUB_SYST_CVR) = 0; // any write clears it. After a reset it and RVR are unknown
    PMU_STUB_REG(PMU_STUB_SYST_CSR) = 5;
    pmu_m_sync();
    return true;
}

static inline void pmu_systick_stop(void)
{
    PMU_STUB_REG(PMU_STUB_SYST_CSR) = 0;
    pmu_m_sync();
}

PMU_STUB_INLINE uint32_t pmu_systick_read(void)
{
    __asm__ volatile("" : : : "memory");
    uint32_t value = PMU_STUB_REG(PMU_STUB_SYST_CVR);
    __asm__ volatile("" : : : "memory");
    return value;
}

// RVR + 1: the tick after 0 gives RVR
static inline uint32_t pmu_systick_period(void)
{
    return PMU_STUB_REG(PMU_STUB_SYST_RVR) + 1;
}

// Ticks from the earlier reading to the later one. The counter counts down to 0 and continues from RVR. Right
// up to RVR ticks. A longer span gives only the remainder, and a whole period 0: use totals for those, see
// pmu_systick_handle().
static inline uint32_t pmu_systick_elapsed(uint32_t start, uint32_t end)
{
    return start >= end ? start - end : start + (pmu_systick_period() - end);
}

// Ticks of the periods that ended, for totals of 64 bits. In two words, because a Cortex-M0 can neither read
// 64 bits at once nor multiply them without a library. Start with zero.
struct pmu_systick_totals {
    volatile uint32_t low, high;
};

// Call this in SysTick_Handler, with SYST_CSR.TICKINT set
static inline void pmu_systick_handle(struct pmu_systick_totals *totals)
{
    uint32_t low = totals->low + pmu_systick_period();
    totals->high = totals->high + (low < totals->low);
    totals->low = low;
}

// Ticks since SysTick was last set to zero. The pending bit shows a period that the handler has not counted
// yet. Not for code that can interrupt the handler.
static inline uint64_t pmu_systick_total(const struct pmu_systick_totals *totals)
{
    uint32_t low, high, value, pending, period = pmu_systick_period();
    do {
        low = totals->low;
        high = totals->high;
        value = pmu_systick_read();
        pending = PMU_STUB_REG(PMU_STUB_ICSR) & PMU_STUB_PENDSTSET;
        if (pending)
            value = pmu_systick_read(); // surely one of the new period
    } while (low != totals->low);       // the last that the handler writes
    uint64_t total = (uint64_t)high << 32 | low;
    return total + (pending ? period : 0) + (value ? period - value : 0);
}

#endif
