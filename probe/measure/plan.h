/*
 * Plan: the events that were asked for become columns of the result and passes over the counters. Cycles are
 * counted in every pass where the block can, as the cross-check between passes.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "counters/events.h"
#include "counters/placement.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLAN_COLUMNS = 64, PLAN_PASSES = 64 };

struct plan_pass {
    struct counter_pick picks[PLACEMENT_COUNTERS];
    size_t column[PLACEMENT_COUNTERS]; /* of each pick */
    size_t n;
};

struct plan {
    struct plan_column {
        char name[EVENT_NAME];
        char unsupported[96]; /* why it is in no pass; "" if it is */
    } columns[PLAN_COLUMNS];
    size_t n_columns;
    struct plan_pass passes[PLAN_PASSES];
    size_t n_passes;
};

/* Without wishes: the block's first counter. `set` may be NULL. ERROR_USAGE for names that do not exist,
 * ERROR_NO_COUNTER when not one of them can be counted. */
bool plan_make(struct plan *plan, const struct counter_block *block, const struct event_set *set,
               const struct event_wish *wishes, size_t n, struct error *error);
