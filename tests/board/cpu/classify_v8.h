// What an A64 instruction is, as far as the board cares: what the performance monitor counts of it, and
// whether the board must do it in the emulator's place. Remembered by address as long as memory holds the
// same word.
#ifndef BOARD_CPU_CLASSIFY_V8_H
#define BOARD_CPU_CLASSIFY_V8_H

#include "bus.h"

enum {
    A64_IMMEDIATE = 1 << 0, // an immediate branch
    A64_BRANCH = 1 << 1,    // changes the PC, if its condition holds
    A64_ALWAYS = 1 << 2,    // and that has no condition
    A64_RETURN = 1 << 3,    // RET
    // Ours to perform
    A64_EXCEPTION = 1 << 4, // SVC, HVC, SMC, BRK, HLT, DCPS
    A64_ERET = 1 << 5,      // and DRPS
    A64_WFI = 1 << 6,
    A64_IDLE = 1 << 7,     // WFE, SEV, SEVL, YIELD: done as NOP, which is allowed
    A64_REGISTER = 1 << 8, // MRS and MSR of a register
    A64_PSTATE = 1 << 9,   // MSR of an immediate value
    A64_OURS = A64_EXCEPTION | A64_ERET | A64_WFI | A64_IDLE | A64_REGISTER | A64_PSTATE,
};

enum { A64_CLASSIFIED = 1 << 12 };

struct a64 {
    uint32_t pc, op;
    const uint8_t *bytes; // where the memory holds it, else NULL
    uint16_t is;          // A64_ bits
};

struct a64_classifier {
    const struct bus *bus;
    struct a64 each[A64_CLASSIFIED];
};

uint16_t a64_classify_op(uint32_t op);
const struct a64 *a64_classify_anew(struct a64_classifier *, struct a64 *, uint32_t pc);

// Valid until the next call
static inline const struct a64 *a64_classify(struct a64_classifier *c, uint32_t pc)
{
    struct a64 *one = &c->each[(pc >> 2) % A64_CLASSIFIED];
    if (one->pc == pc && one->bytes && __builtin_memcmp(one->bytes, &one->op, sizeof one->op) == 0)
        return one;
    return a64_classify_anew(c, one, pc);
}

#endif
