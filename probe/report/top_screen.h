/*
 * The live screen of `top`: for each core a heading and its rows, the largest share first, as many as the
 * terminal has lines. A narrow terminal shows less, but no number is cut.
 */
#pragma once

#include "profile/shares.h"
#include "report/screen.h"

#include <stdbool.h>
#include <stddef.h>

struct top_core {
    const char *name; /* "core 0 Cortex-M4 r0p1, by DWT_PCSR" */
    const struct shares *shares;
    bool by_halts; /* then nothing shows sleep */
};

struct top_view {
    const char *title, *note; /* long ones fold; note may be "" */
    const struct top_core *cores;
    size_t n;
    bool within;      /* the rows are lines of one function */
    const char *said; /* in the foot: what a key did, or why it does nothing; "" */
    bool paused;
    double seconds; /* since the begin */
};

/* A row that is on the screen. */
struct top_pick {
    size_t core;
    const struct share *row; /* NULL: there is none */
};

extern const char top_keys[]; /* what they do, as a text */

/* Marks the row with this number, counted over all cores that are shown, or the last that there is room for:
 * *selected is its number then. */
struct top_pick top_screen_draw(struct screen *screen, const struct top_view *view, size_t *selected);
