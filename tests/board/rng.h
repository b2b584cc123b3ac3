// A small seeded generator (splitmix64). Each use has its own, so that switching one kind of chance on
// does not change what another draws.
#ifndef BOARD_RNG_H
#define BOARD_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// Uniform over 0..limit, both included
static inline uint64_t rng_upto(struct rng *r, uint64_t limit)
{
    return limit == UINT64_MAX ? rng_next(r) : rng_next(r) % (limit + 1);
}

#endif
