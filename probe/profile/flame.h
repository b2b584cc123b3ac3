/*
 * A flame graph: stacks with the same frames at their root are one frame there, as wide as they have samples.
 * The root is all samples, above it the cores if there are several, then functions from the outermost to the
 * innermost; the line of the innermost one is at the top.
 */
#pragma once

#include "profile/stacks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flame_kind { FLAME_ALL, FLAME_CORE, FLAME_FUNCTION, FLAME_LINE };

struct flame_frame {
    enum flame_kind kind;
    size_t parent; /* index; of the root 0 */
    unsigned depth;
    uint64_t samples; /* with those of all frames above it */
    double x, width;  /* parts of the whole, 0..1 */
    unsigned core;
    size_t place; /* index into stacks.places: a line's, or one in the function */
};

struct flame {
    struct flame_frame *frames; /* a parent is before its children; the widest child is at the left */
    size_t n;
    unsigned depth; /* of the highest frame */
};

/* Of stacks that are not in time. False: out of memory, and `out` is empty. */
bool flame_make(const struct stacks *stacks, size_t core_count, struct flame *out);
void flame_free(struct flame *flame);
