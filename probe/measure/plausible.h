/* SPDX-License-Identifier: MIT */
/*
 * Plausible: the judge of counts, for every command. A count that does not fit the time, the other counters
 * and what the core can do is an ERROR_WRITTEN: something else wrote the counter, or switched it off.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "counters/counter.h"
#include "device/device.h"
#include "engine/engine.h"
#include "measure/result.h"
#include "measure/widen.h"

#include <stdbool.h>
#include <stdint.h>

struct plausible {
    const struct reading *reading;        /* NULL: everything is plausible */
    bool counts_cycles;                   /* the first counter does */
    double most_hz;                       /* no counter of cycles is faster */
    uint64_t last[READING_ROOM], last_us; /* of the previous hit: values at its end; its earliest begin */
    bool has_last;
};

/* `seen_hz`: the counter was at least so fast; 0: unknown. */
struct plausible plausible_begin(const struct reading *reading, bool counts_cycles, const struct clock *clock,
                                 double seen_hz);
/* A count within `us`, with this number of halts. */
bool plausible_count(const struct plausible *plausible, size_t which, uint64_t count, uint64_t us,
                     unsigned halts, struct error *error);
/* Two readings at most `us` apart. */
bool plausible_span(const struct plausible *plausible, const uint64_t *from, const uint64_t *to, uint64_t us,
                    unsigned halts, struct error *error);
/* What became of a hit, by the target's other counters. */
bool plausible_totals(const struct plausible *plausible, const struct widen *totals, struct error *error);
/* A hit, and the time between the previous hit and this one. */
bool plausible_hit(struct plausible *plausible, const struct raw_hit *hit, struct error *error);
/* A re-hit at a start that the core reached from the end of the previous hit, at `now_us`. */
bool plausible_rehit(const struct plausible *plausible, const struct raw_hit *rehit, int64_t now_us,
                     struct error *error);

/* Polls the first counter for some 20 ms before anything is measured: shows one that the program writes again
 * and again. Each poll may halt the core. *seen_hz: the counter was at least so fast; 0: unknown. Checks a
 * claimed clock, too. */
bool plausible_trial(struct device *device, struct clock *clock, double *seen_hz,
                     const struct deadline *deadline, struct error *error);
