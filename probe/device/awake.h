/*
 * Memory of a program that runs. Where a Cortex-M sleeps, a chip may have no clock on the way to its memory
 * (STM32 without DBGMCU.DBG_SLEEP): a read then gives zeros, or what was read before, without a fault. So
 * each read of a word that matters comes with how the core is.
 */
#pragma once

#include "cores/core.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes the reads of `list`, of memory, while the core is awake, if it wakes within some time. *asleep: it
 * was not found awake. */
bool awake_read(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
                bool *asleep, const struct deadline *deadline, struct error *error);
/* The same while it sleeps, if it does within some time; false: it did not, or they cannot be read. */
bool asleep_read(struct ledger *ledger, const struct core *core, const struct steps *list, uint64_t *results,
                 const struct deadline *deadline);
