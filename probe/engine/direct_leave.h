/*
 * How the direct engine leaves the core: without breakpoints, and running, unless something else stopped it.
 */
#pragma once

#include "engine/engine.h"

bool direct_disarm(struct engine *engine, const struct deadline *deadline, struct error *error);
