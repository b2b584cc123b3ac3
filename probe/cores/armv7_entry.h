/*
 * How a function of Armv7-A/R was entered. A handler of interrupts, aborts and undefined instructions finds
 * in LR an address some way behind the one to go back to, and goes back to other registers: what is true of
 * calls is not of it.
 */
#pragma once

#include "cores/core.h"

/* The exception mode that CPSR shows, in which a called function may be as well; NULL: none. */
const char *armv7_exception_mode(const struct core *core, uint64_t status);
/* Whether the word before LR is a call of this function. */
bool armv7_called_from(const struct core *core, uint64_t lr, uint32_t before, uint64_t function);
