/* SPDX-License-Identifier: MIT */
/*
 * The PMU of Knights Corner from ring 3: what a program on the card can do with it itself. The events are
 * chosen from outside (pmu-probe --probe msr-agent:... stat -e A:spflt,B:spflt while the program runs) or by
 * the card's system. Ring 3 reads its own thread's counters, and starts and stops them by SPFLT.
 *
 *     struct pmu_knc_pair pair;
 *     pmu_knc_start(&pair);
 *     work();
 *     pmu_knc_stop(&pair);        pair.counts[0], pair.counts[1], pair.cycles
 *
 * Header only; C99 or C++, any compiler with GNU assembler statements. The thread must stay on its CPU.
 */
#ifndef PMU_KNC_H
#define PMU_KNC_H

#include <stdint.h>

#define PMU_KNC_COUNTERS 2
#define PMU_KNC_MASK     ((UINT64_C(1) << 40) - 1)

/* RDTSC: cycles of the core, which its four threads share. */
static inline uint64_t pmu_knc_tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* RDPMC: counter 0 or 1 of this thread, 40 bits. */
static inline uint64_t pmu_knc_counter(uint32_t which)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(which) : "memory");
    return ((uint64_t)high << 32 | low) & PMU_KNC_MASK;
}

/* SPFLT starts and stops those counters of this thread that wait for it (Intel 327357, PERF_SPFLT_CONTROL).
 * Only the card's own assembler knows the name. The bytes are VEX.128.F2.0F.W0 AE /6 with EAX. */
static inline void pmu_knc_filter(uint32_t count)
{
#if defined __k1om__ || defined __MIC__
    __asm__ volatile("spflt %0" : : "r"(count) : "memory");
#else
    __asm__ volatile(".byte 0xC5, 0xFB, 0xAE, 0xF0" : : "a"(count) : "memory");
#endif
}

struct pmu_knc_pair {
    uint64_t cycles, counts[PMU_KNC_COUNTERS]; /* of the region, after pmu_knc_stop */
};

/* The cycles begin last and end first, so that they include as little of this code as possible. */
static inline void pmu_knc_start(struct pmu_knc_pair *pair)
{
    pmu_knc_filter(1);
    pair->counts[0] = pmu_knc_counter(0);
    pair->counts[1] = pmu_knc_counter(1);
    pair->cycles = pmu_knc_tsc();
}

static inline void pmu_knc_stop(struct pmu_knc_pair *pair)
{
    pair->cycles = pmu_knc_tsc() - pair->cycles;
    pair->counts[0] = (pmu_knc_counter(0) - pair->counts[0]) & PMU_KNC_MASK;
    pair->counts[1] = (pmu_knc_counter(1) - pair->counts[1]) & PMU_KNC_MASK;
    pmu_knc_filter(0);
}

#endif
