/*
 * The table of a summary: a row for each counted thing with its median, mean, deviation and range, and one of
 * time where the clock is known. What does not fit into a line folds: no number is cut. Rows that stand on
 * fewer hits than the others are a table of their own, and below both stands what the words mean.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

void table_print(FILE *out, const struct summary *summary, size_t columns);
