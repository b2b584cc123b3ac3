/*
 * What `top` and `report` do with a profile: its page, and the order of its rows.
 */
#pragma once

#include "commands/options.h"
#include "profile/shares.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stdio.h>

struct profile_report;

/* Its page; the shares are by function. That all of it could be written is checked with the output. */
bool profiling_page(FILE *out, const struct profile_report *report, struct symbols *symbols,
                    struct error *error);
/* What --sort says; `contexts`: it may be by task or exception. */
bool profiling_sort(const struct options *options, bool contexts, enum shares_sort *out, struct error *error);
