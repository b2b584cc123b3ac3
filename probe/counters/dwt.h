/* DWT: the data watchpoint and trace unit of Armv7-M and later, with its cycle counter and, on some cores,
 * five profiling counters. DDI 0403 C1.8. */
#pragma once

#include "counters/counter.h"

extern const struct block_kind dwt_kind;
