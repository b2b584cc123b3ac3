/* SPDX-License-Identifier: MIT */
/*
 * Plan: which counter counts which event, in which pass. The placement knows events only by the counters that
 * can count them; the plan turns requests into columns and passes. Pure.
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
    unsigned group;    /* 0: alone; requests with the same number are counted in the same pass */
};

struct placement_pass {
    size_t n;
    size_t request[PLACEMENT_COUNTERS]; /* in the order of the requests */
    uint8_t counter[PLACEMENT_COUNTERS];
};

/*
 * Makes as few passes as a first fit finds, with the requests in their order. Within a pass the matching is
 * exact: events that can be counted together are. `usable`: the existing counters; `reserved`: those of them
 * that every pass uses for something else. On ERROR_USAGE, *which is the first request that cannot be
 * counted, alone or with its group, or for which there is no room in the passes.
 */
bool placement_make(const struct placement_request *requests, size_t n, uint32_t usable, uint32_t reserved,
                    struct placement_pass *out, size_t room, size_t *passes, size_t *which,
                    struct error *error);

/* Cycles are counted in every pass if the block can count them, as the cross-check between passes. */
enum { PLAN_COLUMNS = 64, PLAN_PASSES = 64 };

struct plan_pass {
    struct counter_pick picks[PLACEMENT_COUNTERS];
    size_t column[PLACEMENT_COUNTERS]; /* of each pick */
    size_t n;
};

struct plan {
    struct plan_column {
        char name[EVENT_NAME];
        char unsupported[96];      /* why it is in no pass; "" if it is */
        char errata[EVENT_ERRATA]; /* by which this core counts it wrongly; "" */
    } columns[PLAN_COLUMNS];
    size_t n_columns;
    struct plan_pass passes[PLAN_PASSES];
    size_t n_passes;
};

/* Without requests: the block's first counter. `set` may be NULL. ERROR_USAGE: a name is unknown;
 * ERROR_NO_COUNTER: none of the events can be counted. */
bool plan_make(struct plan *plan, const struct counter_block *block, const struct event_set *set,
               const struct event_request *requests, size_t n, struct error *error);
