/*
 * Samples as stacks of frames, as formats for other programs want them. A sample of the program counter alone
 * is a stack of one frame. Names are those of `report`, so sums by function are the same. A frame that is
 * guessed says so in its name, and a stack that is cut short has "[cut short]" as its outermost frame.
 */
#pragma once

#include "profile/profile.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_function {
    char *name;     /* as a row of the table by function; without symbols the address */
    char *file;     /* of its entry; NULL: unknown */
    unsigned line;  /* of its entry; 0: unknown */
    uint64_t entry; /* 0: unknown */
};

struct stack_place {
    enum profile_state state; /* PROFILE_STATES: an address */
    uint64_t address;
    bool is_guess;   /* the frame below it may have another caller */
    bool is_cut;     /* no address: what follows is not known */
    size_t function; /* index into stacks.functions */
    char *file;      /* of the line, which inlined code has from elsewhere; NULL: unknown */
    unsigned line;   /* 0: unknown */
};

struct stack {
    unsigned core;
    double from, to; /* s: the samples were taken within */
    size_t first;    /* index into stacks.frames, the innermost frame first */
    size_t depth;
    uint64_t samples;
};

struct stacks {
    struct stack_function *functions;
    struct stack_place *places; /* by rising address, then states, and then the end of those cut */
    size_t *frames;             /* indices into `places` */
    struct stack *rows;
    size_t function_count, place_count, frame_count, n;
};

/* One row for each core and place; `in_time`: for each interval anew, in the order of time. `symbols` may be
 * NULL. False: out of memory, and `out` is empty. */
bool stacks_make(const struct profile *profile, struct symbols *symbols, bool in_time, struct stacks *out);
void stacks_free(struct stacks *stacks);
bool stacks_are_in(const struct profile *profile);
