/*
 * A program on an x86-64 processor, as a debugger shows it: what stops and starts it is the debugger's
 * business, and its counters are reached in another way. Known of it is how a function returns.
 */
#pragma once

#include "cores/core.h"

/* `unit`: the link's view of its memory. */
void x86_64_describe(uint16_t unit, struct core *out);
