/*
 * Numbers as the writers of comparisons and files share them. Each function writes into the caller's buffer,
 * of NUMBER_ROOM bytes, and returns it.
 */
#pragma once

#include "report/number.h"

const char *figure_exact(char out[NUMBER_ROOM], double value); /* the fewest digits that read back the same */
const char *figure_mean(char out[NUMBER_ROOM], double mean);   /* "18,204", "94.25" */
const char *figure_change(char out[NUMBER_ROOM], double change); /* "+0.15 %"; "" of NaN */
const char *figure_part(char out[NUMBER_ROOM], double part);     /* "2 %" */
