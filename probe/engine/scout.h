/*
 * The scout of the direct engine: watches several starts at a time, to find out which of them is reached at
 * all. Nothing is measured.
 */
#pragma once

#include "engine/engine.h"

#include <stddef.h>

/* See engine_ops. */
bool direct_scout(struct engine *engine, const struct engine_scout *scout, struct engine_found *found,
                  const struct deadline *deadline, struct error *error);
