/*
 * The stepwise engine: runs hits through a debugger, a wish at a time. Slower than the lowered one, and its
 * halts are the debugger's; for servers that own the core. The counters are read at the stops only.
 */
#pragma once

#include "target/engine.h"
#include "target/target.h"

/* For a target that has a debugger; NULL: out of memory. */
struct engine *stepwise_new(struct target *target);
