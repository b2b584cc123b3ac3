/*
 * Region files: the regions of a project and what they may cost, kept in its repository. A region a line:
 *
 *     NAME  FUNCTION | START END  [[max|mean] <= NUMBER cycles|ns|us|ms|s]  [-r N] [--threshold PART]
 *
 * It is read as word_file.h says.
 */
#pragma once

#include "base/error.h"
#include "measure/budget.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { REGION_FILE_MOST = 4096, REGION_FILE_NAME = 1024, REGION_FILE_PLACE = 1024 };

struct region_line {
    unsigned line; /* from 1 */
    char name[REGION_FILE_NAME];
    char start[REGION_FILE_PLACE], end[REGION_FILE_PLACE]; /* end "": up to its return */
    struct budget budget;
    uint64_t hits;    /* 0: not given */
    double threshold; /* negative: not given */
};

struct region_file {
    char file[256];
    size_t n;
    struct region_line *lines; /* owned */
};

/* ERROR_USAGE. Free it with region_file_free, after an error too. */
bool region_file_read(const char *path, const volatile sig_atomic_t *cancel, struct region_file *out,
                      struct error *error);
bool region_file_parse(const char *text, size_t size, const char *path, struct region_file *out,
                       struct error *error);
void region_file_free(struct region_file *file);
/* One line of such a file; false if it could not be written. */
bool region_file_write(FILE *out, const struct region_line *line);
