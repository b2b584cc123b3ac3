/*
 * Reset: the chosen core, and the chip around it where the core can ask for that, starts anew and stands at
 * its first instruction. By the core's own registers; a server's reset is links/link.h's.
 */
#pragma once

#include "target/target.h"

#include <stdbool.h>

/* After target_keep or target_take. Halts at the reset vector; what a reset clears of the core's own settings
 * is set again, the counters' are not. */
bool reset_and_halt(struct target *target, const struct deadline *deadline, struct error *error);
/* Where it stands then. */
bool reset_place(struct target *target, uint64_t *pc, const struct deadline *deadline, struct error *error);
/* Lets the core go from there. */
bool reset_run(struct target *target, const struct deadline *deadline, struct error *error);
