/* SPDX-License-Identifier: MIT */
/*
 * Counts of one interval after the other, and of all of them, while the core runs; they go on after a reset.
 */
#pragma once

#include "run/windows.h"

#include <stdbool.h>
#include <stdint.h>

struct watch_run {
    struct windows windows;
    const struct window *window, *before; /* of the first CPU: now; when the interval began */
    uint64_t resets;
    int64_t next_us; /* when the interval ends */
    /* Of the command: */
    void *context;
    void (*pause)(void *context, int64_t us); /* so long at most */
    void (*reset)(void *context);
};

bool watch_run_open(struct watch_run *self, struct error *error);
bool watch_run_begin(struct watch_run *self, struct error *error);
bool watch_run_interval(struct watch_run *self, struct error *error);
bool watch_run_is_over(const struct watch_run *self);
/* Checks what the counts depend on. */
bool watch_run_end(struct watch_run *self, struct error *error);
/* Of the interval, or of all since the begin; to be freed. */
struct document watch_run_lines(struct watch_run *self, bool whole);
/* All begins now. */
void watch_run_zero(struct watch_run *self);
