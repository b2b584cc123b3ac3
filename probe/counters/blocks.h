/* DWT: the data watchpoint and trace unit of Armv7-M and later, with its cycle counter and, on some cores,
 * five profiling counters. DDI 0403 C1.8. */
#pragma once

#include "base/error.h"
#include "counters/counter.h"

#include <stdbool.h>
#include <stdint.h>

extern const struct block_kind dwt_kind;

/* SysTick: the 24-bit down counter that every Cortex-M may have. DDI 0419 B3.3, DDI 0403 B3.3. */
extern const struct block_kind systick_kind;

/*
 * PMUv1 of Cortex-R4, R5 and A8, which is in CP15 alone (DDI 0406C C12): only the core itself reaches it, and
 * only while it is halted can it be made to.
 */
extern const struct block_kind pmu_cp15_kind;

/* PMUv3: the performance monitors of Armv8-A and Armv8-R as the debug bus shows them. DDI 0487 chapter I5,
 * where PMCR, unlike what the core itself reads, does not tell how many counters there are. */
extern const struct block_kind pmu_v3_kind;

/* PMUv1 and PMUv2: the performance monitors of Armv7-A and Armv7-R, where a core shows them on its debug bus.
 * DDI 0406 appendix D2, and per core DDI 0388, DDI 0433, DDI 0438, DDI 0458, DDI 0464. */
extern const struct block_kind pmu_v7_kind;

/* The performance monitors of Armv8.1-M: the offsets of Armv7's, at a fixed place in the core's own memory,
 * with event counters of 16 bits. DDI 0553B D1.2. */
extern const struct block_kind pmu_v81m_kind;

/*
 * The PMU of a Knights Corner thread: two counters of 40 bits, and the core's time stamp counter beside them.
 * Intel 327357, "Intel Xeon Phi Coprocessor (codename: Knights Corner) Performance Monitoring Units".
 */
/* What an event's code holds here beyond event and unit mask, bits 15:0: an event select register's bits,
 * 327357 1.3.2, and one that is ours. */
enum {
    KNC_USER = 1 << 16,
    KNC_KERNEL = 1 << 17,
    KNC_EDGE = 1 << 18,
    KNC_SPFLT = 1 << 19, /* ours, reserved there: only while the program lets it by SPFLT */
    KNC_ENABLE = 1 << 22,
    KNC_ANY = 1 << 21,
    KNC_INVERT = 1 << 23,
    KNC_CMASK_SHIFT = 24,
};

extern const struct block_kind knc_kind;

/*
 * What may stand behind the name of a Knights Corner event: "cmask=2:inv:u".
 */
/*
 * Adds to the code what the words between colons say: u, k (user mode, kernel mode; default both), edge, any
 * (all threads of the core), cmask=N (cycles with N or more of it), inv (cycles with less), spflt.
 */
bool knc_modifiers_read(const char *text, uint32_t *code, struct error *error);
