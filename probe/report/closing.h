/*
 * The last block of a summary: how many hits in what time, why it ended early, what became of the others, and
 * how they are distributed.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

void closing_print(FILE *out, const struct summary *summary, size_t columns);
