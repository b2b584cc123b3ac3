/*
 * Random numbers for samples and statistics, not for secrets: xorshift64* (S. Vigna, "An experimental
 * exploration of Marsaglia's xorshift generators, scrambled", 2016). The state is the caller's, and never 0;
 * the same state gives the same numbers.
 */
#pragma once

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* From 0 to `below` - 1; `below` is at least 1, and far below 2^53. */
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
    return (random_next(state) >> 11) % below;
}

/* From 0 up, and below 1. */
static inline double random_part(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}
