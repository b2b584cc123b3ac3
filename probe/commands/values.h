/*
 * Values: what users write behind an option. Each returns false for what it cannot read as a whole.
 */
#pragma once

#include "report/counts.h"
#include "target/place.h"
#include "target/process.h"

#include <stdbool.h>
#include <stdint.h>

/* A number with an optional unit out of `units`, where units[i] multiplies by scales[i]. */
bool value_scaled(const char *text, const char *const *units, const double *scales, double *out);
bool value_count(const char *text, uint64_t most, uint64_t *out);
bool value_format(const char *text, enum format *out);
/* "any", or a CONTEXTIDR */
bool value_process(const char *text, struct process *out);
/* AP:ADDR */
bool value_place(const char *text, struct place *out);
