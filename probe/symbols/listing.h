/* SPDX-License-Identifier: MIT */
/*
 * The code of a function as text: its instructions and the constants among them, each with the line of the
 * source that it belongs to.
 */
#pragma once

#include "base/error.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LISTING_BYTES = 1 << 18, LISTING_TEXT = 256, LISTING_JOINS = 16 };
#define LISTING_NO_FILE SIZE_MAX

/* Where an instruction goes. A call returns, so it goes on, if what it calls does not change where to. */
enum code_flow {
    FLOW_ON,
    FLOW_TO,    /* to a number */
    FLOW_AWAY,  /* to an address known only when it executes */
    FLOW_RETURN /* to the caller */
};

struct listing_row {
    uint64_t address;
    unsigned size; /* bytes: 2 or 4 */
    bool is_data;
    bool in_it;              /* in the block of an IT before it */
    bool is_held;            /* see symbols_held */
    uint32_t code;           /* of a Thumb instruction of 4 bytes, the first halfword is the upper */
    char text[LISTING_TEXT]; /* "bl 0x8000124 <fir_filter>", the name padded to a column */
    size_t file;             /* index into listing.files; LISTING_NO_FILE: unknown */
    unsigned line;           /* 0: unknown */
    enum code_flow flow;
    bool may_go_on; /* or to the next one, by a condition */
    bool calls;     /* with FLOW_AWAY: what returns to another place than the one after it */
    bool by_table;  /* with FLOW_AWAY: to where a table of the function says */
    bool is_thumb;
    uint64_t target; /* of FLOW_TO */
};

struct listing {
    struct listing_row *rows; /* by rising address; they need not touch */
    size_t n;
    char **files; /* whole paths, as far as the ELF has them; any bytes */
    size_t file_count;
    uint64_t joins[LISTING_JOINS]; /* set by the caller: where blocks begin, as code outside jumps there */
    size_t n_joins;
};

/* The code in [low, high). ERROR_ELF: it is not for an Arm core, there is none in the file, or it is longer
 * than LISTING_BYTES. On failure `out` is empty. */
bool listing_make(struct symbols *symbols, uint64_t low, uint64_t high, struct listing *out,
                  struct error *error);
void listing_free(struct listing *listing);
/* The row that has the address; between two rows the one before. listing->n: none. */
size_t listing_row_at(const struct listing *listing, uint64_t address);

/*
 * A function's code as blocks: runs of consecutive instructions of one line that are entered at the first and
 * left at the last of them. Each block knows where it goes on. A call is part of the block, with all that the
 * callee does.
 */
enum { BLOCK_NEXT = 4 }; /* more than two where an exclusive access has ways out */

struct code_block {
    uint64_t low, last, high; /* the first instruction, the last at which a core stops, and the end */
    size_t file;              /* of the listing */
    unsigned line;            /* 0: unknown */
    unsigned instructions;
    uint64_t next[BLOCK_NEXT]; /* blocks of the function that may follow */
    unsigned n_next;
    bool returns;           /* or the function's return may */
    bool leaves;            /* so: to code outside, which may also jump back into the function */
    bool is_open;           /* known only when the last instruction executes */
    bool calls, calls_away; /* calls_away: the last one does, and returns to another place than after it */
    bool is_thumb;
    bool is_held;     /* it has an exclusive access, or part of one: no core is to stop within */
    bool is_inlined;  /* set by the caller: it is another function's code */
    bool is_unframed; /* likewise: where its call's frame is is not known */
};

struct code_blocks {
    struct code_block *at; /* by rising address */
    size_t n;
};

/* Of all code of the listing. ERROR_ELF: it has no lines. On failure `out` is empty. */
bool blocks_make(const struct listing *listing, struct code_blocks *out, struct error *error);
void blocks_free(struct code_blocks *blocks);
