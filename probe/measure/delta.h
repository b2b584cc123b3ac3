/* SPDX-License-Identifier: MIT */
/*
 * Delta: runs hits through a region, calibrates, turns raw readings into counts that are exact or state their
 * error, and gathers them. A sink receives each hit and regular ticks.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/engine.h"
#include "measure/plan.h"
#include "measure/result.h"
#include "measure/widen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Slow hits: which hits of a run are the slowest so far, and which of the caller's slots has what was read
 * where each ended. Pure.
 */

/* Hits that are not judged yet, for the cost of a halt is not known, have slots as well. */
enum { SLOW_HITS_MOST = 64, SLOW_HITS_WAIT = 4, SLOW_HIT_SLOTS = SLOW_HITS_MOST + SLOW_HITS_WAIT };

#define SLOW_HIT_NONE SIZE_MAX /* no slot */

struct slow_hit {
    struct hit_result hit; /* without its words, which are these */
    uint64_t words[RESULT_WORDS];
    size_t slot;
};

struct slow_hits {
    size_t wanted; /* at most SLOW_HITS_MOST */
    size_t n;
    struct slow_hit at[SLOW_HITS_MOST]; /* the slowest first */
    bool is_used[SLOW_HIT_SLOTS], is_read[SLOW_HIT_SLOTS];
    int64_t longest_us; /* that the core was halted to be read, at any hit */
};

void slow_hits_begin(struct slow_hits *slow, size_t wanted);
/* A slot for a hit that is not judged yet; SLOW_HIT_NONE: as many wait as can. */
size_t slow_hits_reserve(struct slow_hits *slow);
void slow_hits_release(struct slow_hits *slow, size_t slot);
/*
 * Judges a hit by its value of `column`; of equals, the earlier one is the slower, but a count that is only
 * bounded precedes an exact one. `slot` is reserved, or SLOW_HIT_NONE. Returns the slot of a hit that is
 * kept; else SLOW_HIT_NONE, and `slot` is released.
 */
size_t slow_hits_take(struct slow_hits *slow, const struct hit_result *hit, size_t column,
                      const uint64_t *words, size_t slot);

struct delta_options {
    uint64_t hits;  /* of each pass, exactly; 0: up to 100, or as many as occur in 2 s after the first */
    int64_t for_us; /* or as many as occur in this time, over all passes, but at least one; 0: not given */
    int64_t timeout_ms; /* for the start, and then for the end, to be reached */
    uint64_t warmup;    /* the first hits of the run, which are measured and not counted */
    double precision;   /* end as soon as the mean of the first column is known so well (precision.h); with
                           `hits` or `for_us` as upper bounds; 0: not given */
    bool calibrate;
    struct clock clock;
    double seen_hz;   /* plausible_trial's */
    bool apart;       /* a reset between the hits: counters do not go on from hit to hit */
    bool is_round;    /* the end is the start */
    bool times_halts; /* as far as sleep does not seem the same */
    struct wrap_evidence evidence;
    const struct plan *plan;
    const struct at_end *at_end; /* what summary->at_max names; NULL: nothing */
    /* Begun; of the hits that the statistics count, and of those with a lower bound. NULL: not wanted. */
    struct slow_hits *slow_hits;
};

struct delta_sink {
    void *context;
    void (*hit)(void *context, const struct hit_result *);
    void (*tick)(void *context, uint64_t hits, enum engine_wait);
    /* With `slow_hits`: the core is halted at the end of a hit that may be one, to be kept in this slot. */
    bool (*slow_hit)(void *context, size_t slot, struct error *);
};

struct delta_turn {
    size_t pass;
    uint64_t goal;  /* hits of the pass, with those of earlier turns */
    int64_t for_us; /* it ends after this time, but not before its first hit; 0: not given */
    /* To be armed at once, before the turn's first hit; NULL: the engine is armed. *armed is set when it is.
     */
    const struct region *region;
    bool *armed;
    bool at_random;   /* with `region`: it begins at a random moment, so its first wait counts */
    int64_t least_us; /* of a region with a number of hits: it goes on for so long even if it has them all */
};

/* A region that takes turns with others; what a halt costs and the statistics live on. All that is given must
 * outlive it. NULL: out of memory; `summary` may then have statistics, as after delta_measure. */
struct delta;
struct delta *delta_begin(struct device *device, const struct delta_options *options,
                          const struct delta_sink *sink, struct summary *summary, struct error *error);
/* A turn that failed leaves what was measured before; another may follow it. */
bool delta_turn(struct delta *delta, struct engine *engine, const struct delta_turn *turn,
                const struct deadline *deadline, struct error *error);
void delta_end(struct delta *delta);

/* One region by itself; `engine` is armed. A failure leaves what was measured before it in `summary`, which
 * the caller frees with summary_free, and `summary->ended` says why. */
bool delta_measure(struct engine *engine, struct device *device, const struct delta_options *options,
                   const struct delta_sink *sink, struct summary *summary, const struct deadline *deadline,
                   struct error *error);
struct pass_check {
    uint64_t n, min, max;
    double mean, squares; /* Welford's */
};

void pass_check_add(struct pass_check *check, uint64_t value);
/* Writes how the passes' means differ by more than the passes vary; "" if they agree. `plus_minus`: how far
 * each value may be off. */
void pass_check_compare(const struct pass_check *passes, size_t n, double plus_minus, const char *name,
                        char *out, size_t size);

void summary_free(struct summary *summary);
