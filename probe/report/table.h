/*
 * The table of a summary: one row a counted thing with its median, mean, deviation and range, and a row of
 * time where the clock is known. Wide as its widest number, and never narrower than the usual.
 */
#pragma once

#include "measure/result.h"

#include <stdio.h>

void table_print(FILE *out, const struct summary *summary);
