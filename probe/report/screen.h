/*
 * A terminal with a live screen, repainted in place with a few escape sequences that every terminal knows.
 * Keys need no Enter; screen_close restores the terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

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
};

/* Does nothing and returns false if `in` or `out` is not a terminal or a dumb one. */
bool screen_open(struct screen *screen, int in, int out);
void screen_close(struct screen *screen);
/* Waits at most `ms`; drops other keys. */
enum screen_key screen_wait_key(struct screen *screen, int ms);
