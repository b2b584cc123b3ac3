/*
 * The live screen of `watch`, by the lines of an interval: rates, their last minute and totals, repainted in
 * place with a few escape sequences that every terminal knows. A narrow terminal shows less, but no number is
 * cut. Keys need no Enter; screen_close restores the terminal.
 */
#pragma once

#include "report/document.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

enum { SCREEN_ROWS = 128 };

struct screen_view {
    const char *title, *note;                 /* long ones fold; note may be "" */
    const struct document *interval, *totals; /* a `sample` and a `summary`, or those of cores and all */
    double samples_per_second;                /* over the last interval */
    double clock_hz;                          /* 0: not known */
    bool paused;
};

enum screen_key {
    SCREEN_NO_KEY,
    SCREEN_PAUSE,
    SCREEN_ZERO,
    SCREEN_QUIT,
    SCREEN_SORT,
    SCREEN_UP,
    SCREEN_DOWN,
    SCREEN_ENTER,
    SCREEN_BACK,
    SCREEN_DELTA,
    SCREEN_COSTS,
    SCREEN_ANNOTATE,
    SCREEN_PAGE,
};

enum { SCREEN_SECONDS = 60 };

struct screen {
    int in, out;
    struct termios before;
    bool open;
    struct screen_past { /* the rates of a row in the last minute, second by second */
        double rates[SCREEN_SECONDS];
        uint64_t second; /* the last one */
        unsigned n;      /* rates in it; 0: none yet */
    } past[SCREEN_ROWS];
};

/* Opening, closing and keys are those of `top` as well. Does nothing and returns false if `in` or `out` is
 * not a terminal or a dumb one. */
bool screen_open(struct screen *screen, int in, int out);
void screen_close(struct screen *screen);
/* The rates of its interval, which ended so long after the begin. */
void screen_remember(struct screen *screen, const struct screen_view *view, double seconds);
void screen_draw(struct screen *screen, const struct screen_view *view);
/* Waits at most `ms`; drops other keys. */
enum screen_key screen_wait_key(struct screen *screen, int ms);
