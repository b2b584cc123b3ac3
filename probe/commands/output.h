/*
 * Output: where a command writes. A plain file is written beside its place, as FILE.part-XXXXXX, and takes it
 * at the end, when there is a result in it: until then, and after a failure, FILE is what it was. What is no
 * plain file (a pipe, a device) is written to as it is.
 */
#pragma once

#include "base/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

enum output_way {
    OUTPUT_AS_IT_IS, /* standard output too */
    OUTPUT_BESIDE,
    OUTPUT_COPIED, /* no file can take its place: several names, another owner, a folder that is not ours */
};

struct output {
    FILE *file;       /* to write to */
    const char *name; /* as the user gave it; NULL: standard output */
    enum output_way way;
    char *path;   /* its place, behind all symbolic links; may be NULL where it is written as it is */
    char *beside; /* of OUTPUT_BESIDE */
};

/* `name` NULL: standard output. */
bool output_open(struct output *output, const char *name, const volatile sig_atomic_t *cancel,
                 struct error *error);
/* `result`: what was written is to take its place. False: not all of it could be written. */
bool output_close(struct output *output, bool result, struct error *error);
