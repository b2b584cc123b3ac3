/*
 * Reception: takes results in as they come, segment by segment, and turns them into raw hits and re-hits for
 * the sink. Pure but for the calls to the sink.
 */
#pragma once

#include "counters/reading.h"
#include "engine/engine.h"
#include "engine/hit_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A list looks for resets, and at the witness, once for so many hits, where they come fast. */
enum { RECEPTION_ROOM = 64, RECEPTION_HELD = 64 };

struct reception {
    const struct core *core;
    const struct reading *reading;
    const struct engine_wish *wish;
    const struct engine_sink *sink;
    uint64_t hits; /* delivered since reception_begin */
    bool enough;
    bool was_reset; /* in or before a hit: neither it nor any after it is delivered */
    const struct witness *witness;
    const struct witness_item *changed; /* likewise: what counts depend on; NULL: nothing has */
    uint64_t changed_to;

    struct expected_passage {
        struct passage passage;
        unsigned pairs;
        uint64_t end;
    } expected[RECEPTION_ROOM];
    size_t n, current;  /* expected[current] is the first that has not come in whole */
    enum segment next;  /* of that one */
    struct raw_hit hit; /* under way; survives when a hit goes on in another list */
    bool looked;        /* at its counters, since it began */
    bool under_way;     /* its start was left, and its end is waited for */
    bool again;         /* the call before did not return: this one is no step forward */
    uint64_t steps;     /* forward: starts left and ends reached */

    struct raw_hit held[RECEPTION_HELD]; /* whole, if there was no reset */
    size_t n_held;
};

/* `reading` and `witness` may change between two lists. */
void reception_init(struct reception *reception, const struct core *core, const struct reading *reading,
                    const struct witness *witness);
void reception_begin(struct reception *reception, const struct engine_wish *wish,
                     const struct engine_sink *sink);
/* A new list begins. */
void reception_expect_none(struct reception *reception);
/* Room for the next passage of the list; NULL when there is none. */
struct passage *reception_expect(struct reception *reception, unsigned pairs, uint64_t end);
/* results[0..done) of the list are valid. */
void reception_take(struct reception *reception, const uint64_t *results, size_t done);
/* The passage that has not come in whole; NULL: all have. */
const struct passage *reception_current(const struct reception *reception);

/* The counters as they were while the end was waited for. */
void reception_look(struct reception *reception, const uint64_t *values, uint64_t before_us,
                    uint64_t after_us);

/* For hits that go another way than planned: */
void reception_stopped(struct reception *reception, uint64_t after_us);
void reception_passed(struct reception *reception, bool tainted); /* a stop in another frame */
void reception_interrupted(struct reception *reception);          /* a stop in a handler that ran first */
void reception_left(struct reception *reception);                 /* it will never end */
/* There was no reset in the hit; nor in those that are held, which go first. */
void reception_deliver(struct reception *reception, const struct passage *passage, const uint64_t *results);
/* Whether there was a reset is known now, of all that is held. */
void reception_release(struct reception *reception, bool was_reset);
