/* SPDX-License-Identifier: MIT */
/*
 * A picture for a terminal: lines that fit into its width, and no more of them than it has. It goes out in
 * one write, so it does not flicker. Texts from outside must be clean (terminal_text), except for
 * canvas_text. A table on it is a view that cuts (render.h). And the one line that shows progress.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *to;                                     /* NULL: not a terminal */
    void (*say)(void *context, const char *text); /* in place of it; NULL: no */
    void *context;
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

enum { CANVAS_ROOM = 65536, CANVAS_LINE = 512, CANVAS_FOOT = 3 /* lines of a screen */ };

struct canvas {
    char text[CANVAS_ROOM];
    size_t n;
    size_t columns, lines, used; /* used: lines that have text, or are blank */
};

/* Of a terminal; 80 by 24 if that is not known. */
size_t canvas_columns(int terminal);
size_t canvas_lines(int terminal);
/* As large as the terminal. */
void canvas_begin(struct canvas *canvas, int terminal);
/* Writes the picture over the one before. */
void canvas_end(struct canvas *canvas, int terminal);
void canvas_write(int terminal, const char *text, size_t n);
/* `line` fits into the width. Lines below the last of the terminal are left out. */
void canvas_line(struct canvas *canvas, const char *line);
/* Folded between what three blanks or more separate, else between words. A word that is longer than a line is
 * cut. */
void canvas_text(struct canvas *canvas, const char *text);
/* Side by side; pieces that a line has no room for are left out, as are empty ones. */
void canvas_pieces(struct canvas *canvas, const char *const *pieces, size_t n);

/* Leaves out the characters beyond the width, and marks the place. */
void canvas_cut(char *text, size_t width);
/* A line of `width` characters: rates from the oldest to the last, each as a part of the highest. null: a
 * blank. It needs 3 * width + 1 bytes. */
void canvas_spark(char *out, size_t size, const json_t *rates, size_t width);
/* A bar of `part` (0..1) of the width, in eighths of a character; in whole ones without UTF-8. It needs
 * 3 * width + 4 bytes. */
void canvas_bar(char *out, size_t size, double part, size_t width);

/* For rows that have no line: how many, if any. */
void canvas_more(struct canvas *canvas, size_t rows);
