/* SPDX-License-Identifier: MIT */
// The target stub: with it a program measures itself by its core's counters, and may open them to user mode.
// One set of functions serves the performance monitors of Armv7-A/R, Armv8-A and Armv8.1-M. On other Cortex-M
// cores only the cycle counter's functions exist, using DWT or SysTick. Include this header; there is nothing
// to link: static functions, no libc, no data, no absolute addresses but those of registers. C11 and C++17,
// GCC and Clang. README.md describes each function and its limits.
//
// Portable code can test for these:
//   PMU_STUB_EVENTS   event counters, with overflow flags and interrupts
//   PMU_STUB_USER     access from user mode that can be switched
//   PMU_STUB_BY_64    a cycle counter that can count every 64th cycle
//
// A compiler does not always know whether an Armv8-M core has a monitor: define PMU_STUB_V81M for M52, M55
// and M85.
#ifndef PMU_STUB_H
#define PMU_STUB_H

// For functions of one or two instructions, and for those that measure: always inlined, also at -Os and -O0
#define PMU_STUB_INLINE static inline __attribute__((always_inline))

#if defined __aarch64__
#include "pmu_stub_v8.h"
#elif !defined __arm__ || !defined __ARM_ARCH_PROFILE
#error "pmu_stub.h is for Arm cores"
#elif __ARM_ARCH_PROFILE == 'M'
#include "pmu_stub_m.h"
#if defined PMU_STUB_V81M || defined __ARM_ARCH_8_1M_MAIN__ || defined __ARM_FEATURE_MVE
#include "pmu_stub_v81m.h"
#elif __ARM_ARCH >= 7 && __ARM_ARCH_ISA_THUMB >= 2 && !defined __ARM_ARCH_8M_BASE__
#include "pmu_stub_dwt.h"
#else
#include "pmu_stub_systick.h"
#endif
#elif __ARM_ARCH >= 7
#include "pmu_stub_v7.h"
#else
#error "no performance monitor before Armv7"
#endif

#ifdef PMU_STUB_EVENTS
#include "pmu_stub_events.h"
#endif

// The cycles between two adjacent calls of pmu_cycles_read(): subtract them from a measurement. Returns the
// smallest of several tries, because the first ones may miss the cache.
static inline uint32_t pmu_read_overhead(void)
{
    uint32_t least = UINT32_MAX;
    for (unsigned left = 8; left; left--) {
        pmu_cycles_t start = pmu_cycles_read();
        uint32_t passed = (uint32_t)pmu_cycles_elapsed(start, pmu_cycles_read());
        if (passed < least)
            least = passed;
    }
    return least;
}

#endif
