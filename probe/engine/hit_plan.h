/* SPDX-License-Identifier: MIT */
/*
 * Plans the step list of one hit, and makes raw hits and re-hits for the sink of its results as they arrive.
 * A plan can begin at any segment, so that a hit which went another way than planned (another caller,
 * another frame) goes on from where the core is. Pure.
 */
#pragma once

#include "base/step.h"
#include "counters/counter.h"
#include "device/settings.h"
#include "engine/breakpoints.h"
#include "engine/call.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum segment {
    SEGMENT_AT_START, /* wait for the halt, prove that it is at the start */
    SEGMENT_ENTRY,    /* prove that return address and stack are as expected */
    SEGMENT_LEAVE,    /* make re-hits, read the counters, move the breakpoint to the end, run */
    SEGMENT_AT_END,   /* wait for the halt, prove that it is at the end */
    SEGMENT_FRAME,    /* prove that it is this call's frame */
    SEGMENT_FINISH,   /* read the counters, make re-hits, move the breakpoint to the start, run */
    SEGMENTS
};

enum { HIT_NEVER = UINT16_MAX };

struct hit_steps {
    size_t first[SEGMENTS + 1]; /* segment s is [first[s], first[s + 1]) of the list */
    enum segment from;
    unsigned rehits;
    size_t pending_at;                         /* SIZE_MAX: none */
    size_t pending_early_at;                   /* before a step that may enter a handler; SIZE_MAX: none */
    size_t before_at, after_at;                /* OP_TIME */
    size_t reset_at;                           /* SIZE_MAX: a later hit of the list shows it */
    struct witness_places witness_at;          /* with reset_at */
    uint16_t reading_at[2][ENGINE_REHITS + 1]; /* at the start, at the end */
    uint16_t disturbed_at[2][ENGINE_REHITS];   /* HIT_NEVER: nowhere */
    uint16_t words_at[AT_END_WORDS];
};

struct hit_plan {
    const struct core *core;
    const struct breakpoints *breakpoints;
    const struct reading *reading;
    uint64_t start, end; /* equal for a loop's round */
    /* What is proved at each end, so that both are of this call. */
    struct core_proof start_proofs[2], end_proofs[2];
    unsigned n_start_proofs, n_end_proofs;
    const struct core_spare *spare; /* for core_add_proofs, at both ends */
    /* Further stops until the end; with them, the breakpoint that moves is not at `end`, which may
     * be one of them, but at `breakpoint_at`. */
    struct other_stops others;
    uint64_t breakpoint_at;
    unsigned rehits;
    bool slow; /* the core's clock: a register transfer may outlast a probe's next access */
    const struct witness *witness;
    bool reset_later;            /* the next hit checks for resets, and checks the witness, for both */
    bool stay;                   /* at the end: the next list begins with the move to the start */
    const struct at_end *at_end; /* NULL: nothing */
    struct hit_budget budget;
    uint64_t counter; /* what it held at the start, for counter_stop_add_arm */
};

void hit_plan_add(const struct hit_plan *plan, enum segment from, struct steps *list, struct hit_steps *out);
/* From a stop before or at the end, on to the start. */
void hit_plan_add_resume(const struct hit_plan *plan, struct steps *list);
enum segment hit_steps_segment(const struct hit_steps *hit_steps, size_t at);
/* Before the end the core is halted at `here`: one instruction past it, interrupts held off, no breakpoint
 * set; then on, to the end or to the start. */
void hit_plan_add_step(const struct hit_plan *plan, uint64_t here, struct steps *list);
size_t hit_plan_add_on(const struct hit_plan *plan, struct steps *list);
void hit_plan_add_to_start(const struct hit_plan *plan, struct steps *list);
/* From a stop at the start one instruction on, interrupts held off, and then to the next start. */
void hit_plan_add_past_start(const struct hit_plan *plan, struct steps *list);
/* From a stop at the start before the end, to what the stop at the start was when it began. */
void hit_plan_add_anew(const struct hit_plan *plan, struct steps *list);
/* How often a hit leaves Debug state. */
unsigned hit_plan_pairs(const struct hit_plan *plan);

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
    bool drops;         /* the next hit may have begun in the middle of a call, and is not delivered */
    bool is_whole;      /* ... but a call ended before it, and the sink is given what it took */
    bool over;          /* one has ended since the engine made this false */
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
void hit_results_overran(struct hit_results *hits, bool is_one); /* a stop by its budget */
void hit_results_left(struct hit_results *hits);                 /* it will never end */
/* The hit's end is read; then it is held until a reset is ruled out. */
void hit_results_complete(struct hit_results *hits, const struct hit_steps *hit_steps,
                          const uint64_t *results);
void hit_results_hold(struct hit_results *hits);
/* Drops them if there was a reset. */
void hit_results_release(struct hit_results *hits, bool was_reset);
