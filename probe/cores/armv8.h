/*
 * Armv8-A (Cortex-A35, A53 and later): external debug of cores in AArch64 state. They are halted and let run
 * through their cross trigger interface, on channels that nobody else uses, and each stop is told from the
 * one before by a bit that only entering Debug state clears (EDSCR.MA). Registers of the core are read by
 * instructions that it is given in Debug state, so that X0 is borrowed for some of them. Source: DDI 0487
 * (Armv8-A), chapters H2 to H5, H8 and H9.
 */
#pragma once

#include "cores/core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARMV8_TRIGGERS = 10 }; /* of a cross trigger interface, at most: those that are looked at */
/* What is read to identify a core, in this order. Most of it refuses to be read without power. */
enum {
    ARMV8_MIDR,
    ARMV8_DFR,
    ARMV8_AUTHSTATUS,
    ARMV8_TRIGGER_CONTROL,
    ARMV8_TRIGGER_CHANNELS,
    ARMV8_INPUTS,
    ARMV8_OUTPUTS = ARMV8_INPUTS + ARMV8_TRIGGERS,
    ARMV8_IDENTITY = ARMV8_OUTPUTS + ARMV8_TRIGGERS
};

/* Whether debug registers with this ARCHID in DEVARCH are such a core's. */
bool armv8_is_archid(uint16_t archid);
/* `cti_base` 0: there is none. */
void armv8_add_identity(uint16_t unit, uint64_t debug_base, uint64_t cti_base, struct steps *list);
/* memory_unit and pmu_base are the caller's to fill in. */
void armv8_identify(uint16_t unit, uint64_t debug_base, uint64_t cti_base, const uint64_t *values,
                    struct core *out);
/* One whose registers refuse to be read: known by the part number of its component only. */
void armv8_identify_hidden(uint16_t unit, uint64_t debug_base, uint64_t cti_base, uint16_t part,
                           struct core *out);
