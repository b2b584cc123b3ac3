/* PMUv3: the performance monitors of Armv8-A and Armv8-R as the debug bus shows them. DDI 0487 chapter I5,
 * where PMCR, unlike what the core itself reads, does not tell how many counters there are. */
#pragma once

#include "counters/counter.h"

extern const struct block_kind pmu_v3_kind;
