/* Armv7-A and Armv7-R: debug registers on a debug bus. */
#pragma once

#include "cores/core.h"

enum { ARMV7_IDENTITY = 8 };

void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list);
bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out);
