/*
 * A profile against an older one: a table for people, JSON lines, CSV. Names may hold any bytes: nothing in
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

/* Each returns false if the output could not be written whole. */
bool profile_diff_text(FILE *out, const struct profile_diff_report *report, size_t columns);
bool profile_diff_json(FILE *out, const struct profile_diff_report *report);
bool profile_diff_csv(FILE *out, const struct profile_diff_report *report, char separator);
