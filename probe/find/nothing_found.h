/*
 * Why discovery found no core: a chip that is closed, cores that are not measured, or a place that it had no
 * reason to read.
 */
#pragma once

#include "find/discovery.h"

/* `why` becomes an ERROR_NO_CORE. False only when the link fails. */
bool nothing_found(struct found *found, struct error *why, const struct deadline *deadline,
                   struct error *error);
