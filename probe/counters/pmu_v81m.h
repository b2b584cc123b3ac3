/* The performance monitors of Armv8.1-M: the offsets of Armv7's, at a fixed place in the core's own memory,
 * with event counters of 16 bits. DDI 0553B D1.2. */
#pragma once

#include "counters/counter.h"

extern const struct block_kind pmu_v81m_kind;
