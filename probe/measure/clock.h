/*
 * Clock: how fast the core runs, by the user, by the program's own variable, or by a counter measured against
 * host time. Its upper bound decides whether a counter can have wrapped unseen.
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
    double bound_hz;   /* the counter never runs faster, by what is claimed of it */
    double fastest_hz; /* nor does any core of its architecture */
    char doubt[128];   /* why what is claimed of it is not believed: then it is unknown; "" */
};

/* `fastest_hz`: of any such core, core_fastest_hz. */
struct clock clock_unknown(double fastest_hz);
/* So slow that two accesses of a probe may be closer than a register transfer takes. */
bool clock_is_slow(const struct clock *clock);
struct clock clock_given(double hz, const char *source, double fastest_hz);
/* The counter of cycles was seen to run so fast at least: a claimed clock that is slower is wrong. */
void clock_check(struct clock *clock, double seen_hz);
/* Measures counter 0 of the block in use for about `ms` while the core runs. Unknown if it could wrap
 * meanwhile. */
bool clock_measure(struct device *device, int ms, struct clock *out, const struct deadline *deadline,
                   struct error *error);
