/*
 * The walk of the direct engine: follows a function from stop to stop through its code. At each stop it sets
 * breakpoints where the code may go on, and lets the core run to one of them. Where there are more such
 * places than comparators, or they are not known, it stops at the last instruction before, and steps over it.
 */
#pragma once

#include "engine/engine.h"

/* See engine_ops. */
bool direct_walk(struct engine *engine, const struct engine_walk *walk, const struct deadline *deadline,
                 struct error *error);
