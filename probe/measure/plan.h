/*
 * Placement: which counter counts which event, and in which pass, when there are more events than counters or
 * when some counters cannot count everything. Pure: knows events only by the counters that can count them.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "counters/events.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLACEMENT_COUNTERS = 32 };

struct placement_request {
    uint32_t counters; /* bit i: counter i of the block can count it; 0: none can */
    unsigned group;    /* 0: alone; wishes with the same number are counted in the same pass */
};

struct placement_pass {
    size_t n;
    size_t request[PLACEMENT_COUNTERS]; /* in the order of the wishes */
    uint8_t counter[PLACEMENT_COUNTERS];
};

/*
 * As few passes as a first fit finds, wishes in their order; within a pass the matching is exact: what can be
 * counted together is. `usable`: the counters that there are; `reserved`: those of them that are taken in
 * every pass. False (ERROR_USAGE): *which can never be counted, by itself or with its group; or there is no
 * room for the passes, then *which is the first wish without one.
 */
bool placement_make(const struct placement_request *requests, size_t n, uint32_t usable, uint32_t reserved,
                    struct placement_pass *out, size_t room, size_t *passes, size_t *which,
                    struct error *error);

/*
 * Plan: the events that were asked for become columns of the result and passes over the counters. Cycles are
 * counted in every pass where the block can, as the cross-check between passes.
 */
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
               const struct event_request *requests, size_t n, struct error *error);
