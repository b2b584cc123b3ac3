/*
 * Calls, as code: what kind of call an instruction is, for all who ask. A call that a register leads is one
 * as well, also where it authenticates its address or changes the security state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum instruction_set { ISA_THUMB, ISA_ARM, ISA_A64, ISA_OTHER };

enum call {
    CALL_NONE,
    CALL_DIRECT,   /* the instruction says where */
    CALL_INDIRECT, /* a register does */
};

/* Of a Thumb instruction of 4 bytes the first halfword is the upper. */
enum call thumb_call_code(uint32_t code, unsigned size);
enum call arm_call_code(uint32_t code);
enum call a64_call_code(uint32_t code);

/* Where a direct call of A32 or A64 at the address goes; of A32 with bit 0 clear in any case. */
uint64_t arm_call_target(uint32_t code, uint64_t address);
uint64_t a64_call_target(uint32_t code, uint64_t address);

/* Each is true only if the instruction behind it certainly executes next, apart from interrupts. */

/* `first` and `second` are its halfwords; *size is always set to its length in bytes. */
bool thumb_falls_through(uint16_t first, uint16_t second, unsigned *size);
bool arm_falls_through(uint32_t code);
bool a64_falls_through(uint32_t code);

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
bool a64_breakpoint(uint64_t pc, uint32_t word, struct breakpoint_code *out);
