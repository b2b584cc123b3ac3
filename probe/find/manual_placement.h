/*
 * Placing: debug components that no ROM table names, or names wrongly. Where a table is missing they are
 * looked for at the usual distances from the core's debug registers, and where the user says they are;
 * nothing is taken for what it does not say that it is. For discovery.c and target.c.
 */
#pragma once

#include "device/device.h"

/* Adds what is at `base`, if that is a core's debug registers, and the PMU and cross trigger interface that
 * are found where they usually stand. False only when the link fails. */
bool manual_placement_put_core(struct device *device, struct device_bus *bus, uint64_t base,
                               const struct deadline *deadline, struct error *error);
/* Does what the user says, after discovery_run. False when it is not so. */
bool manual_placement_run(struct device *device, const struct link_view *views, size_t n,
                          const struct device_request *request, const struct deadline *deadline,
                          struct error *error);
