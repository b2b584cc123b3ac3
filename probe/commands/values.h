/*
 * Values: what users write behind an option. Each returns false for what it cannot read as a whole; none
 * takes signs, blanks, hexadecimal fractions, or what could be meant in two ways.
 */
#pragma once

#include "engine/process.h"
#include "find/coresight.h"
#include "report/counts.h"

#include <stdbool.h>
#include <stdint.h>

/* "12M", "125MHz", "48k"; not "12m", which would be a millihertz. */
bool value_frequency(const char *text, double *out);
/* "500ms", "2s", "1.5min", "1h"; a number without a unit is multiplied by `plain`. */
bool value_seconds(const char *text, double plain, double *out);
/* Decimal, or hexadecimal behind 0x. */
bool value_count(const char *text, uint64_t most, uint64_t *out);
/* "200", and what is a whole number as well: "10k", "1e3", "2M". */
bool value_many(const char *text, uint64_t most, uint64_t *out);
/* One character, or \t for a tab. */
bool value_separator(const char *text, const char **out);
bool value_format(const char *text, enum format *out);
/* "any", or a CONTEXTIDR */
bool value_process(const char *text, struct process *out);
/* AP:ADDR */
bool value_place(const char *text, struct place *out);
