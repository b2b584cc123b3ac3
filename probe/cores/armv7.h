/*
 * Armv7-A and Armv7-R (Cortex-A5 to A17, R4 to R8): halting debug through memory-mapped debug registers.
 * Registers of the core are read by instructions that it is given in Debug state, so that what they go
 * through (R0, and the debug communications channel) is borrowed for a moment. Places in code carry their
 * instruction set in bit 0, see core_code. Source: DDI 0406C (Armv7-A and -R), chapters C3, C5, C8 and C11.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stdint.h>

/* What is read to identify a core: in this order. It works whether the core runs or not, and locked ones too.
 */
enum { ARMV7_MIDR, ARMV7_DIDR, ARMV7_AUTHSTATUS, ARMV7_IDENTITY };
void armv7_add_identity(uint16_t unit, uint64_t debug_base, struct steps *list);
/* False when that is no such core. memory_unit, pmu_base and cti_base are the caller's to fill in. */
bool armv7_identify(uint16_t unit, uint64_t debug_base, const uint64_t *values, struct core *out);
