/*
 * The text of a source file that an ELF names. The program may have been built elsewhere: if that file does
 * not exist, the ends of its path are tried from the current folder, the longest first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { SOURCE_TEXT_BYTES = 16 << 20 };

struct source_text {
    char *path;   /* of the file that was read; NULL: none, and there are no lines */
    char **lines; /* tabs are blanks, as in columns of 8; any other bytes as they are */
    size_t n;
    time_t changed;
};

/* Only plain files of up to SOURCE_TEXT_BYTES are read. False: out of memory, and `out` is empty. */
bool source_text_read(const char *path, struct source_text *out);
/* The text of a line, which counts from 1; NULL: there is none. */
const char *source_text_line(const struct source_text *text, unsigned line);
void source_text_free(struct source_text *text);
