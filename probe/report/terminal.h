/*
 * What whoever reads a stream can be shown: how wide a line may be, which characters, which colours. A stream
 * that is no terminal has 80 columns and no colour. main() calls setlocale once; tests choose their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 80 };

enum colour { COLOUR_BAD, COLOUR_GOOD, COLOUR_ODD, COLOUR_FAINT, COLOUR_END };

size_t terminal_columns(FILE *to);
bool terminal_is_dumb(void); /* TERM is "dumb" or missing: it knows no escape sequences */
bool terminal_has_utf8(void);
/* An escape sequence, or "": no terminal, a dumb one, or NO_COLOR is set. */
const char *terminal_colour(FILE *to, enum colour colour);
/* The first where UTF-8 is shown, else the second. */
const char *terminal_or(const char *utf8, const char *ascii);
/* utf8_clean, and in plain ASCII where nothing else is shown. */
const char *terminal_text(char *out, size_t size, const char *text);
