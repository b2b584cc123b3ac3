/*
 * The output of `watch` as text. On a terminal it is a live screen: rates, their last minute and totals,
 * repainted in place with a few escape sequences that every terminal knows. A narrow terminal shows less, but
 * no number is cut. Keys need no Enter; screen_close restores the terminal. Elsewhere it is a line for each
 * counter and interval.
 */
#pragma once

#include "measure/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <termios.h>

enum { SCREEN_ROWS = 128 };

struct screen_row {
    const char *name;
    double rate; /* counts a second over the last interval */
    double
        of_clock; /* the same as a part of the core's clock; 0: it is not known, or no cycles are counted */
    uint64_t total;
    bool rate_at_least, total_at_least;
    bool missing;    /* not counted in this pass, or not at all */
    const char *why; /* if missing; may be NULL */
};

struct screen_view {
    const char *title, *note; /* long ones fold; note may be "" */
    struct screen_row rows[SCREEN_ROWS];
    size_t n;
    const struct metric_result *metrics; /* of the last interval, below the rows */
    size_t n_metrics;
    double seconds;            /* since the beginning, or since the totals were set to zero */
    double samples_per_second; /* over the last interval */
    double clock_hz;           /* 0: not known */
    uint64_t lost;             /* samples that came too late to tell whether a counter had wrapped */
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

/* Opening, closing and keys are those of `top` as well. Does nothing and returns false if `in` or `out` is no
 * terminal or a dumb one. */
bool screen_open(struct screen *screen, int in, int out);
void screen_close(struct screen *screen);
/* The rates of an interval, which ended so long after the begin. */
void screen_remember(struct screen *screen, const struct screen_view *view, double seconds);
void screen_draw(struct screen *screen, const struct screen_view *view);
/* Waits at most `ms`; drops other keys. */
enum screen_key screen_wait_key(struct screen *screen, int ms);

/* A line without a screen: name, time, count since the line before, rate, total. A long line folds. */
struct rates_row {
    const char *name;
    double seconds; /* since the beginning */
    uint64_t count, total;
    double rate; /* a second */
    bool count_at_least, total_at_least;
};

struct rates {
    FILE *out;
    bool bounds_told; /* the meaning of ">=" was printed */
};

void rates_begin(struct rates *rates, FILE *out); /* the heading */
void rates_print(struct rates *rates, const struct rates_row *row);
