/*
 * The entry of a function: whether the LR that is found there is that of a call, and where that was made.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "device/device.h"
#include "engine/engine.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* The instruction that made the call with this return address; UINT64_MAX where none is seen before it. */
bool entry_call(struct device *device, uint64_t lr, uint64_t *call, const struct deadline *deadline,
                struct error *error);
/* ERROR_STATE where LR tells of a return that is no place in code. */
bool entry_check_return(const struct core *core, uint64_t lr, struct error *error);
/* ERROR_STATE where an exception came there and LR tells of no return. Where the memory before LR cannot be
 * read, calls are believed in. */
bool entry_check(struct device *device, uint64_t status, uint64_t lr, uint64_t function,
                 const struct deadline *deadline, struct error *error);

/*
 * Exits of exception handlers, of Cortex-M: whether a handler can be measured by them.
 */
/* ERROR_STATE where it is not known where the handler returns. */
bool exits_check(const struct region *region, struct error *error);

/*
 * A stop that is nobody's. When a Cortex-M7 reaches a breakpoint just as an exception can be taken, it halts
 * at the handler's first instruction, and says that it was a breakpoint: erratum 3092511 of its SDEN. Let go,
 * the handler runs, and returns to the breakpoint.
 */
/* Of a core that says it stopped at a breakpoint, with these PC and CORE_STATUS. False when the link fails.
 */
bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error);
