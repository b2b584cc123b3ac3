/*
 * This program, run once for each board, side by side: what each of them says and how it ends. Ctrl-C is
 * passed on to all, so that each puts its target back. If this process is killed, they end as after SIGTERM.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { BOARD_RUN_BYTES = 32 << 20, BOARD_RUN_WORDS = 8192 };

struct board_pipe {
    int fd; /* -1: it has ended */
    char *text;
    size_t used, room, most; /* most: what comes beyond it is dropped */
    bool cut;
};

struct board_run {
    const char *name;
    pid_t pid;                  /* 0: it does not run */
    struct board_pipe out, err; /* its standard output and errors */
    int code;                   /* the exit code; -1: a signal ended it */
    int signal;
};

/* Until all have ended. `argv` has one list of words for each run, without the program's name, with a NULL at
 * the end. `progress` is called with how many have ended. Without an error each run says how it went. */
bool board_runs(struct board_run *runs, size_t n, char *const *const *argv,
                const volatile sig_atomic_t *signals, void (*progress)(void *context, size_t ended),
                void *context, struct error *error);
void board_run_free(struct board_run *run);
