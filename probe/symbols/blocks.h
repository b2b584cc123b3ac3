/*
 * A function's code as blocks: runs of consecutive instructions of one line that are entered at the first and
 * left at the last of them. Each block knows where it goes on. A call is part of the block, with all that the
 * callee does.
 */
#pragma once

#include "base/error.h"
#include "symbols/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_NEXT = 2 };
#define BLOCK_NONE SIZE_MAX

struct code_block {
    uint64_t low, last, high; /* the first instruction, the last at which a core stops, and the end */
    size_t file;              /* of the listing */
    unsigned line;            /* 0: unknown */
    unsigned instructions;
    uint64_t next[BLOCK_NEXT]; /* blocks of the function that may follow */
    unsigned n_next;
    bool returns; /* or the function's return may */
    bool is_open; /* known only when the last instruction executes */
    bool calls;
    bool is_inlined; /* set by the caller: it is another function's code */
};

struct code_blocks {
    struct code_block *at; /* by rising address */
    size_t n;
};

/* Of all code of the listing. ERROR_ELF: it has no lines. On failure `out` is empty. */
bool blocks_make(const struct listing *listing, struct code_blocks *out, struct error *error);
void blocks_free(struct code_blocks *blocks);
/* The block that has the address; BLOCK_NONE: none. */
size_t blocks_at(const struct code_blocks *blocks, uint64_t address);
