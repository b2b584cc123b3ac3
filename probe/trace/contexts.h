/* SPDX-License-Identifier: MIT */
/*
 * Contexts: moments to stays, from the entry of an exception to its exit, or from one write of a word to the
 * next that changes it. The core is in one context at a time, which is charged with what passes: a handler
 * with its own code alone; what passes from an exit to the next entry or return is nobody's. Packets: E
 * enter, X exit, R return. Nested: E16 E40 X40 R16 X16 R0; tail-chained: X16 E17, without an R. Pure, and
 * bounded.
 */
#pragma once

#include "trace/moments.h"

enum { CONTEXT_DEPTH = 64 };

enum stay_end {
    STAY_DONE,
    STAY_UNENDED, /* the core went on elsewhere: after a reset, a lockup */
    STAY_LOST,    /* something was lost before its end */
    STAY_CUT      /* the trace ended before it did */
};

struct trace_stay {
    uint32_t number; /* of the exception; or the value */
    enum stay_end end;
    bool entered;    /* its beginning was seen */
    bool is_rest;    /* it began before the trace, or was given already with STAY_LOST */
    bool is_suspect; /* bytes were lost where it began: it may never have been */
    bool from_exact, to_exact, own_exact;
    bool from_proved;       /* it began then, or somewhat earlier */
    uint64_t from, to, own; /* own: without what interrupted it */
    uint64_t at_least;      /* of STAY_CUT: for so long no packet was lost since `from` */
};

struct trace_contexts {
    /* To be set */
    void *context;
    void (*stay)(void *context, const struct trace_stay *stay);
    void (*lost)(void *context, uint64_t cycles); /* no time before and none after it belong together */
    /* The rest begins as zero */
    struct trace_stay open[CONTEXT_DEPTH]; /* the innermost last */
    size_t n_open;
    uint32_t torn[CONTEXT_DEPTH]; /* given with STAY_LOST, and not seen to end */
    size_t n_torn;
    bool begun; /* what was active when the trace began has ended */
    enum { CONTEXT_UNKNOWN, CONTEXT_THREAD, CONTEXT_BETWEEN, CONTEXT_INSIDE } now;
    uint64_t at;              /* up to here all is charged */
    bool is_proved;           /* the time `at` */
    uint64_t proved;          /* the latest time that is */
    uint64_t thread, between; /* cycles */
};

/* Exceptions, or writes of one word; other moments are nothing to it. */
void trace_contexts_take(struct trace_contexts *contexts, const struct trace_moment *moment);
void trace_contexts_end(struct trace_contexts *contexts);
