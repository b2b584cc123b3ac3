/* SPDX-License-Identifier: MIT */
/*
 * Output: each file that the tool writes for its user. A plain file is written as FILE.part-XXXXXX and
 * renamed to FILE at the end, if it has a result. Until then, and after a failure, FILE stays as it was; a
 * program is never replaced. A pipe or a device is written to directly, and Ctrl-C ends the wait for its
 * reader.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

/* What becomes of the file that -o names. */
enum output_keep {
    KEEP_NOTHING, /* it stays as it was */
    KEEP_PART,    /* the same, and what was written stays next to it */
    KEEP_ALL,
};

/* What the end replaces. */
enum output_old {
    OUTPUT_REPLACES, /* an old file */
    OUTPUT_GROWS,    /* the same; a new file has its name at once, so that a run that is killed leaves it */
    OUTPUT_NEW,      /* no file: an old one is refused, and a new one has its name at once */
};

enum output_way {
    OUTPUT_AS_IT_IS, /* standard output too */
    OUTPUT_BESIDE,
    OUTPUT_COPIED,  /* no rename possible: several names, another owner, a folder that is not writable */
    OUTPUT_AT_ONCE, /* it did not exist before, and is what it is called */
};

struct output {
    FILE *file;       /* to write to */
    const char *name; /* as the user gave it; NULL: standard output */
    enum output_way way;
    char *path;          /* all symbolic links resolved; may be NULL with OUTPUT_AS_IT_IS */
    char *beside;        /* the file being written, with OUTPUT_BESIDE and OUTPUT_COPIED */
    bool keeps_old;      /* the file that was there is renamed to FILE.old */
    struct spool *spool; /* for a pipe or a socket; NULL: `file` is the end of the way */
    FILE *behind;        /* the pipe or socket itself */
};

/* `name` NULL: standard output. A signal ends the wait for a pipe's reader; see spool_open, too. */
bool output_open(struct output *output, const char *name, enum output_old old, volatile sig_atomic_t *signals,
                 struct error *error);
/* Standard error, for what a run has to say while it holds the core. */
void output_open_log(struct output *output, volatile sig_atomic_t *signals);
/* From now on the run ends if nobody takes the output: see base/file.h. */
void output_ends_the_run(const struct output *output);
/* Waits for the reader of a pipe. False: not all of it could be written. A reader that has had enough is not
 * an error: *left. */
bool output_close(struct output *output, enum output_keep keep, bool *left, struct error *error);
