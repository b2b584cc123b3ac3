/* SPDX-License-Identifier: MIT */
/*
 * The guard: runs the calls of a function at full speed, and stops the core where a call has used up its
 * budget. Then the call goes on to its return, or the core is left halted for a debugger. The first call
 * measures what a halt costs, and has no budget; more of them do so if exceptions hide it.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "engine/counter_stop.h"
#include "engine/engine.h"
#include "measure/plausible.h"
#include "profile/stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard_overrun {
    uint64_t number;   /* from 1 */
    double elapsed_s;  /* since the run began */
    uint64_t calls;    /* that returned before it */
    uint64_t counted;  /* of the call, up to there, without what halts cost at most */
    uint64_t skid;     /* the budget is exceeded by at most so much */
    bool is_elsewhere; /* the whole stack does not lead to this call: another task, or it was left */
    bool
        is_unproved; /* that, or an interrupt ran that a halt may have delayed: it may be within the budget */
    bool has_pc;     /* else nothing of the registers can be read, and `place` is empty */
    struct stop_place place;
};

/* Events of a call. Halts do not all cost the same, so it may have been up to `spread` fewer. */
struct guard_count {
    uint64_t most, spread;
};

struct guard_sink {
    void *context;
    /* False, with `error`: the output failed. */
    bool (*overrun)(void *context, const struct guard_overrun *, struct error *);
    /* The call that overran has returned; `unproved`: nothing proves that it did. */
    void (*returned)(void *context, uint64_t number, struct guard_count counted, bool unproved);
    /* It had been left without returning before the core stopped, elsewhere: that was not an overrun. */
    void (*left)(void *context, uint64_t number);
    void (*tick)(void *context, uint64_t calls, enum engine_wait);
};

struct guard_options {
    uint64_t budget;    /* events */
    uint64_t overruns;  /* it ends after this number */
    bool keep;          /* at the last of them the core stays halted */
    bool calibrate;     /* else what a halt costs is not known, and may be up to 4,096 events */
    int64_t for_us;     /* 0: not given */
    uint64_t low, high; /* the function is [low, high); both 0 if unknown */
    int64_t timeout_ms; /* for a call to begin, and again to return */
};

enum guard_end { GUARD_OVERRUNS, GUARD_TIME, GUARD_CANCELLED, GUARD_NO_RETURN, GUARD_FAILED };

struct guard_result {
    uint64_t calls;     /* that returned */
    uint64_t overruns;  /* that stopped the core */
    uint64_t unstopped; /* calls that were over the budget when they returned, and nothing had stopped them */
    uint64_t unclear;   /* calls that may have been so: halts, or what they delayed, may be what is over */
    uint64_t unclear_by; /* at most; the largest of these */
    uint64_t unproved;   /* of `overruns`, and of `unclear`: what halts delayed may have stopped them, or were
                            left */
    uint64_t parts;      /* of `calls`, those whose count may begin in the middle */
    uint64_t left;       /* calls that were left without returning */
    uint64_t tainted; /* of `calls`, those in which an interrupt ran that the halt at the start had delayed */
    struct unseen_delays delays;    /* of `calls` */
    struct guard_count most;        /* the longest call that returned, and was not tainted */
    uint64_t halt_most, halt_least; /* events that a halt costs; most < least: not known */
    uint64_t skid;                  /* the largest of an overrun */
    double elapsed_s;
    bool is_kept; /* the core stays halted */
    enum guard_end end;
};

struct guard {
    struct engine *engine;     /* armed */
    struct counter_stop *stop; /* taken, and disarmed */
    size_t n_picks;            /* as counter_stop_choose chose; their counters are read first */
    struct stack_reader *stacks;
    struct guard_options options;
    struct guard_sink sink;
    struct plausible plausible; /* of the counters that n_picks are of */
    struct guard_result result;

    uint64_t armed;            /* for this number of events; 0: the call has no budget */
    uint64_t used, armed_anew; /* of the call under way, if armed once more: what was counted until then */
    int64_t begun_us;
    struct error written; /* no count of a call may be so */
    bool is_unproved;     /* the call under way had stopped the core, and is one of result.unproved */
    bool is_elsewhere;    /* the call under way had used up its budget, and the core was not in it */
    bool is_delayed;      /* so, and a delayed interrupt may have run in it by then */
};

/* A call was over the budget, whatever halts cost. */
static inline bool guard_is_over(const struct guard_result *result)
{
    return result->overruns > result->unproved || result->unstopped > 0;
}

/* The most events that the counter is armed for with this budget, for counter_stop_choose. */
uint64_t guard_most(uint64_t budget);
/* The given number of overruns, the time or Ctrl-C ends it, and none of these is a failure. guard->result is
 * right even after one. ERROR_START: no call was made in time. */
bool guard_run(struct guard *guard, const struct deadline *deadline, struct error *error);
