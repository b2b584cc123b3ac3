/*
 * Applying what a counter block wants, and seeing that it was done: what ignores writes must not end in a
 * number.
 */
#pragma once

#include "target/target.h"

/* ledger_apply, then a look at the register: ERROR_NO_COUNTER when it does not hold what was written. */
bool target_apply(struct target *target, const struct setting *setting, const struct deadline *deadline,
                  struct error *error);
/* Of a core's settings those that are only needed to stop it and let it go. */
bool target_apply_to_stop(struct ledger *ledger, const struct core *core, const struct deadline *deadline,
                          struct error *error);
