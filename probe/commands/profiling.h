/* SPDX-License-Identifier: MIT */
/* What commands do with a profile: they make its page, and sort its rows. */
#pragma once

#include "base/error.h"
#include "commands/command.h"
#include "profile/shares.h"
#include "report/profile_table.h"
#include "run/profile_input.h"

#include <stdbool.h>
#include <stdio.h>

/* A profile, and what is made of it. */
struct profile_side {
    struct profile_input input;
    struct shares *shares; /* of each core */
    char no_names[640];    /* why there are none, and what that means */
};
bool profiling_make_shares(struct profile_side *side, enum shares_sort sort, struct error *error);
/* Fills `no_names`; on standard error where the format has no notes. */
void profiling_tell_names(const struct options *options, struct profile_side *side);
/* The notes of a line, on standard error where the format has none. */
void profiling_tell_notes(const struct options *options, const json_t *line);
struct profile_report profiling_report(const struct profile_side *side);
void profiling_close_side(struct profile_side *side);

/* Its page; the shares are by function. That all of it could be written is checked with the output. */
bool profiling_page(const struct rendering *to, const struct profile_report *report, struct symbols *symbols,
                    struct error *error);
/* What --sort says; `contexts`: it may be by task or exception. */
bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error);
