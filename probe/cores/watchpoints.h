/*
 * Watchpoints: the comparators by which the DWT of a Cortex-M halts it at a write to a word. Registers and
 * what they are to hold; nothing here touches a link.
 */
#pragma once

#include "cores/core.h"

enum { WATCHPOINTS = 15 }; /* DWT_CTRL.NUMCOMP has four bits */

/* Without it the unit does nothing, and cannot be read. */
struct address watchpoints_trace(const struct core *core);
uint64_t watchpoints_trace_on(void);
struct address watchpoints_control(const struct core *core);
unsigned watchpoints_count(uint64_t control);
struct address watchpoints_function(const struct core *core, unsigned n);
/* The address that it waits for. */
struct address watchpoints_place(const struct core *core, unsigned n);
/* The last free one, by the function registers of all `n`; -1: there is none. *others: at least one is in
 * use. */
int watchpoints_find(const struct core *core, const uint64_t *functions, unsigned n, bool *others);
/* What makes comparator `n` halt the core at a write to `word`; the one that switches it on comes last. */
size_t watchpoints_settings(const struct core *core, unsigned n, uint64_t word, struct setting *out,
                            size_t room);
/* Since its function was read last. */
bool watchpoints_matched(uint64_t function);
