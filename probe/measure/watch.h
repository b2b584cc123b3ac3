/*
 * Watching: samples of counter 0 while the core runs, summed to a 64-bit total for as long as no two samples
 * are so far apart that the counter can have wrapped between them.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "measure/clock.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    struct target *target;
    struct clock clock;
    uint64_t last, last_us, first_us;
    uint64_t total;
    bool at_least; /* a wrap may have been missed: the total is a lower bound */
    uint64_t samples;
};

bool watch_begin(struct watch *watch, struct target *target, const struct clock *clock,
                 const struct deadline *deadline, struct error *error);
/* Adds what went by since the last sample. */
bool watch_sample(struct watch *watch, const struct deadline *deadline, struct error *error);
/* How far apart samples may be, in ms: at least 1, at most 1000. */
int watch_pace_ms(const struct watch *watch);
