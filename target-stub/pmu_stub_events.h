/* SPDX-License-Identifier: MIT */
// The operations on a performance monitor. They are the same for all cores, and use the registers of
// pmu_stub_v7.h, _v8.h or _v81m.h. Event numbers are the core's own: `pmu-probe list` prints them. Part of
// pmu_stub.h.
#ifndef PMU_STUB_EVENTS_H
#define PMU_STUB_EVENTS_H

// PMCR (PMU_CTRL): E, P, C, D, DP, LP. P and C read as zero, so it is safe to write back the value read.
// Where events are prohibited, as in Secure state, DP stops cycles too; with LP events overflow from 64 bits.
#define PMU_STUB_PMCR_E  (1u << 0)
#define PMU_STUB_PMCR_P  (1u << 1)
#define PMU_STUB_PMCR_C  (1u << 2)
#define PMU_STUB_PMCR_D  (1u << 3)
#define PMU_STUB_PMCR_DP (1u << 5)
#define PMU_STUB_PMCR_LP (1u << 7)

// Masks: of counter n, of the cycle counter. `1` enables with a SET register and disables with a CLR
// register; zeros do nothing, so nothing is ever read first.
#define PMU_COUNTER(n)  (1u << (n))
#define PMU_CYCLES      (1u << 31)
#define PMU_CYCLES_SLOT 31

// In an event number: not counted in privileged modes, or in user mode. PMUv1 cannot filter.
#define PMU_NOT_PRIVILEGED (1u << 31)
#define PMU_NOT_USER       (1u << 30)
// In an event number: counted at EL2 (Hyp mode) too. Without it nothing is counted there
#define PMU_AT_EL2 (1u << 27)
// Counts how often pmu_increment() was called for it
#define PMU_SW_INCR 0x00u

static inline void pmu_enable(void)
{
    pmu_prepare();
    pmu_write_PMCR(pmu_read_PMCR() | PMU_STUB_PMCR_E);
    pmu_sync();
}

static inline void pmu_disable(void)
{
    pmu_write_PMCR(pmu_read_PMCR() & ~PMU_STUB_PMCR_E);
    pmu_sync();
}

static inline void pmu_cycles_enable(void)
{
    pmu_write_PMCNTENSET(PMU_CYCLES);
    pmu_sync();
}

static inline void pmu_cycles_disable(void)
{
    pmu_write_PMCNTENCLR(PMU_CYCLES);
    pmu_sync();
}

static inline void pmu_cycles_reset(void)
{
    pmu_write_PMCR(pmu_read_PMCR() | PMU_STUB_PMCR_C);
    pmu_sync();
}

static inline void pmu_cycles_write(pmu_cycles_t value)
{
    pmu_write_PMCCNTR(value);
    pmu_sync();
}

// No barrier: the cheapest reading. A core that executes out of order may overlap it with code around it.
PMU_STUB_INLINE pmu_cycles_t pmu_cycles_read(void)
{
    return pmu_read_PMCCNTR();
}

// Earlier code is complete, and later code has not begun
PMU_STUB_INLINE pmu_cycles_t pmu_cycles_read_synced(void)
{
    pmu_sync();
    pmu_cycles_t value = pmu_read_PMCCNTR();
    pmu_sync();
    return value;
}

static inline pmu_cycles_t pmu_cycles_elapsed(pmu_cycles_t start, pmu_cycles_t end)
{
    return end - start;
}

#ifdef PMU_STUB_BY_64
// PMCR.D: true counts every 64th cycle. PMUv3 obeys it only while LC is clear, so this also changes LC. The
// cycle counter's flag then shows a carry out of bit 31.
static inline void pmu_cycles_by_64(bool on)
{
    uint32_t control = pmu_read_PMCR() & ~(PMU_STUB_PMCR_D | PMU_STUB_PMCR_WANTED);
    pmu_write_PMCR(control | (on ? PMU_STUB_PMCR_D : PMU_STUB_PMCR_WANTED));
    pmu_sync();
}
#endif

// Counter n below pmu_counters()
static inline void pmu_event_select(unsigned n, uint32_t event)
{
    pmu_write_type(n, event);
    pmu_sync();
}

static inline void pmu_counter_enable(unsigned n)
{
    pmu_write_PMCNTENSET(PMU_COUNTER(n));
    pmu_sync();
}

static inline void pmu_counter_disable(unsigned n)
{
    pmu_write_PMCNTENCLR(PMU_COUNTER(n));
    pmu_sync();
}

static inline void pmu_counter_write(unsigned n, uint32_t value)
{
    pmu_write_count(n, value);
    pmu_sync();
}

static inline void pmu_counter_reset(unsigned n)
{
    pmu_counter_write(n, 0);
}

// All event counters, not the cycle counter
static inline void pmu_counters_reset(void)
{
    pmu_write_PMCR(pmu_read_PMCR() | PMU_STUB_PMCR_P);
    pmu_sync();
}

static inline uint32_t pmu_counter_read(unsigned n)
{
    return pmu_read_count(n);
}

// For all counters in the mask that count PMU_SW_INCR
static inline void pmu_increment(uint32_t mask)
{
    pmu_write_PMSWINC(mask);
    pmu_sync();
}

// The counters that wrapped, once or more, since their flags were cleared
static inline uint32_t pmu_overflow_flags(void)
{
    return pmu_read_PMOVSR();
}

static inline void pmu_overflow_clear(uint32_t mask)
{
    pmu_write_PMOVSR(mask);
    pmu_sync();
}

