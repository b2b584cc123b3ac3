/* SPDX-License-Identifier: MIT */
/*
 * A profile with the program that it is of: the file of --elf; else the one that was named to record, or one
 * of its name next to the profile.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct profile_input {
    const char *file; /* the caller's */
    struct profile *profile;
    struct symbols *symbols; /* NULL: there are no names */
    uint64_t load_offset;    /* of the program */
    char *elf;               /* that the names are from; NULL: none */
    char no_names[512];      /* why there are none, or why they may be wrong; "": they are right */
};

/* `elf` is what --elf says, which must be usable; NULL: nothing. `load_offset` as symbols_move takes it; 0:
 * as it was recorded. A program of another build ID is not used. To be closed after a failure, too. */
bool profile_input_open(struct profile_input *input, const char *file, const char *elf, uint64_t load_offset,
                        const volatile sig_atomic_t *cancel, struct error *error);
void profile_input_close(struct profile_input *input);
