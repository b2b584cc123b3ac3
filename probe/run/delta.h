/* SPDX-License-Identifier: MIT */
/*
 * The hits of one region, measured: its counter and clock, the engine, and another counter if something else
 * writes the first.
 */
#pragma once

#include "measure/delta.h"
#include "measure/result.h"
#include "report/canvas.h"
#include "run/counting.h"
#include "run/region.h"
#include "run/session.h"
#include "run/slowest.h"
#include "trace/contexts.h"

#include <stdbool.h>
#include <stdint.h>

struct delta_run {
    struct session *session;
    struct progress *progress;
    struct conditions *conditions;
    double threshold;    /* of a verdict, which the run is to be precise enough for; 0: none */
    bool hits_are_final; /* what `hit` did cannot be taken back */
    /* Of the caller: before the first hit of each counter, and for each hit */
    void *context;
    bool (*begin)(void *context, struct error *error);
    void (*hit)(void *context, const struct hit_result *hit);
    /* As in struct trace_engine_setup */
    void (*stay)(void *context, const struct trace_stay *stay);
    void (*lost)(void *context, uint64_t cycles);
    /* Of the run */
    struct named_region named;
    struct counting counting;
    struct summary summary;
    struct slowest *slowest; /* NULL: not wanted */
    struct engine *by_trace; /* NULL: another one */
};

/* Before the target is touched; `end` NULL: the function's return. */
bool delta_run_find(struct delta_run *run, const char *start, const char *end, struct error *error);
bool delta_run_measure(struct delta_run *run, struct error *error);
/* Whether its summary may be shown, `why` it ended: a region with a reset in it, or readings that mean
 * nothing, must not end in a table. */
bool delta_run_has_result(const struct delta_run *run, const struct error *why);
/* Completes the summary. */
void delta_run_end(struct delta_run *run);
void delta_run_free(struct delta_run *run);
