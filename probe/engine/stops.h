/* What both engines make of a stop that is not the awaited one, and of one that does not occur. */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "cores/core.h"
#include "device/device.h"
#include "engine/engine.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

/* The time since a start was left or an end reached, and the stops since then that were neither. Only time in
 * which the core could go on counts: neither while it is held, nor while this process itself is paused. */
struct progress {
    int64_t went_us;
    int64_t looked_us;
    uint64_t inner; /* starts that the function reached by calling itself */
    uint64_t lost;  /* calls in a row that were made again before they had returned */
};

void progress_note(struct progress *progress);
/* What the core could do since the last call of one of these two; or the target refused. */
enum progress_kind { PROGRESS_WENT_ON, PROGRESS_HELD, PROGRESS_REFUSED };
void progress_add(struct progress *progress, enum progress_kind kind);
bool progress_is_late(const struct progress *progress, const struct engine_request *request);
/* Always false, with ERROR_START or ERROR_END. `hit` is under way, NULL if none is; `to` is where the last
 * call returns to. */
bool progress_tell(const struct progress *progress, const struct engine_request *request,
                   const struct core *core, const struct raw_hit *hit, uint64_t to, struct error *error);

/*
 * A Cortex-M7 that reaches a breakpoint just as an exception can be taken halts at the handler's first
 * instruction and reports a breakpoint: erratum 3092511 of its SDEN. Resumed, it runs the handler and returns
 * to the breakpoint. *is: whether a core that reports a breakpoint, with this PC and CORE_STATUS, did that.
 * False if the link fails.
 */
bool handler_stop_check(struct ledger *ledger, const struct core *core, uint64_t pc, uint64_t status,
                        bool *is, const struct deadline *deadline, struct error *error);

/* Always false: ERROR_RESET, or ERROR_FOREIGN_STOP in the words of `who`, NULL for those of the cause. Leaves
 * the place in `engine`. */
bool foreign_stop_tell(struct engine *engine, const struct core *core, enum stop_cause cause, const char *who,
                       uint64_t pc, struct error *error);
