/* SPDX-License-Identifier: MIT */
/*
 * What one instruction does, for all who ask: where the core goes on, what it makes of registers and memory.
 * This is the only reader of instructions. It knows nothing of the ones around: neither an IT before, nor
 * what registers hold. What the architecture leaves undefined or unpredictable may be read as anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum instruction_set { ISA_THUMB, ISA_ARM, ISA_A64, ISA_OTHER };

enum { ARM_SP = 13, ARM_LR = 14, ARM_PC = 15, A64_FP = 29, A64_LR = 30, A64_SP = 31, NO_REGISTER = 32 };

struct instruction {
    uint8_t size; /* bytes */
    enum instruction_kind {
        GOES_ON,         /* the one after it certainly executes next, apart from interrupts */
        GOES_UNSURE,     /* exceptions, modes, hints, what is not allocated */
        GOES_SUPERVISOR, /* SVC */
        GOES_ASLEEP,     /* WFE, WFI */
        GOES_BREAKPOINT, /* halts the core while debug is on, else an exception; `number` */
        GOES_IT,         /* the next `number` ones have conditions */
        GOES_JUMP,       /* to `target` */
        GOES_AWAY,       /* to an address known only when it executes */
        GOES_TABLE,      /* so, within the function: TBB, TBH */
        GOES_BACK,       /* so, to the caller */
        GOES_CALL,       /* of `target` */
        GOES_CALL_BY,    /* of an address that a register has, also where it is authenticated */
    } kind;
    bool conditional; /* by itself */
    uint64_t target;  /* no Thumb bit; of AArch32 below 2^32 */
    uint8_t by;       /* GOES_AWAY and GOES_BACK: the register that says where, if one does */

    /* The result is in `to`. `with` is the second register; NO_REGISTER: `number` is in its place. */
    enum instruction_result {
        GIVES_NONE,
        GIVES_NUMBER, /* that */
        GIVES_SUM,    /* from + number, also as MOV of a register */
        GIVES_SHIFT,  /* from << number */
        GIVES_AND,
        GIVES_OR,
        GIVES_CLEARED, /* from & ~with */
        GIVES_TOP,     /* to, but with `number` as bits [31:16] */
        GIVES_OTHER,   /* from, with: its operands, as far as they are known */
    } gives;
    uint8_t to, from, with;
    uint32_t number; /* of A64 the lower half */

    /* At base + (index << shift) + offset, `bytes` of them; then `moves` is added to the base. Of A64's forms
     * the base alone is known. */
    enum { ACCESS_NONE, ACCESS_LOAD, ACCESS_STORE } access;
    uint8_t base, index, shift;
    int32_t offset, moves;
    uint32_t bytes;
    uint32_t list; /* general registers that are loaded or stored, the lowest at the lowest address */

    /* Of the local monitor: a load-exclusive opens it, a store-exclusive asks and closes it, CLREX closes it.
     */
    enum { EXCLUSIVE_NONE, EXCLUSIVE_LOAD, EXCLUSIVE_STORE, EXCLUSIVE_CLEAR } exclusive;

    uint32_t writes; /* general registers that it may change, also of `list`; without those of a callee */

    enum {
        SYSTEM_NONE,
        SYSTEM_READ, /* of a register of CP15, or MRS */
        SYSTEM_WRITE,
        SYSTEM_WRITE_BOTH, /* of its 64 bits, by MCRR */
        SYSTEM_MODE,       /* another mode of AArch32, with another stack */
        SYSTEM_STACK,      /* MSR of MSP or PSP */
        SYSTEM_MASK,       /* of Thumb: CPSIE, CPSID, MSR of PRIMASK to FAULTMASK */
    } system;
    uint8_t op1, crn, crm, op2; /* of that register; of A64's writes op0 is 3 */
};

/* Of a Thumb instruction of 4 bytes the first halfword is the upper. Of ISA_OTHER nothing is known. */
struct instruction instruction_of(enum instruction_set isa, uint32_t code, uint64_t address);
/* Of Thumb, by its first halfword. */
bool instruction_is_wide(uint32_t halfword);

static inline bool instruction_calls(const struct instruction *one)
{
    return one->kind == GOES_CALL || one->kind == GOES_CALL_BY;
}

/* Goes elsewhere, whatever the flags are, and does not return as a call does. */
static inline bool instruction_leaves(const struct instruction *one)
{
    return !one->conditional && one->kind >= GOES_JUMP && one->kind <= GOES_BACK;
}

/* Whether a store of AArch32 goes to part of the word, with the registers before it. */
bool store_hits(const struct instruction *store, const uint32_t *registers, uint64_t word);

/* --- breakpoint instructions ---------------------------------------------------------------------------- */

struct breakpoint_code {
    const char *name; /* "BKPT" */
    uint16_t number;  /* its immediate */
    bool is_semihosting;
    uint32_t code;
    uint8_t size; /* bytes */
};

/* `word`: the four bytes around `pc`. False: it is another instruction. */
bool thumb_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out);
bool arm_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out); /* in either state of Armv7 */
bool aarch32_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out); /* of Armv8 */
bool a64_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out);
