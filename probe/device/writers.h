/*
 * Writers: who writes the registers of a counter, on a Cortex-M. A comparator of the DWT that nobody uses
 * halts the core at a write to one of them after the other; where the core stopped is noted, and it goes on
 * at once. Everything that is set for that goes through the ledger.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITERS_ROOM = 12, WRITERS_REGISTERS = 6, WRITERS_CORE = 16 };

/* Stops at one place. The core stops when it has been told of the write, which may be some instructions
 * later: a watchpoint debug event is asynchronous, DDI 0403 C1.5. */
struct writer {
    const char *name;                 /* of the register that was written: "DWT_CYCCNT" */
    uint64_t word;                    /* where that is */
    uint64_t stop;                    /* PC */
    uint32_t registers[WRITERS_CORE]; /* R0 to R15, at the first of these stops */
    unsigned times;
};

struct writers {
    struct writer items[WRITERS_ROOM];
    size_t n;
    bool more;                              /* places than there is room for */
    const char *watched[WRITERS_REGISTERS]; /* registers, in the order in which they were watched */
    size_t n_watched;
    char hindrance[160]; /* why no more was watched; "": everything was */
};

/* The registers that are watched for a block, by number; false: there are no more. */
bool writers_register(const struct counter_block *block, size_t n, const char **name, uint64_t *word);
/* Whether such a watch is possible at all: on a Cortex-M, where the core is not in a debugger's hands. */
bool writers_can_watch(const struct device *device);
/*
 * Of `block`, a block of the chosen core. `first`: the register by which it was seen, which is watched first;
 * NULL: none is known. About a second for each register to which nothing is written. False where the link
 * fails or the user has had enough; what was seen up to then is in `out`.
 */
bool writers_watch(struct device *device, const struct counter_block *block, const char *first,
                   struct writers *out, const struct deadline *deadline, struct error *error);
