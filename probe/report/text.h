/*
 * Results as text for people. The header goes out before the measurement, the summary after it. Both are as
 * wide as the terminal, or 80 columns.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

/* What is measured, on what: a line each, a third where something was enabled or used for the run. */
void text_header(FILE *out, const struct conditions *conditions);
/* The table, then how many hits there were, why it ended, and how they are distributed. */
void text_summary(FILE *out, const struct summary *summary);

/* The same in so many columns. */
void text_header_within(FILE *out, const struct conditions *conditions, size_t columns);
void text_summary_within(FILE *out, const struct summary *summary, size_t columns);

/*
 * The table of a summary: a row for each counted thing with its median, mean, deviation and range, and one of
 * time where the clock is known. What does not fit into a line folds: no number is cut. Rows that stand on
 * fewer hits than the others are a table of their own, and below both stands what the words mean.
 */
void table_print(FILE *out, const struct summary *summary, size_t columns);

/*
 * The last block of a summary: how many hits in what time, why it ended early, what became of the others, and
 * how they are distributed.
 */
void footer_print(FILE *out, const struct summary *summary, size_t columns);
