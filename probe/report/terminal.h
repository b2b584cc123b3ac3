/* SPDX-License-Identifier: MIT */
/*
 * Output for a reader: the width, characters and colours of a stream, text made safe to print.
 * A stream that is not a terminal has 80 columns and no colour. main() calls setlocale once; tests choose
 * their own.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 80 };

enum colour { COLOUR_BAD, COLOUR_GOOD, COLOUR_ODD, COLOUR_FAINT, COLOUR_END };

size_t terminal_columns(FILE *to);
/* False: not all of it could be written. */
bool output_flush(FILE *out);
bool terminal_is_dumb(void); /* TERM is "dumb" or missing: it knows no escape sequences */
/* An escape sequence; "" if `to` is not a terminal or a dumb one, or NO_COLOR is set. */
const char *terminal_colour(FILE *to, enum colour colour);
/* `utf8` if the locale has UTF-8, else `ascii`. */
const char *terminal_or(const char *utf8, const char *ascii);
/* utf8_clean, and ASCII if the locale has no UTF-8. */
const char *terminal_text(char *out, size_t size, const char *text);

/*
 * Text from outside (a server, an ELF, a command line): invalid UTF-8, what steers a terminal and characters
 * without a width become U+FFFD. The rest counts as one column a character.
 */
/* Room that utf8_clean needs for a text of at most `size` bytes, its NUL included. */
#define UTF8_CLEAN_ROOM(size) (3 * (size))

/* Cuts after the last whole character that fits. Returns `out`. */
const char *utf8_clean(char *out, size_t size, const char *text);
/* ERROR_USAGE for a fact about a line of the user's file, or with line 0 about the whole. The fact is
 * cleaned, and cut at some 300 bytes. */
bool error_set_in_file(struct error *error, const char *file, unsigned line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Characters in a clean text. */
size_t utf8_width(const char *text);
/* Leaves out those beyond the width. */
void utf8_cut(char *text, size_t width);

/*
 * Lines that fold: pieces of text side by side, as many as fit into a line. A piece is never cut.
 */
struct fold {
    FILE *out;
    size_t columns, indent; /* indent: of the lines after the first */
    size_t used;            /* columns of the current line */
};

/* Puts `gap` blanks between this piece and the one before. The piece must be clean. */
void fold_put(struct fold *fold, const char *piece, size_t gap);
void fold_end(struct fold *fold); /* ends the current line, if it has any text */
/* `left`, and to its right a text that folds below its own beginning. */
void fold_beside(FILE *out, size_t columns, const char *left, const char *text);
/* A whole text, folded between its words. */
void fold_text(FILE *out, size_t columns, size_t indent, const char *text);
/* The same if `at` columns of the first line are used. */
void fold_text_at(FILE *out, size_t columns, size_t at, size_t indent, const char *text);
