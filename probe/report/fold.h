/*
 * Lines that fold: pieces of text side by side, as many as a line has room for. A piece is never cut.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct fold {
    FILE *out;
    size_t columns, indent; /* indent: of the lines after the first */
    size_t used;            /* of the line that is begun */
};

/* So many blanks between it and the one before; it must be clean. */
void fold_put(struct fold *fold, const char *piece, size_t gap);
void fold_end(struct fold *fold); /* ends the line, if one is begun */
/* `left` as it is, and beside it a text that folds below its own beginning. */
void fold_beside(FILE *out, size_t columns, const char *left, const char *text);
/* A whole text, folded between its words. */
void fold_text(FILE *out, size_t columns, size_t indent, const char *text);
/* Likewise, where `at` columns of the first line are used. */
void fold_text_at(FILE *out, size_t columns, size_t at, size_t indent, const char *text);
