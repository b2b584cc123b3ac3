/* SPDX-License-Identifier: MIT */
/*
 * Numbers for people (grouped by thousands, with units) and for programs. Each function writes into the
 * caller's buffer and returns it. A number that does not fit becomes "#"; it is never cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_ROOM = 48 }; /* enough for every 64-bit number and every unit */

const char *number_unsigned(char *out, size_t size, uint64_t value);            /* "18,204" */
const char *number_decimal(char *out, size_t size, double value, int decimals); /* "18,204.25" */
/* For programs: the fewest digits that read back as the same number. `value` is finite. */
const char *number_shortest(char *out, size_t size, double value);
/* Six digits, and all in front of the point. */
const char *number_rounded(char *out, size_t size, double value);
const char *number_duration(char *out, size_t size, double seconds); /* "27.31 µs" */
const char *number_frequency(char *out, size_t size, double hz);     /* "666.7 MHz", "48 MHz" */
const char *number_elapsed(char *out, size_t size, double seconds);  /* "1.4 s", "2 min 5 s" */
/* "1,204 cycles" for CPU_CYCLES, "10 L1D_CACHE_REFILL" */
const char *number_events(char *out, size_t size, uint64_t value, const char *event);
/* These need NUMBER_ROOM bytes. */
const char *number_mean(char out[NUMBER_ROOM], double mean);     /* "18,204", "94.25" */
const char *number_change(char out[NUMBER_ROOM], double change); /* "+0.15 %"; "" for NaN */
const char *number_part(char out[NUMBER_ROOM], double part);     /* "2 %" */
const char *number_share(char out[NUMBER_ROOM], double part);    /* "41.77 %" */
/* An error, which is never rounded down, and how many decimals it deserves: "0.01", "1.3", "12". */
int number_error_decimals(double error);
const char *number_error(char out[NUMBER_ROOM], double error, int decimals);
/* The error of a share in percent points, never rounded down: "0.55"; "?" for NaN */
const char *number_points(char out[NUMBER_ROOM], double error);
/* With two digits, rounded up: how far something may be off. */
const char *number_part_up(char out[NUMBER_ROOM], double part);

/* The same as texts, which last as long as the block. */
#define NUMBER_TEXT                                                                                          \
    (char[NUMBER_ROOM])                                                                                      \
    {                                                                                                        \
        ""                                                                                                   \
    }
#define NUMBER(value)            number_unsigned(NUMBER_TEXT, NUMBER_ROOM, value)
#define DECIMAL(value, decimals) number_decimal(NUMBER_TEXT, NUMBER_ROOM, value, decimals)
#define DURATION(seconds)        number_duration(NUMBER_TEXT, NUMBER_ROOM, seconds)
#define FREQUENCY(hz)            number_frequency(NUMBER_TEXT, NUMBER_ROOM, hz)
#define ELAPSED(seconds)         number_elapsed(NUMBER_TEXT, NUMBER_ROOM, seconds)
#define MEAN(value)              number_mean(NUMBER_TEXT, value)
#define CHANGE(value)            number_change(NUMBER_TEXT, value)
#define SHARE(value)             number_share(NUMBER_TEXT, value)
#define PLUS_MINUS(value)        number_error(NUMBER_TEXT, value, number_error_decimals(value))
#define POINTS(value)            number_points(NUMBER_TEXT, value)
#define PART(value)              number_part(NUMBER_TEXT, value)
#define PART_UP(value)           number_part_up(NUMBER_TEXT, value)
