/*
 * Watchpoints: the comparators by which the DWT of a Cortex-M halts it at a write to a word.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WATCHPOINTS = 15 }; /* DWT_CTRL.NUMCOMP has four bits */

unsigned watchpoints_count(uint64_t control);
struct address watchpoints_function(const struct core *core, unsigned n);
/* The last free comparator, by the function registers of all `n`; -1: there is none. *others: one is in
 * use. */
int watchpoints_find(const struct core *core, const uint64_t *functions, unsigned n, bool *others);
/* Settings that make comparator `n` halt the core at a write to `word`; the last switches it on. */
size_t watchpoints_settings(const struct core *core, unsigned n, uint64_t word, struct setting *out,
                            size_t room);
/* Whether it matched since its function was last read. */
bool watchpoints_matched(uint64_t function);
