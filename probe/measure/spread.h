/*
 * Spread: how the first counter of each pass lies, and whether passes that should have seen the same disagree
 * by more than they vary in themselves. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spread {
    uint64_t n, min, max;
    double mean, squares; /* Welford's */
};

void spread_add(struct spread *spread, uint64_t value);
/* In words, "" when they agree. `plus_minus`: what each value may be off by in itself. */
void spread_compare(const struct spread *passes, size_t n, double plus_minus, const char *name, char *out,
                    size_t size);
