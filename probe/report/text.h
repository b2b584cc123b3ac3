/*
 * Results as text for people. The header goes out before the measurement, the summary after it.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

/* What is measured, on what: two lines, a third where something was borrowed or switched on for the run. */
void text_header(FILE *out, const struct conditions *conditions);
/* The table, then how many hits there were, why it ended, and how they are distributed. */
void text_summary(FILE *out, const struct summary *summary);
