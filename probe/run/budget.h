/* SPDX-License-Identifier: MIT */
/*
 * The calls of a function with a budget: which counter stops the core there, and the run.
 */
#pragma once

#include "base/values.h"
#include "profile/guard.h"
#include "report/canvas.h"
#include "run/pc_samples.h"
#include "run/region.h"
#include "run/session.h"
#include "run/values.h"

#include <stdbool.h>
#include <stdint.h>

struct budget_run {
    struct session *session;
    struct progress *progress;
    struct conditions *conditions;
    /* Of the caller: before the first call, and what is seen of calls, with `context` in it */
    void *context;
    bool (*begin)(void *context, struct error *error);
    struct guard_sink sink;
    struct named_region named;
    struct clock clock;
    double seen_hz;             /* of trial_counter */
    struct budget_value wanted; /* as the user gave it */
    struct event_request event;
    char errata[EVENT_ERRATA]; /* of it */
    uint64_t budget;           /* in events */
    struct budget_way {
        struct counter_stop stop;
        struct counter_pick picks[2];
        size_t n_picks;
    } ways[EVENT_STOP_WAYS], *way; /* the one that is used */
    struct stack_reader stacks;
    struct guard guard;
    char doubt[DOUBT_ROOM]; /* why what is counted of calls is not proved; "" */
};

/* Before the target is touched; `budget` as it is typed, NULL: not given. */
bool budget_run_read(struct budget_run *run, const char *budget, struct error *error);
bool budget_run_find(struct budget_run *run, const char *function, struct error *error);
bool budget_run_measure(struct budget_run *run, struct error *error);
/* The budget was made into cycles by a clock that has changed since. */
bool budget_run_is_misjudged(const struct budget_run *run);
