// What an Armv7-A/R instruction is, as far as the board cares: what the performance monitor counts of it, and
// whether the board must do it in the emulator's place. Remembered by address as long as memory holds the
// same bytes there.
#ifndef BOARD_CPU_CLASSIFY_V7_H
#define BOARD_CPU_CLASSIFY_V7_H

#include "bus.h"

enum {
    OP_IMMEDIATE = 1 << 0,  // an immediate branch
    OP_PC_WRITE = 1 << 1,   // changes the PC, if its condition holds
    OP_ALWAYS = 1 << 2,     // and that has no condition
    OP_RETURN = 1 << 3,     // a procedure return
    OP_EXC_RETURN = 1 << 4, // an exception return
    OP_INTERWORKS = 1 << 5, // may change between ARM and Thumb
    OP_PSR = 1 << 6,        // may change the mode or unmask an interrupt
    OP_ISB = 1 << 7,        // barriers, the old ones by CP15 too
    OP_DSB = 1 << 8,
    OP_DMB = 1 << 9,
    OP_IT = 1 << 10,
    // Ours to perform
    OP_SVC = 1 << 11,
    OP_BKPT = 1 << 12,
    OP_WAIT = 1 << 13,        // WFI
    OP_IDLE = 1 << 14,        // WFE, SEV, YIELD: done as NOP, which is allowed
    OP_COPROCESSOR = 1 << 15, // an MRC or MCR of registers that the board has
    // Ours on a core that has Hyp mode: ERET, HVC, MRS of CPSR, MRS and MSR of SPSR and of ELR_hyp
    OP_HYP = 1 << 16,
    OP_HLT = 1 << 17, // ours on Armv8
    OP_OURS = OP_SVC | OP_BKPT | OP_WAIT | OP_IDLE | OP_COPROCESSOR,
};

enum { CLASSIFIED = 1 << 12 };

struct classified {
    uint32_t pc;          // of Thumb with bit 0
    const uint8_t *bytes; // where the memory holds it, else NULL
    uint32_t op;          // of two halfwords the first one is the upper
    uint32_t is;          // OP_ bits
    uint8_t size;
    uint8_t it_length; // instructions in the IT block that it begins
};

struct classifier {
    const struct bus *bus;
    struct classified each[CLASSIFIED];
};

uint32_t classify_arm(uint32_t op);
uint32_t classify_thumb16(uint16_t op);
uint32_t classify_thumb32(uint32_t op);

// Valid until the next call
const struct classified *classify(struct classifier *, uint32_t pc, bool thumb);

#endif
