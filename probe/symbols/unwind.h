/* SPDX-License-Identifier: MIT */
/*
 * The call stack of a stopped core, from its registers and a piece of its memory. The rules are the program's
 * call frame information (.debug_frame, .eh_frame); where there is none, the instructions themselves, and
 * what rests on these is marked. Nothing here touches a target.
 */
#pragma once

#include "symbols/symbols.h"

enum {
    UNWIND_FRAMES = 96,
    UNWIND_ARM_SP = 13,
    UNWIND_ARM_LR = 14,
    UNWIND_ARM_PC = 15,
    UNWIND_A64_LR = 30,
    UNWIND_A64_SP = 31,
    UNWIND_A64_PC = 32,
    UNWIND_VALUES = 33,
};

/* What a visit must read: R3 to R11, SP, LR and PC (R3 as some functions of Thumb-1 return by it); X19 to
 * X30, SP and PC. On a Cortex-M PSP and xPSR, too; else CPSR. */
#define UNWIND_NEEDS_ARM UINT64_C(0xEFF8)
#define UNWIND_NEEDS_A64 UINT64_C(0x1FFF80000)

struct unwind_core {
    uint64_t value[UNWIND_VALUES]; /* R0 to R15; or X0 to X30, SP, PC */
    uint64_t known;                /* a bit for each value that was read */
    uint64_t psp;                  /* a Cortex-M's process stack pointer */
    uint32_t status;               /* xPSR or CPSR; 0: not read */
    bool is_m;                     /* a Cortex-M: exceptions leave frames on its stacks */
    bool has_security;             /* ... of which FPCCR says how large they are */
    bool knows_psp;
};

/* `size` bytes of the target from `address` on; false: they are not there. At most 16 bytes are asked for. */
typedef bool unwind_memory(void *context, uint64_t address, void *out, size_t size);

enum unwind_end {
    UNWIND_OUTERMOST, /* the stack is whole; at all others it is cut short */
    UNWIND_NO_RULES,  /* code without call frame information, which does not show its frame either */
    UNWIND_NO_VALUE,  /* a register that is needed was not read, or is lost */
    UNWIND_NO_MEMORY, /* the memory at `unread` is needed */
    UNWIND_NO_CALL,   /* what should return to a call does not, as in the handler of an A or R core */
    UNWIND_NO_RISE,   /* a caller's frame is not above its callee's */
    UNWIND_SECURITY,  /* the caller is of the other security state */
    UNWIND_TOO_DEEP,  /* more than UNWIND_FRAMES */
};

struct unwind_frame {
    uint64_t pc;   /* Thumb bit cleared; a caller's is where the callee returns to */
    bool is_exact; /* the core was there, itself or when an exception was taken; else the call is before it */
    bool is_guess; /* it, or a frame between it and the leaf, was found without call frame information
                         that the code confirms */
    bool has_taken; /* an exception, whose handler is the frame before */
};

struct unwind_stack {
    struct unwind_frame at[UNWIND_FRAMES]; /* the leaf first */
    size_t count;                          /* at least 1 */
    enum unwind_end end;
    uint64_t unread; /* of UNWIND_NO_MEMORY */
};

struct unwind;

/* NULL: no memory. `symbols` is borrowed, and must be of Arm or AArch64. */
struct unwind *unwind_open(struct symbols *symbols);
void unwind_close(struct unwind *unwind); /* NULL is allowed */
void unwind_find(struct unwind *unwind, const struct unwind_core *core, unwind_memory *memory, void *context,
                 struct unwind_stack *out);
/* "code without call frame information" */
const char *unwind_end_text(enum unwind_end end);
/* The address to look up a frame by: inside its call instruction, if it made one. */
uint64_t unwind_place(const struct unwind_frame *frame);
