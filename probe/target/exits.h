/*
 * Exits of exception handlers, of Cortex-M: whether a handler can be measured by them.
 */
#pragma once

#include "base/error.h"
#include "target/engine.h"

#include <stdbool.h>

/* ERROR_STATE where it is not known where the handler returns. */
bool exits_check(const struct region *region, struct error *error);
