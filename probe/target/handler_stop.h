/*
 * A stop that is nobody's. When a Cortex-M7 reaches a breakpoint just as an exception can be taken, it halts
 * at the handler's first instruction, and says that it was a breakpoint: erratum 3092511 of its SDEN. Let go,
 * the handler runs, and returns to the breakpoint.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "target/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a core that says it stopped at a breakpoint, with these PC and CORE_STATUS. False when the link fails.
 */
bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error);
