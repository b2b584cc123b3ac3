/*
 * Hidden cores: why the debug registers of a core cannot be read, as far as the few registers tell that
 * always can: it has no power, or a lock is closed that a reset closes too.
 */
#pragma once

#include "target/target.h"

/* "powered, running; OS lock set, as after a reset: ..."; for a core whose state is CORE_HIDDEN. Changes
 * nothing but the sticky bits that reading EDPRSR or DBGPRSR clears. */
void hidden_describe(struct target *target, const struct target_core *core, char *out, size_t size,
                     const struct deadline *deadline);
