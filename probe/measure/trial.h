/*
 * A trial: some looks at a counter while the program runs, before anything is measured with it. A counter
 * that the program writes again and again, or that stops, shows itself in it.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "measure/clock.h"

/*
 * Of the first counter of the block in use, for some 20 ms. ERROR_WRITTEN. *seen_hz: how fast it went at
 * least; 0: not known. Each look may halt the core for a moment.
 */
bool trial_run(struct device *device, const struct clock *clock, double *seen_hz,
               const struct deadline *deadline, struct error *error);
