/*
 * The live screen of `watch`: rates, bars and totals, repainted in place with a handful of escape sequences
 * that every terminal of today knows. What a narrow one has no room for is left out: no number is ever cut.
 * Takes keys without waiting for Enter; the terminal is as it was after screen_close.
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
    const char *why; /* then; may be NULL */
};

struct screen_view {
    const char *title, *note; /* fold; note may be "" */
    struct screen_row rows[SCREEN_ROWS];
    size_t n;
    const struct metric_result *metrics; /* of the last interval, below the rows */
    size_t n_metrics;
    double seconds;            /* since the beginning, or since the totals were set to zero */
    double samples_per_second; /* over the last interval */
    uint64_t lost;             /* samples that came too late to tell whether a counter had wrapped */
    bool paused;
};

enum screen_key { SCREEN_NO_KEY, SCREEN_PAUSE, SCREEN_ZERO, SCREEN_QUIT };

struct screen {
    int in, out;
    struct termios before;
    bool open;
    double highest[SCREEN_ROWS]; /* rate of each row, for its bar */
};

/* False: `in` or `out` is no terminal, or a dumb one, and nothing was done. */
bool screen_open(struct screen *screen, int in, int out);
void screen_close(struct screen *screen);
void screen_draw(struct screen *screen, const struct screen_view *view);
/* Waits for so long at most; other keys are dropped. */
enum screen_key screen_wait_key(struct screen *screen, int ms);

/*
 * The lines of `watch` where there is no screen: name first, then when, what went by since the line before,
 * how fast, and the total. A line that is wider than the terminal folds.
 */
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
