/* SPDX-License-Identifier: MIT */
/*
 * Samples that stop the core. A counter stops it after every N events, give or take an eighth by chance, so
 * that stops keep no step with loops: there the sampler reads where the core is, arms the counter anew and
 * lets the core go on. Or, where nothing shows the PC while the core runs, through a GDB server and in GDB:
 * the core runs for a random time and is interrupted, so it is halted for a good part of the time.
 */
#pragma once

#include "base/deadline.h"
#include "base/error.h"
#include "device/device.h"
#include "engine/counter_stop.h"
#include "measure/plausible.h"
#include "profile/profile.h"
#include "profile/sampler.h"
#include "profile/stacks.h"

#include <stdbool.h>
#include <stdint.h>

struct halt_sampler {
    struct device *device;
    uint64_t random;   /* never 0 */
    double us_each;    /* how long the last stops took */
    uint64_t stood_us; /* at most: from the interrupt to the next run */
    int64_t halted_us; /* since when it is halted */
};

/* After device_take. The core is halted. */
void halt_sampler_begin(struct halt_sampler *sampler, struct device *device);
/* One sample; the core is halted afterwards. ERROR_FOREIGN_STOP: it stopped by itself, at a breakpoint of the
 * user's or by a fault. */
bool halt_sampler_take(struct halt_sampler *sampler, struct profile_tally *tally,
                       const struct deadline *deadline, struct error *error);

/* Fewer leave the program no time between two stops. */
enum { EVENT_SAMPLER_LEAST = 100, EVENT_SAMPLER_MOST = INT32_MAX / 2 };

struct event_sampler {
    struct device *device;
    const struct core *core;
    struct counter_stop stop;
    uint64_t every;  /* events from stop to stop, on average */
    uint64_t armed;  /* for the next one */
    uint64_t random; /* never 0 */
    uint64_t stops;
    /* Stops in a row at one place, and where the interrupt's handler that may be there returns to */
    unsigned at_one_place, returns_differ;
    uint64_t place, returns_to;
    bool in_handler;             /* they occur right after an interrupt, which the overflow may have raised */
    struct stack_reader *stacks; /* NULL: none are wanted; set after event_sampler_begin */
    struct contexts *contexts;   /* the same */
    bool is_proved;
    struct plausible plausible;
    size_t n_picks;
    uint64_t seen, seen_us; /* what the counter held when it was read last, and when */
    bool has_seen;          /* since it was armed */
    int64_t quiet_us;       /* since when no stop occurred; 0: not known */
    unsigned past;          /* reads in a row that found the counter past 0, and no stop */
    uint64_t lost;          /* overflows without a stop */
    unsigned lost_in_a_row;
    unsigned set_back; /* how often it had less than before, with no reset found since */
};

/* That one stop can be armed for, if it is to be this many on average. */
uint64_t event_sampler_most(uint64_t every);
/* The number of events, of two digits, with which the running core stops some hundred times a second. After
 * device_program; one or two picks, of which the second one is chained. Takes a fifth of a second. */
bool event_sampler_measure(struct device *device, size_t n, double *per_second, uint64_t *every,
                           const struct deadline *deadline, struct error *error);
/* After device_program of what counter_stop_choose chose for event_sampler_most(every). Ends with the counter
 * armed and the core running. ERROR_NO_COUNTER, ERROR_NO_COMPARATOR: these counters do not stop the core. The
 * sampler must live until device_undo. */
bool event_sampler_begin(struct event_sampler *sampler, struct device *device,
                         const struct counter_pick *picks, size_t n, uint64_t every,
                         const struct deadline *deadline, struct error *error);
/* Runs for `us` microseconds. What was found is in the tally even after a failure. ERROR_FOREIGN_STOP,
 * ERROR_WRITTEN. */
bool event_sampler_take(struct event_sampler *sampler, int64_t us, struct profile_tally *tally,
                        const struct deadline *deadline, struct error *error);
