/*
 * A summary as CSV, in the manner of perf's -x: a heading, then a line a column, and with a comparison what
 * it found of each. Fields are quoted as RFC 4180 has it where they need it; lines end in a newline alone.
 * Reals read back as they were. A column without a number has perf's words in the place of its median.
 */
#pragma once

#include "measure/result.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stdio.h>

/* `comparison` may be NULL. False when it could not be written whole. */
bool csv_summary(FILE *out, const struct summary *summary, const struct comparison *comparison,
                 char separator);
