/*
 * Whose code a halted Armv7 core is in: its mode, and CONTEXTIDR, into which an operating system writes what
 * tells its processes apart.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many breakpoint comparators can compare CONTEXTIDR, by DBGDIDR: the last ones. */
unsigned armv7_context_comparators(uint32_t didr);
/* As in struct core_ops. */
size_t armv7_add_mode(const struct core *core, struct steps *list);
bool armv7_in_user_mode(const struct core *core, uint64_t mode);
size_t armv7_add_context(const struct core *core, struct steps *list);
