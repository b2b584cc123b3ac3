// What every Cortex-M has: SysTick, and the switch that turns the trace and count units on. Part of
// pmu_stub.h; the functions of SysTick are there on all of them, as pmu_systick_...
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

// Runs SysTick at the processor's clock with the longest period and no interrupt; does nothing where it runs
// already, since then somebody keeps time with it. Says whether it was idle.
static inline bool pmu_systick_start(void)
{
    if (PMU_STUB_REG(PMU_STUB_SYST_CSR) & 1)
        return false;
    PMU_STUB_REG(PMU_STUB_SYST_RVR) = 0xFFFFFF;
    PMU_STUB_REG(PMU_STUB_SYST_CVR) = 0; // any write clears it; RVR and it are unknown after a reset
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

// RVR + 1: after 0 comes RVR, with the next tick
static inline uint32_t pmu_systick_period(void)
{
    return PMU_STUB_REG(PMU_STUB_SYST_RVR) + 1;
}

// From the earlier reading to the later one, of a counter that counts down to 0 and on from RVR. Right up to
// RVR ticks; of longer spans the remainder, so 0 for a whole period: those take totals, see
// pmu_systick_handle().
static inline uint32_t pmu_systick_elapsed(uint32_t start, uint32_t end)
{
    return start >= end ? start - end : start + (pmu_systick_period() - end);
}

// Ticks of the periods that went by, for totals of 64 bits: in two words, since a Cortex-M0 can neither read
// 64 bits at once nor multiply them without a library. Zero at first.
struct pmu_systick_totals {
    volatile uint32_t low, high;
};

// Belongs into SysTick_Handler, with SYST_CSR.TICKINT set
static inline void pmu_systick_handle(struct pmu_systick_totals *totals)
{
    uint32_t low = totals->low + pmu_systick_period();
    totals->high = totals->high + (low < totals->low);
    totals->low = low;
}

// Ticks since SysTick last was set to zero. A period that ended and that the handler has not counted yet is
// seen by its pending bit. Not for code that can interrupt the handler.
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
