/*
 * Which counter stops the core after N events.
 */
#pragma once

#include "cores/core.h"
#include "counters/counter.h"
#include "counters/events.h"

#include <stdbool.h>

/* What the counters of a block call an event. ERROR_USAGE: they have none of this name. */
bool event_stop_find(const struct counter_block *block, const struct event_request *wanted,
                     struct counter_pick *out, struct error *error);
/* Takes the counters of a block, NULL for the best, which are to stop the core; the ways are numbered. */
enum { EVENT_STOP_WAYS = 2 };
typedef bool event_stop_try(void *context, const char *block, unsigned way, struct error *error);
/* On a Cortex-M the DWT is first for cycles, as its match needs no interrupt: what it lacks, the PMU may
 * have.
 */
bool event_stop_take(const struct core *core, const struct event_request *event, event_stop_try *try_it,
                     void *context, struct error *error);
