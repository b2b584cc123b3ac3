/*
 * Which registers hold constants, as one reads a Cortex-M's code in its order. Private to symbols/.
 */
#pragma once

#include "symbols/internal.h"

/* The registers whose values are constants. Forward jumps are followed. At the beginning of a loop, the
 * registers that it changes are not known. */
enum { LANDINGS = 24 };
struct constants {
    struct constants_known {
        uint32_t values[16];
        uint32_t known; /* as bits */
    } now;
    bool passed; /* the instruction before does not lead here */
    struct landing {
        uint64_t at;
        struct constants_known known;
    } landings[LANDINGS];
    size_t n;
};

/* True also for no register. */
static inline bool constants_know(const struct constants_known *constants, unsigned which)
{
    return which == NO_REGISTER || (constants->known & 1U << which) != 0;
}
/* The constants as they are when the instruction at `at` begins, which other ways may lead to. */
void constants_arrive(struct constants *constants, uint64_t at);
/* Follows one instruction, in the order of the code, and what it does. True: it stores to the word. */
bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, const struct instruction *does, uint64_t word);
