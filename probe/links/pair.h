/*
 * A pair of links: one that reaches the core, and another that reaches the counters, which are model-specific
 * registers of an x86 processor. To what uses it the two are one link; a list of steps is cut where it goes
 * over from one to the other.
 */
#pragma once

#include "links/link.h"

/* Takes both over, even when it fails; NULL on error. The views of `counters` are marked `counts_only`. */
struct link *pair_new(struct link *control, struct link *counters, struct error *error);
