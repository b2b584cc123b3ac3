/*
 * The lines of `watch` where there is no screen: name first, then when, what went by since the line before,
 * how fast, and the total. A line that is wider than the terminal folds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rates_row {
    const char *name;
    double seconds; /* since the beginning */
    uint64_t count, total;
    double rate; /* a second */
    bool count_at_least, total_at_least;
};

struct rates {
    FILE *out;
    bool bounds_told; /* what ">=" means */
};

void rates_begin(struct rates *rates, FILE *out); /* the heading */
void rates_print(struct rates *rates, const struct rates_row *row);
