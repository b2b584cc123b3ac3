/* SPDX-License-Identifier: MIT */
/*
 * A function's samples by line and by instruction. Shares are parts of the function's own samples. Which
 * instruction a core reports may be off by one, so the samples of a line are sure only where its instructions
 * have neighbours of the same line; a line of which that is less than half is "at a border".
 */
#pragma once

#include "profile/profile.h"
#include "symbols/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * The text of a source file that an ELF names. The program may have been built elsewhere: if that file does
 * not exist, the ends of its path are tried from the current folder, the longest first.
 */

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

struct annotated_line {
    size_t file;   /* index into listing.files; LISTING_NO_FILE: unknown */
    unsigned line; /* 0: unknown */
    uint64_t samples;
    double part;       /* of the function's samples */
    double plus_minus; /* half of its 95 % interval; NaN: too few batches */
    bool at_border;
};

struct annotation {
    unsigned core;
    uint64_t core_samples, samples; /* of the core, and those of the function */
    double part, plus_minus;        /* of the function in the core's time; NaN: as above */
    uint64_t *row_samples;          /* of each row of the listing */
    struct annotated_line *lines;   /* by file, then by line; each has code */
    size_t line_count;
    size_t *line_of; /* of each row: index into `lines` */
    /* Reasons to trust it less */
    bool is_few;    /* so few samples that the shares say little */
    bool is_sparse; /* only some instructions seem to be sampled */
};

struct annotated_function {
    struct location at; /* its entry */
    struct listing listing;
    struct source_text *texts; /* of each file of the listing */
    time_t built;              /* when the ELF was written; 0: unknown */
    struct annotation *cores;  /* by their numbers */
    size_t core_count;
};

/* The function around `address`; `elf` is the path that the symbols are from. ERROR_SYMBOL: there is none.
 * ERROR_ELF: its code cannot be shown. On failure `out` is empty. */
bool annotated_function_make(const struct profile *profile, struct symbols *symbols, const char *elf,
                             uint64_t address, struct annotated_function *out, struct error *error);
void annotated_function_free(struct annotated_function *function);
