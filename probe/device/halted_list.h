/*
 * Lists of steps for a halted core that borrow a register of the program, such as R0. However such a list
 * ends, what it has borrowed is given back.
 */
#pragma once

#include "cores/core.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* As ledger_run, and waits a while for a target that asks to wait. */
bool halted_list_run(struct ledger *ledger, const struct core *core, const struct steps *list,
                     uint64_t *results, const struct deadline *deadline, struct error *error);
