/* SPDX-License-Identifier: MIT */
/*
 * Halted access: reads and writes registers of a running core that no debugger reaches (CP15, System
 * registers), and reads memory as the core sees it. The core is halted, executes the accesses and runs again,
 * so that the ledger can hold and undo such registers like all others. Between two such accesses the core
 * stays halted; any other access, and the end of a piece of work (ledger_release_core), lets it run first. A
 * core that was found halted stays halted.
 */
#pragma once

#include "counters/counter.h"
#include "links/ledger.h"

#include <stdbool.h>
#include <stdint.h>

struct halted_access;

/* The ledger makes its accesses to SPACE_CORE by this from here on. NULL: out of memory. */
struct halted_access *halted_access_new(struct ledger *ledger, const struct core *core);
void halted_access_free(struct halted_access *halted_access); /* NULL is allowed */
/* For a core without a debugger: switches its comparators on, and watches for resets and foreign halts. */
bool halted_access_prepare(struct halted_access *halted_access, const struct deadline *deadline,
                           struct error *error);
/* During a single halt, which begins after before_us and ends before after_us. */
bool halted_access_read(struct halted_access *halted_access, const struct reading *reading, uint64_t *values,
                        uint64_t *before_us, uint64_t *after_us, const struct deadline *deadline,
                        struct error *error);
/* Words of memory as the core sees them. After halted_access_prepare. */
bool halted_access_look(struct halted_access *halted_access, uint64_t address, uint64_t *words, size_t n,
                        const struct deadline *deadline, struct error *error);
/* Another debugger had halted the core before the last reading, at that address. */
bool halted_access_stood(const struct halted_access *halted_access, uint64_t *at);
/* Its last access was made at EL2. */
bool halted_access_in_hypervisor(const struct halted_access *halted_access);
/* From now on registers are only restored: it is not an error if a reset has cleared them. */
void halted_access_undo(struct halted_access *halted_access);
/* ERROR_RESET: a reset was seen since the last call. A count must not span one. */
bool halted_access_check_reset(struct halted_access *halted_access, struct error *error);
/* ERROR_RESET: the core was reset while it was halted, and had to be left halted. */
bool halted_access_check_stays(const struct halted_access *halted_access, struct error *error);
