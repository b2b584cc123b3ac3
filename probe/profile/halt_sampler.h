/*
 * Samples of the PC where nothing shows it while the core runs: through a GDB server, and in GDB. The core
 * runs for a random time and is interrupted, so it is halted for a good part of the time.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct halt_sampler {
    struct device *device;
    uint64_t random;   /* never 0 */
    double us_each;    /* how long the last stops took */
    uint64_t stood_us; /* at most: from the interrupt to the next run */
    int64_t halted_us; /* since when it is halted */
};

/* After device_take. The core is halted. */
void halt_sampler_begin(struct halt_sampler *sampler, struct device *device);
/* One sample; the core is halted afterwards. ERROR_FOREIGN_STOP: it stopped by itself, at a breakpoint of the
 * user's or by a fault. */
bool halt_sampler_take(struct halt_sampler *sampler, struct profile_tally *tally,
                       const struct deadline *deadline, struct error *error);
