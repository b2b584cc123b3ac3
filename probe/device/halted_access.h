/*
 * Coprocessor registers of a core that runs: the core is halted, executes the accesses and is let go again,
 * so that the ledger can hold and undo such registers like all others. From one access to the next it stays
 * halted; whatever else is accessed, and the end of a piece of work (ledger_leave_detour), lets it go first.
 * A core that was found halted is left so.
 */
#pragma once

#include "counters/reading.h"
#include "device/ledger.h"

#include <stdbool.h>
#include <stdint.h>

struct coprocessor;

/* Becomes the ledger's detour for SPACE_CP15. NULL: out of memory. */
struct coprocessor *coprocessor_new(struct ledger *ledger, const struct core *core);
void coprocessor_free(struct coprocessor *coprocessor); /* NULL is allowed */
/* Makes the core fit to be halted, for the time of a measurement; through the ledger. */
bool coprocessor_prepare(struct coprocessor *coprocessor, const struct deadline *deadline,
                         struct error *error);
/* All of a reading at one halt; the core did not run for it between these moments, and did before and after
 * it. */
bool coprocessor_read(struct coprocessor *coprocessor, const struct reading *reading, uint64_t *values,
                      uint64_t *before_us, uint64_t *after_us, const struct deadline *deadline,
                      struct error *error);
/* At the last reading the core was halted already, by somebody else, at that place. */
bool coprocessor_stood(const struct coprocessor *coprocessor, uint64_t *at);
/* From here on things are only put back: what a reset has taken away is not missed. */
void coprocessor_undo(struct coprocessor *coprocessor);
/* Resets that were seen on the way, ERROR_RESET, once: no count goes over one. */
bool coprocessor_check_reset(struct coprocessor *coprocessor, struct error *error);
/* For the end: ERROR_RESET where a core that was reset in the middle had to be left halted. */
bool coprocessor_check_stays(const struct coprocessor *coprocessor, struct error *error);