// For PMU_CYCLES, PMU_COUNTER(n) or several. The interrupt controller is the program's own.
static inline void pmu_interrupts_on(uint32_t mask)
{
    pmu_write_PMINTENSET(mask);
    pmu_sync();
}

static inline void pmu_interrupts_off(uint32_t mask)
{
    pmu_write_PMINTENCLR(mask);
    pmu_sync();
}

// Wraps of each counter so far, for totals of 64 bits. Start with zero.
struct pmu_totals {
    volatile uint32_t wraps[32];
};

// Call this in the handler of the overflow interrupt, on the core that has these counters. Clears only the
// flags that it has seen, and returns them.
static inline uint32_t pmu_overflow_handle(struct pmu_totals *totals)
{
    uint32_t flags = pmu_overflow_flags();
    pmu_overflow_clear(flags);
    for (unsigned n = 0; n < 32; n++)
        if (flags >> n & 1)
            totals->wraps[n] = totals->wraps[n] + 1;
    return flags;
}

// The flag shows a wrap that the handler has not counted yet. A value read while the flag is set is from
// after the wrap. Not for code that can interrupt the handler.
static inline uint64_t pmu_counter_total(const struct pmu_totals *totals, unsigned n)
{
    uint32_t wraps, value, wrapped;
    do {
        wraps = totals->wraps[n];
        value = pmu_counter_read(n);
        pmu_sync();
        wrapped = pmu_overflow_flags() >> n & 1;
        pmu_sync();
        if (wrapped)
            value = pmu_counter_read(n);
    } while (wraps != totals->wraps[n]);
    return (uint64_t)(wraps + wrapped) << PMU_COUNTER_BITS | value;
}

static inline uint64_t pmu_cycles_total(const struct pmu_totals *totals)
{
#ifdef __aarch64__
    (void)totals; // it has 64 bits itself
    return pmu_cycles_read();
#else
    uint32_t wraps, value, wrapped;
    do {
        wraps = totals->wraps[PMU_CYCLES_SLOT];
        value = pmu_cycles_read();
        pmu_sync();
        wrapped = pmu_overflow_flags() >> PMU_CYCLES_SLOT;
        pmu_sync();
        if (wrapped)
            value = pmu_cycles_read();
    } while (wraps != totals->wraps[PMU_CYCLES_SLOT]);
    return (uint64_t)(wraps + wrapped) << 32 | value;
#endif
}

// Stops all counters, puts these events on counters 0 and up, sets them and the cycle counter to zero, and
// starts all by one write. Counts every cycle, not every 64th. Returns how many events found a counter.
static inline unsigned pmu_start(const uint32_t *events, unsigned count)
{
    pmu_prepare();
    unsigned there = pmu_counters(), used = count < there ? count : there;
    uint32_t control =
        pmu_read_PMCR() & ~(PMU_STUB_PMCR_E | PMU_STUB_PMCR_D | PMU_STUB_PMCR_DP | PMU_STUB_PMCR_LP);
    control |= PMU_STUB_PMCR_WANTED;
    pmu_write_PMCR(control);
    pmu_sync();
    pmu_write_PMCNTENCLR(UINT32_MAX);
    for (unsigned n = 0; n < used; n++)
        pmu_write_type(n, events[n]);
    pmu_write_PMCR(control | PMU_STUB_PMCR_P | PMU_STUB_PMCR_C);
    pmu_write_PMOVSR(UINT32_MAX);
    pmu_write_PMCNTENSET(PMU_CYCLES | (PMU_COUNTER(used) - 1));
    pmu_sync();
    pmu_write_PMCR(control | PMU_STUB_PMCR_E);
    pmu_sync();
    return used;
}

// Stops all counters by one write. They keep their values
static inline void pmu_stop(void)
{
    pmu_disable();
    pmu_write_PMCNTENCLR(UINT32_MAX);
    pmu_sync();
}

#ifdef PMU_STUB_USER
// User mode may read and write all registers but those of interrupts, on this core only: PMUSERENR.EN
static inline void pmu_user_enable(void)
{
    pmu_write_PMUSERENR(1);
    pmu_sync();
}

static inline void pmu_user_disable(void)
{
    pmu_write_PMUSERENR(0);
    pmu_sync();
}

// PMUSERENR and, as its bit 31, whether the cycle counter is enabled; PMCR in the upper half
static inline uint64_t pmu_state(void)
{
    uint32_t user = pmu_read_PMUSERENR() | (pmu_read_PMCNTENSET() & PMU_CYCLES);
    return (uint64_t)pmu_read_PMCR() << 32 | user;
}

// Counts cycles, and lets user mode read them. A monitor that is enabled already keeps its settings. Returns
// the state before, for pmu_close().
static inline uint64_t pmu_open(void)
{
    uint64_t before = pmu_state();
    uint32_t control = (uint32_t)(before >> 32);
    pmu_write_PMUSERENR(((uint32_t)before & ~PMU_CYCLES) | 1);
    pmu_write_PMCNTENSET(PMU_CYCLES);
    if (!(control & PMU_STUB_PMCR_E))
        control = (control & ~(PMU_STUB_PMCR_D | PMU_STUB_PMCR_DP)) | PMU_STUB_PMCR_WANTED | PMU_STUB_PMCR_E;
    pmu_write_PMCR(control);
    pmu_sync();
    return before;
}

static inline void pmu_close(uint64_t before)
{
    pmu_write_PMCR((uint32_t)(before >> 32));
    if (!((uint32_t)before & PMU_CYCLES))
        pmu_write_PMCNTENCLR(PMU_CYCLES);
    pmu_write_PMUSERENR((uint32_t)before & ~PMU_CYCLES);
    pmu_sync();
}
#endif

#endif
