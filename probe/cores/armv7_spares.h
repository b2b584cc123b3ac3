/*
 * Registers of a halted Armv7 core in the values of comparators that are off: the core puts them there by MCR
 * (the extended CP14 interface, DDI 0406C C6.4), and a debugger reads DBGBVR without changing anything, which
 * it cannot say of DBGDTRTX. Comparators that can compare a context ID hold all 32 bits of it while they are
 * set to do so (C11.11.2); the others drop bits 1:0, of which a stack pointer has none.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many there are, by DBGDIDR. */
unsigned armv7_whole_comparators(uint32_t didr);
/* As in struct core_ops. */
uint64_t armv7_holding_word(const struct core *core, unsigned n);
void armv7_add_held_proofs(const struct core *core, struct steps *list, const struct core_proof *proofs,
                           size_t n, bool fresh);
void armv7_add_ready(const struct core *core, struct steps *list);
