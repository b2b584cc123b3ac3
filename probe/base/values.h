/* SPDX-License-Identifier: MIT */
/*
 * Numbers in text, and what is counted by them; arrays that grow, rows in an order, and those sorted by
 * address. And random numbers for samples and statistics, not for secrets: xorshift64 (S. Vigna, "An
 * experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). Their state is the
 * caller's, and never 0; the same state gives the same numbers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/* From 0 to `below` - 1; `below` is at least 1, and far below 2^53. */
static inline uint64_t random_below(uint64_t *state, uint64_t below)
{
    return (random_next(state) >> 11) % below;
}

/* From 0 up, and below 1. */
static inline double random_part(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Reads `n` numbers without sign, a space before each but the first. `base`: 10 or 16 without prefix, or
 * EITHER_BASE: decimal, or hexadecimal after 0x. Returns where they end; NULL: they are not there, or one is
 * too large. */
enum { EITHER_BASE = 0 };
const char *numbers_read(const char *text, int base, uint64_t *out, size_t n);

int hex_digit(char c); /* -1: it is none */

/* "1 hit", "2 hits" */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/* After what `text`, of `size` bytes, has; what does not fit is cut. */
void text_add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a piece, with `between` if there is a text before it. "" adds nothing. */
void text_join(char *text, size_t size, const char *between, const char *piece);
const char *or_empty(const char *text); /* NULL: "" */

/* FNV-1a of bytes, after `hash`, which is 0 at first. */
uint64_t hash_add(uint64_t hash, const void *bytes, size_t n);

enum { DOUBT_ROOM = 1024 }; /* more than all doubts of a region, its calls and its counter have at once */
/* Adds why a number is not proved, if that is not there yet. "" adds nothing. */
void doubt_add(char doubt[DOUBT_ROOM], const char *text);

/* Room for `n` items of `size` bytes: the array, which may have moved. NULL: out of memory, and `items`
 * stays. */
void *array_grow(void *items, size_t n, size_t *room, size_t size);
/* How many of the sorted items, each of which begins with its 64-bit address, are at or before `address`. */
size_t sorted_until(const void *items, size_t n, size_t size, uint64_t address);
/* Sorts rows and makes those that compare equal one: `join` adds a row to the first of its like; NULL: the
 * first is kept. Returns how many are left. */
size_t sorted_join(void *rows, size_t n, size_t size, int (*compare)(const void *, const void *),
                   void (*join)(void *first, const void *row));
