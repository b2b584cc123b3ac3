/*
 * Which registers hold constants, as one reads a Cortex-M's code in its order. Private to symbols/.
 */
#pragma once

#include "symbols/internal.h"

enum { CONSTANTS_SP = 13, CONSTANTS_LR = 14, CONSTANTS_PC = 15, CONSTANTS_NONE = 16 };

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
    return which == CONSTANTS_NONE || (constants->known & 1U << which) != 0;
}
/* The constants as they are when the instruction at `at` begins, which other ways may lead to. */
void constants_arrive(struct constants *constants, uint64_t at);
/* Follows one instruction, in the order of the code. True: it stores to the word. */
bool constants_follow(struct constants *constants, struct symbols *symbols,
                      const struct code_instruction *one, uint64_t word);

/* Where it may jump to, or 0; also B<c> and CBZ: DDI 0403 A7.7.12, A7.7.21. */
uint64_t thumb_jump(const struct code_instruction *one);
/* A modified immediate constant: DDI 0403 A5.3.2. */
uint32_t thumb_immediate(uint32_t first, uint32_t second);
