/* SPDX-License-Identifier: MIT */
/*
 * Watchpoints: the comparators by which the DWT of a Cortex-M halts it.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

unsigned watchpoints_count(uint64_t control);
struct address watchpoints_function(const struct core *core, unsigned n);
/* Whether it matched since its function was last read. */
bool watchpoints_matched(uint64_t function);
