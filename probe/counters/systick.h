/* SysTick: the 24-bit down counter that every Cortex-M may have. DDI 0419 B3.3, DDI 0403 B3.3. */
#pragma once

#include "counters/counter.h"

extern const struct block_kind systick_kind;
