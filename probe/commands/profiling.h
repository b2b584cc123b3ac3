/*
 * What commands do with a profile: they write it, make its page, and sort its rows.
 */
#pragma once

#include "commands/options.h"
#include "profile/shares.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stdio.h>

struct profile_report;

/* `result` is that of profile_file.h. */
bool profiling_wrote(int result, struct error *error);
/* The last line of a profile: of a run that failed by `why`, or was cancelled, or whose time was over. */
bool profiling_end(FILE *out, double elapsed_s, uint64_t samples, const struct error *why, bool cancelled,
                   struct error *error);

/* Its page; the shares are by function. That all of it could be written is checked with the output. */
bool profiling_page(FILE *out, const struct profile_report *report, struct symbols *symbols,
                    struct error *error);
/* What --sort says; `contexts`: it may be by task or exception. */
bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error);
