/*
 * Results as text for people. The header goes out before the measurement, the summary after it. Both are as
 * wide as the terminal, or 80 columns.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

/* What is measured and on what, one line each; a third line if the run enabled or used something. */
void text_header(FILE *out, const struct conditions *conditions);
/* The table, then the footer. */
void text_summary(FILE *out, const struct summary *summary);

/* The same for a line width of `columns`. */
void text_header_within(FILE *out, const struct conditions *conditions, size_t columns);
void text_summary_within(FILE *out, const struct summary *summary, size_t columns);

/* The last block of a summary: how many hits in what time, why the run ended early, which hits were left out,
 * and how the hits are distributed. */
void footer_print(FILE *out, const struct summary *summary, size_t columns);
