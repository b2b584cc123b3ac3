/*
 * The lowered engine: a core's own debug registers over a link. Hits are planned as passages, many to a list
 * where nothing has to be decided in between, and every stop is proved before the core is resumed from it.
 */
#pragma once

#include "target/engine.h"
#include "target/target.h"

/* For target->chosen and target->block; NULL: out of memory. The target must outlive the engine. */
struct engine *lowered_new(struct target *target);
