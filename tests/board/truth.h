// The ground truth: what really happened on the board, at which cycle. Tests compare a tool's numbers with
// it, so nothing in here passes through anything that a debugger can see or change.
#ifndef BOARD_TRUTH_H
#define BOARD_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile.h"

enum { TRUTH_EVENTS = 1 << 20, TRUTH_PER_REPLY = 20000, TRUTH_WATCHES = 64 };

enum truth_kind {
    TRUTH_REACH,
    TRUTH_HALT,
    TRUTH_RUN,
    TRUTH_ENTER,
    TRUTH_RETURN,
    TRUTH_SLEEP,
    TRUTH_WAKE,
    TRUTH_RESET,
    TRUTH_LOCKUP,
    TRUTH_MATCH,
    TRUTH_OVERFLOW,
};

// Bits of TRUTH_RUN's extra
enum {
    RUN_PREEMPTED = 1,           // an exception is taken before the instruction at pc
    RUN_NOTHING_DONE = 2,        // nothing had executed since the previous run
    RUN_PENDED_WHILE_HALTED = 4, // that exception became pending in the halt, before the debugger could read
    RUN_PENDED_AT_EXIT = 8,      // or on the way out of it
};

struct truth_event {
    uint64_t cycles, counted;
    uint32_t pc, sp, lr, extra;
    enum truth_kind kind;
};

struct truth {
    // Codes of the events that the core counts besides cycles, set once, before anything is watched
    const uint16_t *codes;
    size_t code_count;
    struct truth_event *ring; // allocated when first watching
    uint64_t *counts;         // of each event in the ring, code_count each
    uint64_t next;            // index of the next event; the ring holds the last TRUTH_EVENTS of them
    uint32_t watches[TRUTH_WATCHES];
    size_t watch_count;
    struct profile *profile; // NULL: switched off
    uint64_t bloom;          // a bit for each watched address, to dismiss the others fast
    uint64_t others;         // so for addresses that are of interest for other reasons
};

// Forgets all events and watches these. false: too many, or no memory.
bool truth_watch(struct truth *, const uint32_t *addresses, size_t count);
void truth_free(struct truth *);

static inline bool truth_watching(const struct truth *t)
{
    return t->watch_count != 0;
}

static inline uint64_t truth_bit(uint32_t pc)
{
    return (uint64_t)1 << ((pc >> 1) & 63);
}

bool truth_among(const struct truth *, uint32_t pc);

static inline bool truth_watches(const struct truth *t, uint32_t pc)
{
    return (t->bloom & truth_bit(pc)) && truth_among(t, pc);
}

// Whether an address may be watched, or of interest otherwise
static inline bool truth_may_watch(const struct truth *t, uint32_t pc)
{
    return (t->bloom | t->others) & truth_bit(pc);
}

static inline void truth_look_at(struct truth *t, uint64_t places)
{
    t->others = places;
}

// counts: code_count of them, NULL if that is none
void truth_log(struct truth *, struct truth_event, const uint64_t *counts);

// Events from an index on, as one JSON object, at most TRUTH_PER_REPLY of them. "next" is where to go on,
// "end" how far there is.
void truth_print(const struct truth *, uint64_t from, FILE *out);

#endif
