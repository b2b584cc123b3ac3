/*
 * Call stacks that were sampled, each kept once with the number of its samples.
 */
#pragma once

#include "symbols/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_stack {
    uint64_t samples;
    uint64_t *at;        /* the leaf first; a caller's is inside its call instruction; owned by the set */
    size_t depth;        /* 1 to UNWIND_FRAMES */
    size_t sure;         /* frames that are not guessed; what follows them rests on a guess */
    enum unwind_end end; /* UNWIND_OUTERMOST: it is whole; else why it is cut short */
};

struct call_stacks {
    struct call_stack *rows;
    size_t n, room;
    size_t *slots; /* a hash table of indexes into `rows`, and SIZE_MAX */
    size_t slot_count;
};

/* Adds the samples of a stack; `at` is copied. False: out of memory, and nothing is added. */
bool call_stacks_add(struct call_stacks *set, const struct call_stack *stack);
/* One sample of a stack as it was found. */
bool call_stacks_add_found(struct call_stacks *set, const struct unwind_stack *stack);
/* The same for all of another set. */
bool call_stacks_merge(struct call_stacks *to, const struct call_stacks *from);
void call_stacks_free(struct call_stacks *set);
/* "no_rules", the name of a reason in a file; NULL: the stack is whole. */
const char *call_stack_end_name(enum unwind_end end);
/* False: unknown name. */
bool call_stack_end_find(const char *name, enum unwind_end *out);
