/*
 * What an end leaves alone. A place that a run has written is put back only if it still holds what the run
 * wrote. If not, something else has written it since, and has a use for what is there now. One rule for the
 * undoing at the end of a run, and for that of a run that did not end.
 */
#pragma once

#include "links/journal.h"

#include <stdint.h>

/* What such a place holds: the run's value, the one from before the run, or another one. `now` is a read of
 * entry->status, if the entry has one. Pure. */
enum holds { HOLDS_OURS, HOLDS_OLD, HOLDS_OTHER };
enum holds left_alone_holds(const struct journal_entry *entry, uint64_t now);
