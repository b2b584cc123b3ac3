/*
 * Info: what its two forms, text and JSON lines, have in common.
 */
#pragma once

#include "commands/session.h"
#include "device/doctor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INFO_COMPARATORS = 32 };

/* Where the core's breakpoint units are set, those that are enabled. */
struct info_comparators {
    uint64_t used[INFO_COMPARATORS];
    size_t n;
};

bool info_comparators(struct session *session, const struct core *core, struct info_comparators *out,
                      struct error *error);
/* Run control is the debugger's, and so are the breakpoints. */
bool info_has_own_comparators(const struct session *session, const struct device_core *core);
/* False: -C asks for another core. */
bool info_is_shown(const struct session *session, const struct device_core *core);
/* "core 1" of the core that a component belongs to; -1: it belongs to none. */
int info_owner(const struct session *session, const struct component *component);
/* SystemCoreClock as core 0 sees it; false: nobody knows. */
bool info_clock(struct session *session, uint64_t *hz);

/* What of a block is in the way of measuring with it, or what it does. */
const char *info_block_state(struct session *session, const struct device_core *core,
                             const struct counter_block *block, struct diagnosis *diagnosis);

bool info_json(struct session *session, struct error *error);
