/*
 * A picture for a terminal: lines that fit into its width, and no more of them than it has. It goes out in
 * one write, so it does not flicker. Texts from outside must be clean (terminal_text), except for
 * canvas_text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CANVAS_ROOM = 65536, CANVAS_LINE = 512 };

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
/* A line of n values, each of which has its height in eighths of a character, as a part of the highest; in
 * other characters without UTF-8. NaN: a blank. It needs 3 * n + 1 bytes. */
void canvas_spark(char *out, size_t size, const double *values, size_t n, double highest);
/* A bar of `part` (0..1) of the width, in eighths of a character; in whole ones without UTF-8. It needs
 * 3 * width + 4 bytes. */
void canvas_bar(char *out, size_t size, double part, size_t width);
