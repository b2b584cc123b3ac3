/*
 * Results as JSON lines, schema pmu-probe/1: a header, a line a hit, a summary, each line flushed at once.
 * A file without a summary is a run that was cut off. What is not known is left out; the clock's error and
 * an address or a bound that are zero count as not known. Counts beyond 2^63-1 are written as reals.
 */
#pragma once

#include "measure/result.h"
#include "report/counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

/* All return false when the line could not be written whole (disk full, out of memory); errno says why. Of
   the columns json_header and json_hit use the names only. */
bool json_header(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n,
                 time_t started);
bool json_hit(FILE *out, const struct hit_result *hit, const struct summary *summary);
/* A line of `type` with what was counted in a window. */
bool json_counts(FILE *out, const char *type, const struct counts *counts);
bool json_summary(FILE *out, const struct summary *summary);
