/*
 * Placement: which counter counts which event, and in which pass, when there are more events than counters or
 * when some counters cannot count everything. Pure: knows events only by the counters that can count them.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACEMENT_COUNTERS = 32 };

struct placement_wish {
    uint32_t counters; /* bit i: counter i of the block can count it; 0: none can */
    unsigned group;    /* 0: alone; wishes with the same number are counted in the same pass */
};

struct placement_pass {
    size_t n;
    size_t wish[PLACEMENT_COUNTERS]; /* in the order of the wishes */
    uint8_t counter[PLACEMENT_COUNTERS];
};

/*
 * As few passes as a first fit finds, wishes in their order; within a pass the matching is exact: what can be
 * counted together is. `usable`: the counters that there are; `reserved`: those of them that are taken in
 * every pass. False (ERROR_USAGE): *which can never be counted, by itself or with its group; or there is no
 * room for the passes, then *which is the first wish without one.
 */
bool placement_make(const struct placement_wish *wishes, size_t n, uint32_t usable, uint32_t reserved,
                    struct placement_pass *out, size_t room, size_t *passes, size_t *which,
                    struct error *error);
