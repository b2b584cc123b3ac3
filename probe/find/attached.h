/*
 * A target to which a debugger is attached: one of the cores is the debugger's, and stands because it came.
 * Without a debugger each of these says so and changes nothing.
 */
#pragma once

#include "device/device.h"

bool attached_has(const struct device *device, const struct device_core *core);
/* The number of the core that the debugger has. */
size_t attached_number(const struct device *device, size_t otherwise);
/* False with ERROR_NO_CORE: that core is not the debugger's. */
bool attached_check(const struct device *device, size_t number, struct error *error);
/* The state that its core was in before, which is what the debugger will leave it in. */
bool attached_look(struct device *device, struct device_core *core, const struct deadline *deadline,
                   struct error *error);
/* False with ERROR_NO_COUNTER on an emulator, whose counters are not those of a core. */
bool attached_counts(const struct device *device, const struct counter_block *block, struct error *error);
