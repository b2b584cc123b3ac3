/* SPDX-License-Identifier: MIT */
/*
 * Knights Corner: a hardware thread of an Intel Xeon Phi, four of which share a core. Only its model-specific
 * registers can be reached, which neither stop nor start it; a program on it can be stopped by a debugger.
 */
#pragma once

#include "cores/core.h"

#include <stdint.h>

extern const struct core_ops knc_ops, x86_64_ops;

enum { KNC_THREADS = 4 }; /* of a core */

/* `cpu` is the card's own number for the thread. */
void knc_describe(uint16_t cpu, struct core *out);

/*
 * A program on an x86-64 processor under a debugger, which alone stops and starts it; its counters are
 * reached in another way. This knows only how a function returns.
 */
/* `unit` is the link's view of its memory. */
void x86_64_describe(uint16_t unit, struct core *out);
