/* SPDX-License-Identifier: MIT */
/*
 * Comparators that the program itself has set, for its DebugMonitor exception: they halt the core while it is
 * debugged. DEMCR.MON_EN shows it: a debugger has no use for it (DDI 0403 C1.6.5).
 */
#pragma once

#include "device/run.h"

/* False if it cannot be read, and where there is no DebugMonitor. */
bool own_stops_are_there(struct ledger *ledger, const struct core *core, const struct deadline *deadline);
/* The one that may have stopped the core, which is halted at `pc`. What this run has set is none. */
struct own_breakpoint own_stops_find(struct ledger *ledger, const struct core *core, uint64_t pc,
                                     const struct deadline *deadline);
