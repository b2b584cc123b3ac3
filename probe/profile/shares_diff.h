/*
 * The shares of one profile against those of an older one, row by row. Programs are built anew between the
 * two, so rows are the same by their names: a function by its name and file, a line by its number too.
 */
#pragma once

#include "profile/shares.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share_side {
    uint64_t samples;
    double part;
    double plus_minus; /* of a row that this side does not have: below what its part is, with 95 % */
};

struct share_change {
    const struct share *row; /* of the new profile, else of the old one; it has the names */
    struct share_side now, old;
    double change;     /* of the part */
    double plus_minus; /* half of its 95 % interval; NaN: one of the two is too short to know */
    bool is_noise;     /* zero is in that interval, or it is not known */
};

/* Refers to the rows of both shares. */
struct shares_diff {
    struct share_change *rows; /* what is not noise first, then by the amount of the change; owned */
    size_t n, noise;
};

/* Of a core; both are by the same key. False: out of memory, and `out` is empty. */
bool shares_diff_make(const struct shares *now, const struct shares *old, struct shares_diff *out);
void shares_diff_free(struct shares_diff *diff);
