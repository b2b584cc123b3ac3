/*
 * The output of `watch` as text. On a terminal it is a live screen: rates, bars and totals, repainted in
 * place with a few escape sequences that every terminal knows. A narrow terminal shows less, but no number is
 * cut. Keys need no Enter; screen_close restores the terminal. Elsewhere it is a line for each counter and
 * interval.
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

struct screen {
    int in, out;
    struct termios before;
    bool open;
    double highest[SCREEN_ROWS]; /* highest rate of each row: a full bar */
};

/* Opening, closing and keys are those of `top` as well. Does nothing and returns false if `in` or `out` is no
 * terminal or a dumb one. */
bool screen_open(struct screen *screen, int in, int out);
void screen_close(struct screen *screen);
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
