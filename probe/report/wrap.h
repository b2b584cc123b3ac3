/*
 * Wrap: text for people in lines of 80 columns, the later ones under the first.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum { WRAP_WIDTH = 80 };

/* Prints `text`, which begins at column `at`, and ends the line. Later lines begin at column `indent`. A word
 * that is wider than a line is not cut. */
void wrap_print(FILE *out, const char *text, size_t at, size_t indent);
