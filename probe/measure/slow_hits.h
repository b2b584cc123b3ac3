/*
 * Slow hits: which hits of a run are the slowest so far, and which of the caller's slots has what was read
 * where each ended. Pure.
 */
#pragma once

#include "measure/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
