/*
 * Precision: when a run knows its mean well enough to stop. The measure is half of the mean's 95 % interval,
 * from the standard error in statistics.h, which allows for neighbours that are alike. A run checks after 100
 * hits, then after a quarter more each time: a check after each hit would stop when the hits happen to be
 * alike for a while, and would take the interval for narrower than it is. Pure.
 */
#pragma once

#include "measure/statistics.h"

#include <stdint.h>

/* Fewer do not show values that are rare. */
enum { PRECISION_LEAST = 100 };

/* As a part of the mean (0.01: 1 %); 0 if all hits are equal, infinite without a hit. */
double precision_of(const struct statistics *statistics);
/* After how many hits a run that has `hits` checks again. */
uint64_t precision_next(uint64_t hits);
