/*
 * Calls, as code: what kind of call an instruction is, for all who ask. A call that a register leads is one
 * as well, also where it authenticates its address or changes the security state.
 */
#pragma once

#include <stdint.h>

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
