/*
 * Stores of a Cortex-M's code: where they store to, and which constants the registers have on the way there.
 */
#pragma once

#include "symbols/code.h"

/* base + (beside << shift) + offset, `size` bytes; then the base is moved. */
struct store {
    unsigned base, beside; /* registers; beside 16: none */
    unsigned shift;
    int32_t offset, moves;
    uint32_t size;
};

/* False: the instruction of Thumb stores nothing. */
bool store_of(uint32_t code, struct store *out);
/* Whether it stores to some of the word, with the registers in front of it. */
bool store_hits(const struct store *store, const uint32_t *registers, uint64_t word);

/* What registers hold, as far as constants tell. Jumps forward are followed; what a loop changes is not known
 * to its beginning. */
enum { LANDINGS = 24 };
struct constants {
    struct constants_known {
        uint32_t values[16];
        uint32_t known; /* as bits */
    } now;
    bool passed; /* nobody comes from the instruction before */
    struct landing {
        uint64_t at;
        struct constants_known known;
    } landings[LANDINGS];
    size_t n;
};

/* One instruction on, in the order of the code; whether it is a store to that word. */
bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, uint64_t word);
