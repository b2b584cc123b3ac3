/*
 * A profile against an older one: in each format of a table. Names may hold any bytes: nothing in
 * them is taken as part of the format.
 */
#pragma once

#include "profile/shares_diff.h"
#include "report/profile_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct profile_diff_report {
    const struct profile_report *now, *old;
    const struct shares_diff *diffs; /* of each core that both have */
    size_t n;
};

/* As text, JSON lines, CSV, Markdown or a page. False if the output could not be written whole. */
bool profile_diff_write(const struct rendering *to, const struct profile_diff_report *report);
