/* Makes raw hits and re-hits for the sink of the results of planned hits, as they arrive. */
#pragma once

#include "counters/reading.h"
#include "engine/engine.h"
#include "engine/hit_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hits in a list; fast hits that share one check for resets and of the witness, also of several lists. */
enum { HIT_RESULTS_ROOM = 128, HIT_RESULTS_HELD = 256 };

struct hit_results {
    const struct core *core;
    const struct reading *reading;
    const struct engine_request *request;
    const struct engine_sink *sink;
    uint64_t hits; /* delivered since hit_results_begin */
    bool enough;
    bool was_reset; /* in or before a hit: neither that hit nor a later one is delivered */
    const struct witness *witness;
    const struct witness_item *changed; /* the same for a register of the witness; NULL: none has changed */
    uint64_t changed_to;

    struct expected_hit {
        struct hit_steps hit_steps;
        unsigned pairs;
        uint64_t end;
    } expected[HIT_RESULTS_ROOM];
    size_t n, current;  /* expected[current] is the first incomplete one */
    enum segment next;  /* of that one */
    struct raw_hit hit; /* under way, if need be through several lists */
    bool polled;        /* its counters were, since it began */
    bool under_way;     /* its start was left, its end is not reached */
    bool again;         /* the call before did not return: this start is not progress */
    uint64_t advances;  /* starts left and ends reached */

    struct raw_hit held[HIT_RESULTS_HELD]; /* complete, unless there was a reset */
    size_t n_held;
    struct raw_hit rehits[ENGINE_REHITS]; /* at a start, the same */
    size_t n_rehits;
};

/* `reading` and `witness` may change between two lists. */
void hit_results_init(struct hit_results *hits, const struct core *core, const struct reading *reading,
                      const struct witness *witness);
void hit_results_begin(struct hit_results *hits, const struct engine_request *request,
                       const struct engine_sink *sink);
void hit_results_expect_none(struct hit_results *hits);
/* Room for the next hit of the list; NULL: there is none. */
struct hit_steps *hit_results_expect(struct hit_results *hits, unsigned pairs, uint64_t end);
/* results[0..done) of the list are valid. */
void hit_results_take(struct hit_results *hits, const uint64_t *results, size_t done);
/* The first hit that is not complete; NULL: all are. */
const struct hit_steps *hit_results_current(const struct hit_results *hits);

void hit_results_poll(struct hit_results *hits, const uint64_t *values, uint64_t before_us,
                      uint64_t after_us);

/* For hits that went another way than planned: */
void hit_results_stopped(struct hit_results *hits, uint64_t after_us);
void hit_results_passed(struct hit_results *hits, bool tainted); /* a stop in another frame */
void hit_results_interrupted(struct hit_results *hits);          /* a stop in a handler that ran first */
void hit_results_overran(struct hit_results *hits);              /* a stop by its budget */
void hit_results_left(struct hit_results *hits);                 /* it will never end */
/* There was no reset in this hit, nor in the held ones, which are delivered first. */
void hit_results_deliver(struct hit_results *hits, const struct hit_steps *hit_steps,
                         const uint64_t *results);
/* Drops them if there was a reset. */
void hit_results_release(struct hit_results *hits, bool was_reset);
