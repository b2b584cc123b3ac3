/*
 * Applying settings: what a counter block wants, and seeing that it was done, for what ignores writes must
 * not end in a number; and what a core wants. Some chips' locks say that they are open while they ignore
 * writes: what does not take is set once more behind the lock's key.
 */
#pragma once

#include "device/device.h"

/* ledger_apply, then a look at the register: ERROR_NO_COUNTER when it does not hold what was written. `locks`
 * are the settings, n of them, that it may be one of. *again: a lock had lied, and what was set behind it
 * before has to be set again. */
bool device_apply(struct device *device, const struct setting *setting, const struct setting *locks, size_t n,
                  bool *again, const struct deadline *deadline, struct error *error);

/* Of a core's settings: those without the ones that are needed only where it is stopped and let go, these
 * alone, or all. */
enum apply_what { APPLY_TO_LOOK, APPLY_TO_STOP, APPLY_ALL };
bool device_apply_core(struct ledger *ledger, const struct core *core, enum apply_what what,
                       const struct deadline *deadline, struct error *error);
