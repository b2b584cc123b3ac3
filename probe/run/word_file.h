/*
 * Files of words: lines of words that the user keeps in a project. A # begins a comment, and quotes keep the
 * blanks of a word. Pure but for word_file_read: the text is from outside, and every error names the file
 * and the line.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { WORD_FILE_WORDS = 24, WORD_FILE_WORD = 1200, WORD_FILE_BYTES = 1 << 20 };

struct words {
    char at[WORD_FILE_WORDS][WORD_FILE_WORD];
    bool quoted[WORD_FILE_WORDS];
    size_t n;
};

/* A file while it is read. */
struct word_file {
    const char *name; /* clean */
    struct error *error;
    unsigned line; /* from 1; 0: the whole file */
};

/* Gives each line that has words to `take`, until that fails. */
bool word_file_parse(struct word_file *file, const char *text, size_t size,
                     bool (*take)(void *context, const struct word_file *, const struct words *),
                     void *context);
/* ERROR_USAGE, with the place. Always false. */
bool word_file_fails(const struct word_file *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Whether there is such a word, without quotes. */
bool words_have(const struct words *words, size_t i, const char *text);
/* False: it is empty, or longer than `size` - 1; `what` names it in the error. */
bool words_copy(const struct word_file *file, char *out, size_t size, const char *word, const char *what);

/* The whole file, to be freed; NULL: ERROR_USAGE or ERROR_CANCELLED. One that is too long is cut after
 * WORD_FILE_BYTES, which word_file_parse refuses. */
char *word_file_read(const char *path, const volatile sig_atomic_t *cancel, size_t *size,
                     struct error *error);
