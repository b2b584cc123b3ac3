/* SPDX-License-Identifier: MIT */
/*
 * The trace engine: each hit is between two match packets of the DWT; the core is never halted. `arm` opens
 * the trace. Calls that make none are counted, with why.
 */
#pragma once

#include "engine/engine.h"
#include "trace/contexts.h"
#include "trace/trace.h"

#include <stdint.h>

enum { TRACE_ENDS = TRACE_COMPARATORS - 1 };

struct trace_engine_setup {
    uint64_t ends[TRACE_ENDS]; /* of region.to_return: its return instructions */
    size_t n_ends;
    uint64_t task;     /* the word that shows which task runs; 0: not known */
    const char *doubt; /* what trace cannot show of these calls; NULL: nothing */
    bool nests;        /* the function may run in itself: of calls that overlap none is taken */
    const char *sink;  /* as in struct trace_request */
    uint64_t ring_base;
    uint32_t ring_bytes;
    double baud, clock_hz;
    bool clock_is_measured;
    /* Of each call whose ends were seen, its number from 1 that of its task; and where trace was lost. NULL:
     * not wanted */
    void *context;
    void (*stay)(void *context, const struct trace_stay *stay);
    void (*lost)(void *context, uint64_t cycles);
};

extern const char trace_engine_advice[]; /* for what it cannot measure */

/* Up to the last hit that was delivered. */
struct trace_calls {
    uint64_t seen, exact; /* exact: hits; the others, by why they are none: */
    uint64_t late;        /* a packet or its timestamp was sent late */
    uint64_t together;    /* the ends share a timestamp, with each other or with something else */
    uint64_t unproved;    /* no cycle event proves the time */
    uint64_t lost;        /* a start or an end was lost */
    uint64_t unpaired; /* another start precedes the end: recursion, a function that did not return, another
                          task */
    uint64_t gaps;     /* places at which packets were lost */
    /* Of those that are late or together, together: cycles at least and at most, and the longest at most */
    uint64_t bounded, least, most, longest;
    const char *where; /* "the trace FIFO of the RP2350" */
};

/* The device, taken with looks_only and its block "dwt", must outlive the engine. NULL: out of memory. */
struct engine *trace_engine_new(struct device *device, const struct trace_engine_setup *setup);
const struct trace_calls *trace_engine_calls(const struct engine *engine);
