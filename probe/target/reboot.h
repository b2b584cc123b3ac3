/*
 * An engine that resets the target before each hit: what is measured is the first passage after the reset.
 * Around another engine, which it owns.
 */
#pragma once

#include "target/engine.h"
#include "target/target.h"

/* ERROR_USAGE or ERROR_NO_COUNTER where that cannot be measured; the target is taken, its block too. */
bool reboot_check(const struct target *target, const struct region *region, struct error *error);
/* NULL: out of memory, and `inner` is freed. */
struct engine *reboot_new(struct target *target, struct engine *inner);
