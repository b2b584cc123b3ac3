/*
 * Windows: samples of all counters in use while the core runs, summed to 64-bit totals for as long as no two
 * samples are so far apart that a counter can have wrapped between them.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "measure/evaluation.h"
#include "measure/plausible.h"
#include "target/target.h"

#include <stdbool.h>
#include <stdint.h>

struct window_total {
    uint64_t count;
    uint64_t missed; /* samples before which a wrap may have been missed: then the count is a lower bound */
};

struct window {
    struct target *target;
    struct evaluation evaluation;
    struct plausible plausible;
    uint64_t last[READING_ROOM], last_us, first_us; /* on the link's clock; not later than the sample */
    struct window_total totals[READING_ROOM];
    uint64_t skew_us;        /* the counters of a sample were read within this, at most */
    uint64_t sample_skew_us; /* those of the last one */
    bool halts;              /* for each sample, and for the one before the first */
    uint64_t halted_us;      /* for so long in all, at most */
    uint64_t samples, lost;  /* lost: of them, those that came too late for one of the counters */
};

bool window_begin(struct window *window, struct target *target, const struct clock *clock,
                  const struct deadline *deadline, struct error *error);
/* Adds what went by since the last sample. ERROR_WRITTEN, ERROR_RESET: nothing is added, the totals stand. */
bool window_sample(struct window *window, const struct deadline *deadline, struct error *error);
/* How far apart samples may be, in ms: at least 1, at most 1000, or a minute where each of them halts the
 * core. */
int window_longest_ms(const struct window *window);
/* Likewise, but so often, where it costs the core nothing, that a counter which somebody writes shows it. */
int window_pace_ms(const struct window *window);
