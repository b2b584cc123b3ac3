/*
 * A progress line for what takes more than a second: on a terminal only, rewritten in place, gone at the
 * end, so that neither a log nor the result ever shows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *to;        /* NULL: not a terminal */
    int64_t next_us; /* not shown before */
    size_t width;    /* characters on the screen now */
    /* Of progress_count: the first of them, and the last. */
    uint64_t first, last;
    int64_t first_us, last_us;
};

void progress_begin(struct progress *progress, FILE *to);
/* Replaces the line; cheap enough to be called for every hit. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same at once, before something that may take long. */
void progress_now(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "120 of 1,000 hits, 3 s left"; `of` 0: nobody knows how many. `state` is told while none comes. */
void progress_count(struct progress *progress, uint64_t done, uint64_t of, const char *what,
                    const char *state);
/* Takes the line off the screen, so that something else can be printed. */
void progress_clear(struct progress *progress);
