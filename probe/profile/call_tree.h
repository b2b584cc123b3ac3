/* SPDX-License-Identifier: MIT */
/*
 * Trees of calls. A core's call tree: its samples function by function, from the outermost one on. A flame
 * graph: stacks with the same frames at their root are one frame there, as wide as they have samples. Its
 * root is all samples, above it the cores if there are several, then functions from the outermost to the
 * innermost; the line of the innermost one is at the top.
 */
#pragma once

#include "profile/shares.h"
#include "profile/stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum call_kind { CALL_ALL, CALL_CORE, CALL_FUNCTION, CALL_LINE };

struct call_node {
    enum call_kind kind;
    unsigned core, depth;
    size_t place;       /* index into stacks.places: a line's, or one in the function */
    uint64_t samples;   /* with those of its children */
    size_t parent;      /* index; of the root 0 */
    size_t child, next; /* indexes, the largest first; 0: none */
    double x, width;    /* parts of the whole, 0..1 */
};

struct call_tree {
    struct call_node *nodes; /* the root first, a parent before its children; the widest child at the left */
    size_t n;
    unsigned depth; /* of the highest node */
};

/* Both of stacks that are not in time. False: out of memory, and `out` is empty. */
bool call_tree_make(const struct stacks *stacks, unsigned core, struct call_tree *out);
bool flame_make(const struct stacks *stacks, size_t core_count, struct call_tree *out);
void call_tree_free(struct call_tree *tree);
/* Fills in `children` of shares by function, adds functions that only call, and puts the largest first.
 * False: out of memory. */
bool call_tree_add_children(const struct stacks *stacks, struct shares *shares);
