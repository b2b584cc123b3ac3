/* SPDX-License-Identifier: MIT */
/*
 * The live screen of `top`: for each core a heading and its rows, the largest share first, as many as the
 * terminal has lines. A narrow terminal shows less, but no number is cut.
 */
#pragma once

#include "profile/profile.h"
#include "profile/shares.h"
#include "report/profile_table.h"
#include "report/render.h"
#include "report/screen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_core {
    char text[160];
    const char *name; /* "core 0 Cortex-M4 r0p1, by DWT_PCSR" */
    const struct shares *shares;
    bool by_halts; /* then nothing shows sleep */
};

struct top_view {             /* of one picture */
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

/* The screen of a run of `top`: the picture, or a page in place of it, and the keys that change no more. */
struct top_screen {
    struct screen screen;
    struct screen_page page;
    struct top_core *cores;
    const struct profile_about *about;
    bool unnamed; /* no ELF was named */
    bool paused;
    const char *within; /* the rows are lines of this function, of the core below; NULL: of all */
    size_t core, selected;
    struct top_pick pick;
    double seconds; /* since the begin */
    char title[512], said[512];
};

/* `shares` of each core, which outlive it. False: out of memory. */
bool top_screen_begin(struct top_screen *self, const struct profile_about *about, const struct shares *shares,
                      bool by_halts);
void top_screen_free(struct top_screen *self);
void top_screen_show(struct top_screen *self);
void top_screen_say(struct top_screen *self, const char *key, const char *text);
/* "lines of work"; takes the text. */
void top_screen_open_page(struct top_screen *self, const char *what, const char *of, char *text);
/* False: the key is for the caller. */
bool top_screen_obey(struct top_screen *self, enum screen_key key);

/* Lists in place of a screen, as text or JSON lines, and after it; the most rows of each core that a list
 * has. False: not all of it could be written. */
enum { TOP_LISTED = 20 };
bool top_list_head(const struct rendering *to, const struct profile_about *about, const char *title);
bool top_list_put(const struct rendering *to, const struct profile_report *report, double seconds);
/* With as many rows as leave the first ones on a terminal of that size. */
bool top_list_last(const struct rendering *to, const struct profile_report *report, double seconds,
                   size_t lines);
/* The end of JSON lines. */
bool top_list_end(const struct rendering *to, uint64_t samples, double seconds);
