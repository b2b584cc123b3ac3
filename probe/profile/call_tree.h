/* The call tree of a core: its samples function by function, from the outermost one on. */
#pragma once

#include "profile/shares.h"
#include "profile/stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_node {
    size_t function;    /* index into stacks.functions; SIZE_MAX: the root, of all samples */
    uint64_t samples;   /* with those of its children */
    size_t child, next; /* indexes of nodes, the largest first; 0: none */
};

struct call_tree {
    struct call_node *nodes; /* the root first */
    size_t n;
};

/* False: out of memory, and `out` is empty. */
bool call_tree_make(const struct stacks *stacks, unsigned core, struct call_tree *out);
void call_tree_free(struct call_tree *tree);
/* Fills in `children` of shares by function, adds functions that only call, and puts the largest first.
 * False: out of memory. */
bool call_tree_add_children(const struct stacks *stacks, struct shares *shares);
