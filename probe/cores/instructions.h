/*
 * Instructions: how long one is, whether the core goes on to the one after it, and breakpoint instructions,
 * which halt a core while debug is on, and are exceptions else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
