/*
 * PMUv1 of Cortex-R4, R5 and A8, which is in CP15 alone (DDI 0406C C12): only the core itself reaches it, and
 * only while it is halted can it be made to.
 */
#pragma once

#include "counters/counter.h"

extern const struct block_kind pmu_cp15_kind;
