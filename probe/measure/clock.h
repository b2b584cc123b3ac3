/*
 * The clock: how fast the core runs, from the user, from the program's own variable, or measured by a counter
 * against host time; and a bound from above, which decides whether a counter can have wrapped unseen.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "measure/result.h"

#include <stdbool.h>

struct clock {
    double hz, error_hz; /* 0: unknown */
    char source[32];
    double bound_hz; /* the counter never runs faster */
};

struct clock clock_unknown(void);
struct clock clock_given(double hz, const char *source);
/* Counter 0 of the block in use, on a running core, for about `ms`; unknown where it could wrap meanwhile. */
bool clock_measure(struct device *device, int ms, struct clock *out, const struct deadline *deadline,
                   struct error *error);
