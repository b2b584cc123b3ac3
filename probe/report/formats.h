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

/*
 * A summary as JUnit XML, which every CI shows: one suite, a case a column. A case fails where its column
 * regressed, and is skipped where nothing can be said: inconclusive, not supported, not counted. What was
 * measured on what stands in the properties. Names may hold any bytes.
 */
/* `comparison` may be NULL. False when it could not be written whole. */
bool junit_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);

/*
 * A summary as Markdown, for a pull request's comment or a job's summary page: what was measured on what, and
 * a table as GitHub draws it. Names may hold any bytes; nothing in them is taken as Markdown or HTML.
 */
/* `comparison` may be NULL. False when it could not be written whole. */
bool markdown_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
