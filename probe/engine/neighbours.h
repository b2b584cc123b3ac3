/*
 * The other cores that see the same memory. A breakpoint instruction is met by all of them, and a core
 * without a debugger takes a fault there: so debug is switched on for each while there are any, and one that
 * stops at ours goes on when the code is as it was.
 */
#pragma once

#include "device/device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NEIGHBOURS_PLACES = 32 };

struct neighbours {
    struct device *device;
    bool guarded;
    uint64_t places[NEIGHBOURS_PLACES]; /* of breakpoint instructions that there were; the last ones */
    size_t n;
    int64_t looked_us;
};

void neighbours_init(struct neighbours *neighbours, struct device *device);
/* Before a breakpoint instruction is written there. */
bool neighbours_guard(struct neighbours *neighbours, uint64_t place, const struct deadline *deadline,
                      struct error *error);
/* ERROR_ADDRESS when one has stopped at a breakpoint of ours. Looks now and then only, unless `now`. */
bool neighbours_look(struct neighbours *neighbours, bool now, const struct deadline *deadline,
                     struct error *error);
/* Once the code is as it was: those that have stopped go on. */
bool neighbours_let_go(struct neighbours *neighbours, const struct deadline *deadline, struct error *error);
