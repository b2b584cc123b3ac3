/*
 * Steps as the numbers that pmu.tcl carries out. Pure. Reads at consecutive addresses become one item,
 * a block read; every other step is an item of its own.
 */
#pragma once

#include "base/step.h"

#include <stdbool.h>
#include <stddef.h>

enum { OPENOCD_BLOCK = 8192 }; /* elements; OpenOCD itself would take 65536 */

/* How many of the steps from here on make one item: at least 1. */
size_t openocd_item_length(const struct step *steps, size_t n);
/* NULL, or why OpenOCD cannot be asked for this step. */
const char *openocd_step_refusal(const struct step *step, size_t targets);
/*
 * Writes items, separated by blanks, until one is refused or there is no room for the next. Returns how
 * many steps are covered.
 */
size_t openocd_program_write(const struct step *steps, size_t n, size_t targets, char *out, size_t size);
