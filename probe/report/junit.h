/*
 * A summary as JUnit XML, which every CI shows: one suite, a case a column. A case fails where its column
 * regressed, and is skipped where nothing can be said: inconclusive, not supported, not counted. What was
 * measured on what stands in the properties. Names may hold any bytes.
 */
#pragma once

#include "measure/result.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stdio.h>

/* `comparison` may be NULL. False when it could not be written whole. */
bool junit_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
