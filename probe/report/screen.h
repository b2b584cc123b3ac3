/* SPDX-License-Identifier: MIT */
/*
 * A terminal with a live screen, repainted in place with a few escape sequences that every terminal knows.
 * Keys need no Enter, and count during any wait (deadline_use_watch): q closes it and then counts as Ctrl-C.
 * screen_close restores the terminal; Ctrl-Z does until the program goes on.
 */
#pragma once

#include "base/deadline.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

enum screen_key {
    SCREEN_NO_KEY,
    SCREEN_OTHER_KEY,
    SCREEN_REDRAW, /* after Ctrl-Z */
    SCREEN_HELP,
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

enum { SCREEN_KEPT = 16 };

/* Keys of all screens, in the column of their words. */
#define SCREEN_KEYS_HELD "space, p        holds the picture; again: it goes on\n"
#define SCREEN_KEYS_END                                                                                      \
    "Ctrl-Z          back to the shell; fg goes on\n"                                                        \
    "?, h            these keys; esc: back\n"

struct screen {
    int in, out;
    struct termios before;
    sigset_t unblocked;
    bool open;
    volatile sig_atomic_t *quit; /* set by q */
    volatile sig_atomic_t *stop; /* set by Esc, and by *quit; other keys do nothing. NULL: all keys count */
    int64_t stop_us;             /* it is set then, too; of deadline_host_us */
    struct deadline_watch watch;
    enum screen_key kept[SCREEN_KEPT]; /* typed during a wait */
    size_t n_kept;
};

/* A text in place of the picture, whose lines fit into the width. */
struct screen_page {
    char *text; /* freed by screen_page_end; NULL: there is none */
    char title[256];
    size_t first; /* its first line on the screen; the last screenful at most */
};

/* Does nothing and returns false if `in` or `out` is not a terminal or a dumb one. */
bool screen_open(struct screen *screen, int in, int out, volatile sig_atomic_t *quit);
void screen_close(struct screen *screen);
/* Waits at most `ms`. */
enum screen_key screen_wait_key(struct screen *screen, int ms);

struct canvas;
/* Nothing once it is closed. */
void screen_put(const struct screen *screen, struct canvas *canvas);
/* Returns how many of its lines the screen has. */
size_t screen_draw_page(const struct screen *screen, struct screen_page *page);
/* Scrolls it, or ends it. */
void screen_page_obey(const struct screen *screen, struct screen_page *page, enum screen_key key);
/* The text is copied; a false return: out of memory. */
bool screen_page_open(struct screen_page *page, const char *title, const char *text);
void screen_page_end(struct screen_page *page);
size_t screen_count_lines(const char *text);
