/*
 * Spread: how the first counter of each pass lies, and whether passes that should have seen the same disagree
 * by more than they vary in themselves. Pure.
 */
#pragma once

#include "base/error.h"
#include "counters/reading.h"
#include "engine/engine.h"
#include "measure/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pass_check {
    uint64_t n, min, max;
    double mean, squares; /* Welford's */
};

void pass_check_add(struct pass_check *spread, uint64_t value);
/* In words, "" when they agree. `plus_minus`: what each value may be off by in itself. */
void pass_check_compare(const struct pass_check *passes, size_t n, double plus_minus, const char *name,
                        char *out, size_t size);

/*
 * Plausible: whether a counter can have counted so much in the time that went by. What cannot be is no count:
 * somebody else has written the counter, or switched it off, in between.
 */
struct plausible {
    const struct reading *reading;        /* NULL: everything is */
    bool counts_cycles;                   /* the first counter does */
    double most_hz;                       /* no counter of cycles is faster */
    uint64_t last[READING_ROOM], last_us; /* of the hit before: at its end; when it began, at the earliest */
    bool has_last;
};

/* `seen_hz`: how fast the counter was seen to go, at least; 0: it was not. */
struct plausible plausible_begin(const struct reading *reading, bool counts_cycles, const struct clock *clock,
                                 double seen_hz);
/* Between two readings, at most `us` apart, with so many halts between them. ERROR_WRITTEN. */
bool plausible_span(const struct plausible *plausible, const uint64_t *from, const uint64_t *to, uint64_t us,
                    unsigned halts, struct error *error);
/* A hit, and what was counted from the hit before to this one. */
bool plausible_hit(struct plausible *plausible, const struct raw_hit *hit, struct error *error);
