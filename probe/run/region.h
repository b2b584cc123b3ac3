/*
 * The region between two locations, or of a function, and what the ELF says of its calls and frames.
 */
#pragma once

#include "engine/engine.h"
#include "measure/result.h"
#include "symbols/symbols.h"

#include <stdbool.h>

struct named_region {
    struct location start, end;
    char file[512]; /* the whole path of the start's; since region_look_into */
    struct region region;
    enum frames frames;
};

/* The region of the function at `start`. */
void region_of_function(struct named_region *out, const struct process *process);
/* `end` NULL: the function's return. */
bool region_locate(struct named_region *out, struct symbols *symbols, const char *start, const char *end,
                   const struct process *process, struct error *error);
/* Where it begins and ends, for the header. */
void region_describe(const struct named_region *named, struct conditions *out);
/* The code between both ends; if they are in two functions it is not known, and `low` is 0. */
struct extent region_code(const struct named_region *named);
/* Whether each core stops there. */
bool region_check_place(struct symbols *symbols, const struct location *at, struct error *error);
bool region_look_into(struct named_region *named, struct symbols *symbols, struct error *error);
