/*
 * Halt sources: what stops a core besides its breakpoint comparators, and what a killed debugger leaves set:
 * watchpoints, catches of vectors and resets, trigger outputs, the enable of debug itself. Data only.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core_stop {
    const char *name; /* "watchpoint"; NULL: it does not stop the core by itself */
    struct address at;
    uint64_t field, low, high; /* it is set while low <= (value & field) <= high */
    uint64_t keep, key;        /* (value & keep) | key clears it */
    struct address place;      /* the register with its address; size 0: none */
};

enum { CORE_STOPS = 48, STOPS_IDENTITY = 2 };

/* To be cleared before the core is halted, which may need them. `server`: another debugger uses some of
 * them. */
size_t stops_first(const struct core *core, bool server, struct core_stop *out, size_t room);
void stops_add_identity(const struct core *core, struct steps *list);
size_t stops_of(const struct core *core, const uint64_t *identity, struct core_stop *out, size_t room);
/* To be cleared once the core runs again, and only if no server debugs it. */
size_t stops_last(const struct core *core, struct core_stop *out, size_t room);
/* Whether a debugger left this halted core in the middle of reading registers, so that a borrowed register
 * may not have been restored. */
bool stops_may_have_borrowed(const struct core *core, uint64_t status);
/* By which bit of the status we mark that a borrowed register is to be restored; 0: no core of this family
 * has one. */
uint64_t stops_borrowed_mark(const struct core *core);
/* Whether the core was told to leave Debug state and has not done so; where it cannot be told from a stop
 * that follows at once: false. */
bool stops_has_not_left(const struct core *core, uint64_t status);
/* Clears what keeps such a core from running. */
void stops_add_ready(const struct core *core, struct steps *list);
