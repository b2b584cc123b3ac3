/*
 * What commands do with a profile: they read it, with the program that it is of, write it, make its page,
 * and sort its rows. The program is the file of --elf; else the one that was named to record, or one of its
 * name next to the profile.
 */
#pragma once

#include "base/error.h"
#include "commands/command.h"
#include "profile/profile.h"
#include "profile/shares.h"
#include "report/profile_table.h"
#include "symbols/symbols.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

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

/* A profile, and what is made of it. */
struct profile_side {
    struct profile_input input;
    struct shares *shares; /* of each core */
    char no_names[640];    /* why there are none, and what that means */
};
bool profiling_make_shares(struct profile_side *side, enum shares_sort sort, struct error *error);
/* Fills `no_names`; on standard error where the format has no notes. */
void profiling_tell_names(const struct options *options, struct profile_side *side);
struct profile_report profiling_report(const struct profile_side *side);
void profiling_close_side(struct profile_side *side);

/* `result` is that of profile_file.h. */
bool profiling_wrote(int result, struct error *error);
/* The last line of a profile: of a run that failed by `why`, or was cancelled, or whose time was over. */
bool profiling_end(FILE *out, double elapsed_s, uint64_t samples, const struct error *why, bool cancelled,
                   struct error *error);

/* Its page; the shares are by function. That all of it could be written is checked with the output. */
bool profiling_page(const struct rendering *to, const struct profile_report *report, struct symbols *symbols,
                    struct error *error);
/* What --sort says; `contexts`: it may be by task or exception. */
bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error);
