/*
 * Plausible: whether a counter can have counted so much in the time that went by. What cannot be is no count:
 * somebody else has written the counter, or switched it off, in between.
 */
#pragma once

#include "base/error.h"
#include "counters/reading.h"
#include "measure/clock.h"
#include "target/engine.h"

#include <stdbool.h>
#include <stdint.h>

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
