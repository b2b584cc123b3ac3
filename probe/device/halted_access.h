/*
 * Coprocessor registers of a core that runs: the core is halted, executes the accesses and is let go again,
 * so that the ledger can hold and undo such registers like all others. From one access to the next it stays
 * halted; whatever else is accessed, and the end of a piece of work (ledger_release_core), lets it go first.
 * A core that was found halted is left so.
 */
#pragma once

#include "counters/reading.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

struct halted_access;

/* Becomes the ledger's detour for SPACE_CP15. NULL: out of memory. */
struct halted_access *halted_access_new(struct ledger *ledger, const struct core *core);
void halted_access_free(struct halted_access *halted_access); /* NULL is allowed */
/* Makes the core fit to be halted, for the time of a measurement; through the ledger. */
bool halted_access_prepare(struct halted_access *halted_access, const struct deadline *deadline,
                           struct error *error);
/* All of a reading at one halt; the core did not run for it between these moments, and did before and after
 * it. */
bool halted_access_read(struct halted_access *halted_access, const struct reading *reading, uint64_t *values,
                        uint64_t *before_us, uint64_t *after_us, const struct deadline *deadline,
                        struct error *error);
/* At the last reading the core was halted already, by somebody else, at that place. */
bool halted_access_stood(const struct halted_access *halted_access, uint64_t *at);
/* From here on things are only put back: what a reset has taken away is not missed. */
void halted_access_undo(struct halted_access *halted_access);
/* Resets that were seen on the way, ERROR_RESET, once: no count goes over one. */
bool halted_access_check_reset(struct halted_access *halted_access, struct error *error);
/* For the end: ERROR_RESET where a core that was reset in the middle had to be left halted. */
bool halted_access_check_stays(const struct halted_access *halted_access, struct error *error);
