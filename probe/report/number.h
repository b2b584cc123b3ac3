/*
 * Numbers for people: grouped by thousands, with units. Each function writes into the caller's buffer and
 * returns it; a number that does not fit becomes "#", never a shorter number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_ROOM = 48 }; /* enough for every 64-bit number and every unit */

const char *number_unsigned(char *out, size_t size, uint64_t value);            /* "18,204" */
const char *number_signed(char *out, size_t size, int64_t value);               /* "-18,204" */
const char *number_decimal(char *out, size_t size, double value, int decimals); /* "18,204.25" */
/* For programs: as few digits as are read back as the same number. Finite. */
const char *number_shortest(char *out, size_t size, double value);
const char *number_duration(char *out, size_t size, double seconds); /* "27.31 µs" */
const char *number_frequency(char *out, size_t size, double hz);     /* "666.7 MHz", "48 MHz" */
const char *number_elapsed(char *out, size_t size, double seconds);  /* "1.4 s", "2 min 5 s" */

/*
 * Numbers as the writers of comparisons and files share them. Each function writes into the caller's buffer,
 * of NUMBER_ROOM bytes, and returns it.
 */
const char *number_exact(char out[NUMBER_ROOM], double value); /* the fewest digits that read back the same */
const char *number_mean(char out[NUMBER_ROOM], double mean);   /* "18,204", "94.25" */
const char *number_change(char out[NUMBER_ROOM], double change); /* "+0.15 %"; "" of NaN */
const char *number_part(char out[NUMBER_ROOM], double part);     /* "2 %" */
