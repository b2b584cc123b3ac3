/* SPDX-License-Identifier: MIT */
/*
 * Regions: between two locations, or of a function, and what the ELF says of its calls and frames. And files
 * of them, with what they may cost, kept in a project's repository. A region a line: NAME FUNCTION | START
 * END [[max|mean] <= NUMBER cycles|ns|us|ms|s] [-r N] [--threshold PART]
 */
#pragma once

#include "base/error.h"
#include "engine/engine.h"
#include "measure/result.h"
#include "measure/verdict.h"
#include "symbols/symbols.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct session;

struct named_region {
    struct location start, end;
    char file[512]; /* the whole path of the start's; since region_look_into */
    struct region region;
    enum frames frames;
    struct extent code; /* region_code's, of START END; since region_look_into */
    bool of_two_calls;  /* so: no way leads from the start to the end in one call */
    bool recurs;        /* a function of which other functions may run a call within a call */
};

/* The region of the function at `start`. */
void region_of_function(struct named_region *out, const struct process *process);
/* Always false: `text` names no function. */
bool region_refuse_entry(const char *text, struct error *error);
/* `end` NULL: the function's return. */
bool region_locate(struct named_region *out, struct symbols *symbols, const char *start, const char *end,
                   const struct process *process, struct error *error);
/* Where it begins and ends, for the header. */
void region_describe(const struct named_region *named, struct conditions *out);
/* The code that a hit passes; if the ends are in two functions or calls it is not known, and `low` is 0. */
struct extent region_code(const struct named_region *named);
/* Whether an instruction begins there at which each core stops: for every place where one is to stop. */
bool region_check_place(struct symbols *symbols, const struct location *at, struct error *error);
bool region_look_into(struct named_region *named, struct symbols *symbols, struct error *error);
/* Both, with what the session has. */
bool region_find(struct named_region *out, const struct session *session, const char *start, const char *end,
                 struct error *error);

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
    size_t n, room;
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
