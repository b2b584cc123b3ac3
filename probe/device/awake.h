/*
 * Memory of a program that runs. Where a Cortex-M sleeps, a chip may have no clock on the way to its memory
 * (STM32 without DBGMCU.DBG_SLEEP): a read then gives zeros, or what was read before, without a fault. So
 * each word that matters is read together with the core's state.
 */
#pragma once

#include "device/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one of the device's cores. Each notes a reset in the device: the register shows it only once. */
typedef bool memory_reader(struct device *device, const struct core *core, const struct steps *list,
                           uint64_t *results, bool *asleep, const struct deadline *deadline,
                           struct error *error);
/* The reads of `list`, of memory, at once. *asleep: the core was, before or after them. */
memory_reader awake_look;
/* Makes the reads of `list`, of memory, while the core is awake, if it wakes within some time. *asleep: it
 * was not found awake. */
memory_reader awake_read;
/* The same while it sleeps, if it does within some time; false: it did not, or they cannot be read. */
bool asleep_read(struct device *device, const struct core *core, const struct steps *list, uint64_t *results,
                 const struct deadline *deadline);
