/*
 * The stepwise engine: runs hits through a debugger, a wish at a time. Slower than the lowered one, and its
 * halts are the debugger's; for servers that own the core. The counters are read at the stops only.
 */
#pragma once

#include "target/engine.h"
#include "target/target.h"

/* For a target that has a debugger; NULL: out of memory. */
struct engine *stepwise_new(struct target *target);
/* Re-hits where the core stands, told to the sink; none where the debugger does not let it be found out. The
 * core may be an instruction further afterwards; on up to `steps` instructions where it stands at a branch.
 */
bool stepwise_calibrate_here(struct engine *engine, unsigned rehits, unsigned steps,
                             const struct engine_sink *sink, const struct deadline *deadline,
                             struct error *error);
/* Reads the counters where the core stands; *reset: it was reset since it was last looked at. */
bool stepwise_look(struct engine *engine, uint64_t *values, bool *reset, const struct deadline *deadline,
                   struct error *error);
