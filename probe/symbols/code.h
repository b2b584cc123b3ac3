/*
 * Code: the instructions of a program, one after the other, as its sections have them. What mapping symbols
 * call data is none.
 */
#pragma once

#include "symbols/internal.h"

struct code_walk {
    struct symbols *symbols;
    uint64_t low, high; /* only these: [low, high) */
    Elf_Scn *section;
    uint64_t base;
    const uint8_t *bytes;
    size_t n, first, at;
};

struct code_instruction {
    uint64_t address;
    enum instruction_set isa;
    unsigned size;
    uint32_t code, next; /* and of what stands behind it; of two halfwords the first one is the upper */
    bool is_data;        /* then `code` is 0 */
    bool is_first;       /* nothing stands before it, as far as this walk goes */
};

/* False: there is no more. */
bool code_next(struct code_walk *walk, struct code_instruction *out);
/* The instruction at the beginning of `bytes`; 0 where there is none. */
uint32_t code_at(const struct symbols *symbols, const uint8_t *bytes, size_t n, bool thumb, unsigned *size);
/* Of Thumb, by its first halfword. */
bool code_is_wide(uint32_t halfword);
