/*
 * Readings: which counters a run reads at each stop and poll, and where their values lie among a list's
 * results. Those of the pass are first; others (a slower clock, a variable of the program) follow.
 */
#pragma once

#include "base/step.h"
#include "counters/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READING_ROOM = 32 };
enum { READING_STEPS = 3 * READING_ROOM }; /* of one reading of memory-mapped counters, at most */

struct reading {
    const struct core *by_core; /* some are in SPACE_CORE: this halted core reads them; else NULL */
    struct counter counters[READING_ROOM];
    size_t n;                     /* all that is read */
    size_t counted;               /* the first ones, which are the requested events */
    uint16_t apart[READING_ROOM]; /* of by_core: how far after the first value each of them lies */
};

void reading_begin(struct reading *reading, const struct core *by_core);
/* False when it is full. */
bool reading_append(struct reading *reading, const struct counter *counter);
/* `running`: the core is not halted, so that a counter in two words is read high, low, high. `spare`: what
 * the core's spare register is likely to hold, for counters that it reads itself, or NULL. Returns the index
 * for reading_take. */
size_t reading_add(const struct reading *reading, bool running, const struct core_proof *spare,
                   struct steps *list);
/* How many steps that is at most, with the core halted. */
size_t reading_steps(const struct reading *reading);
/* `out` has room for reading->n. */
void reading_take(const struct reading *reading, bool running, const uint64_t *results, size_t at,
                  uint64_t *out);
