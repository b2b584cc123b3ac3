/*
 * Placing: debug components that no ROM table names, or names wrongly. Where a table is missing they are
 * looked for at the usual distances from the core's debug registers, and where the user says they are;
 * nothing is taken for what it does not say that it is. For discovery.c and target.c.
 */
#pragma once

#include "device/device.h"

/* Adds what is at `base`, if that is a core's debug registers, and the PMU and cross trigger interface that
 * are found where they usually stand. False only when the link fails. */
bool placing_put_core(struct target *target, struct target_bus *bus, uint64_t base,
                      const struct deadline *deadline, struct error *error);
/* Does what the user says, after discovery_run. False when it is not so. */
bool placing_run(struct target *target, const struct link_view *views, size_t n,
                 const struct target_wish *wish, const struct deadline *deadline, struct error *error);
