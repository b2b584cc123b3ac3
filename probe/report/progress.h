/*
 * A progress line for steps longer than a second. It is shown on a terminal only, rewritten in place and
 * erased at the end, so neither a log nor the result contains it.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *to;        /* NULL: not a terminal */
    int64_t next_us; /* when it may be shown next */
    size_t width;    /* characters on the screen now */
    /* progress_count: the first and the last count, and when. */
    uint64_t first, last;
    int64_t first_us, last_us;
};

void progress_begin(struct progress *progress, FILE *to);
/* Replaces the line. Cheap enough to call for every hit. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same without a delay, before a long step. */
void progress_now(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "120 of 1,000 hits, 3 s left"; `of` 0: unknown. `state` is shown while the count does not grow. */
void progress_count(struct progress *progress, uint64_t done, uint64_t of, const char *what,
                    const char *state);
/* Erases the line before other output. */
void progress_clear(struct progress *progress);
