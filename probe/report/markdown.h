/*
 * A summary as Markdown, for a pull request's comment or a job's summary page: what was measured on what, and
 * a table as GitHub draws it. Names may hold any bytes; nothing in them is taken as Markdown or HTML.
 */
#pragma once

#include "measure/result.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stdio.h>

/* `comparison` may be NULL. False when it could not be written whole. */
bool markdown_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
