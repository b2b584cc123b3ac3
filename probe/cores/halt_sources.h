/*
 * Stops: what stops a core beside its breakpoint comparators, and what else a debugger that was killed leaves
 * set: watchpoints, catches of vectors and of a reset, trigger outputs, the enable of debug itself. Data
 * only; target/release.c clears them.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core_stop {
    const char *name; /* "watchpoint"; NULL: it stops nothing by itself */
    struct address at;
    uint64_t field, low, high; /* it is set while low <= (value & field) <= high */
    uint64_t keep, key;        /* (value & keep) | key clears it */
    struct address place;      /* holds the address that it is about; size 0: none */
};

enum { CORE_STOPS = 48, STOPS_IDENTITY = 2 };

/* Before the core is taken, for they may be what it needs. `server`: another debugger has some of them. */
size_t stops_first(const struct core *core, bool server, struct core_stop *out, size_t room);
void stops_add_identity(const struct core *core, struct steps *list);
size_t stops_of(const struct core *core, const uint64_t *identity, struct core_stop *out, size_t room);
/* Once the core runs again, and only where no server debugs it. */
size_t stops_last(const struct core *core, struct core_stop *out, size_t room);
/* Whether a halted core with this status was left while its registers were read, when what of them was
 * borrowed for that may not have been given back. */
bool stops_may_have_borrowed(const struct core *core, uint64_t status);
/* For a halted core that was left in the middle of something: clears what would refuse it to run. */
void stops_add_ready(const struct core *core, struct steps *list);

/*
 * Watchpoints: the comparators by which the DWT of a Cortex-M halts it at a write to a word.
 */
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
