/* SPDX-License-Identifier: MIT */
/*
 * The live screen of `watch`, by the lines of an interval: rates, their last minute and totals. A narrow
 * terminal shows less, but no number is cut.
 */
#pragma once

#include "report/document.h"
#include "report/screen.h"

#include <stdbool.h>
#include <stdint.h>

enum { SCREEN_ROWS = 128, SCREEN_SECONDS = 60 };

struct screen_view {
    const char *title, *note;                 /* long ones fold; note may be "" */
    const struct document *interval, *totals; /* a `sample` and a `summary`, or those of cores and all */
    double samples_per_second;                /* over the last interval */
    double clock_hz;                          /* 0: not known */
    const char *said;                         /* in the foot; NULL: nothing */
    bool paused;
};

/* The rates of each row in the last minute, second by second. */
struct screen_past {
    double rates[SCREEN_SECONDS];
    uint64_t second; /* the last one */
    unsigned n;      /* rates in it; 0: none yet */
};

extern const char watch_keys[]; /* what they do, as a text */

/* Into as many as there are rows, the rates of its interval, which ended so long after the begin. */
void screen_remember(struct screen_past past[SCREEN_ROWS], const struct screen_view *view, double seconds);
void screen_draw(const struct screen *screen, const struct screen_view *view,
                 const struct screen_past past[SCREEN_ROWS]);

/* The screen of a run of `watch`: the picture, or a page in place of it, and the keys. */
struct watch_screen {
    struct screen screen;
    struct screen_page page;
    struct screen_view view;
    struct screen_past past[SCREEN_ROWS];
    struct document interval, totals; /* that are shown */
    char title[320];
};

void watch_screen_show(struct watch_screen *self);
/* Takes the lines. */
void watch_screen_take(struct watch_screen *self, struct document interval, struct document totals);
/* True: the totals are to begin at zero. */
bool watch_screen_obey(struct watch_screen *self, enum screen_key key);
void watch_screen_free(struct watch_screen *self);
