/* PMUv1 and PMUv2: the performance monitors of Armv7-A and Armv7-R, where a core shows them on its debug bus.
 * DDI 0406 appendix D2, and per core DDI 0388, DDI 0433, DDI 0438, DDI 0458, DDI 0464. */
#pragma once

#include "counters/counter.h"

extern const struct block_kind pmu_v7_kind;
