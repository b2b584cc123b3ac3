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
};

void progress_begin(struct progress *progress, FILE *to);
/* Replaces the line; cheap enough to be called for every hit. */
void progress_show(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line off the screen, so that something else can be printed. */
void progress_clear(struct progress *progress);
