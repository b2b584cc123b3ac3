/*
 * Writers: finds the code that writes a counter's registers, on a Cortex-M. A free comparator of the DWT
 * halts the core at a write to one register after the other; we note where the core stopped, and let it go on
 * at once. All that is set for it goes through the ledger.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITERS_ROOM = 12, WRITERS_REGISTERS = 6, WRITERS_CORE = 16 };

/* Stops at one place, which may be some instructions after the write: a watchpoint debug event is
 * asynchronous, DDI 0403 C1.5. */
struct writer {
    const char *name;                 /* of the written register: "DWT_CYCCNT" */
    uint64_t word;                    /* its address */
    uint64_t stop;                    /* PC */
    uint32_t registers[WRITERS_CORE]; /* R0 to R15 at the first of these stops */
    unsigned times;
};

struct writers {
    struct writer items[WRITERS_ROOM];
    size_t n;
    bool more;                              /* there were more places than room */
    const char *watched[WRITERS_REGISTERS]; /* registers, in the order in which they were watched */
    size_t n_watched;
    char hindrance[160]; /* why not all registers were watched; "": all were */
};

/* Only a Cortex-M that is not in a debugger's hands can be watched. */
bool writers_can_watch(const struct device *device);
/*
 * Watches the registers of `block`, a block of the chosen core, register `first` before the others (NULL: in
 * order). Takes about a second for each register that is not written. False if the link fails or the user
 * cancels; `out` has what was seen until then.
 */
bool writers_watch(struct device *device, const struct counter_block *block, const char *first,
                   struct writers *out, const struct deadline *deadline, struct error *error);
