/* SPDX-License-Identifier: MIT */
/*
 * Widening: 64-bit totals from raw readings of a counter of any width, direction and modulus. How often it
 * wrapped between two readings is bounded by other evidence: the time, or a slower clock that is read with
 * it. Such a clock is the program's tick variable, which its SysTick handler increments once a period, or
 * the microsecond timer of an RP2040. Pure.
 */
#pragma once

#include "base/error.h"
#include "counters/counter.h"
#include "device/device.h"
#include "measure/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct widen_bounds {
    uint64_t least, most; /* most UINT64_MAX: unknown */
};

struct widen {
    uint64_t total;
    bool at_least;     /* the total is a lower bound */
    bool contradicted; /* by another counter of the target: no total can be; the caller sets it */
};

/*
 * Adds the count between two readings. The candidates are elapsed + k * modulus, k >= 0.
 * - One candidate within the bounds: it is exact.
 * - Several: the smallest is added, and the total becomes "at least".
 * - None, because the evidence contradicts itself: the smallest candidate not below `least` is added, or
 *   `elapsed` if that exceeds 64 bits, and the total becomes "at least".
 * - A reading that the counter cannot show, because its reload changed: `least` is added, "at least".
 * - The total would exceed 64 bits: it stays at UINT64_MAX, "at least".
 * A counter of 64 bits needs no evidence.
 */
void widen_add(struct widen *widen, const struct counter *counter, uint64_t from, uint64_t to,
               struct widen_bounds bounds);

void widen_by_span(struct widen_bounds *bounds, uint64_t least, uint64_t most);
/* For a counter of clock cycles; rounds outward. A bound is skipped if one of its factors is not finite, is
 * negative, or if `fastest_hz` is 0. */
void widen_by_time(struct widen_bounds *bounds, double shortest_s, double longest_s, double slowest_hz,
                   double fastest_hz);

enum wrap_evidence_kind { EVIDENCE_NONE, EVIDENCE_TICK, EVIDENCE_TIMER };

/* Where the program keeps its ticks; an absent variable has size 0. */
struct wrap_evidence_tick {
    struct address variable;
    struct address pended; /* ticks to be added later (FreeRTOS, while its scheduler is suspended) */
    uint64_t each;         /* a tick increments the variable by this */
    uint64_t each_at;      /* the word that has it; 0: a constant */
};

struct wrap_evidence {
    enum wrap_evidence_kind kind;
    size_t at; /* index of its first value in a reading */
    bool has_pended;
    bool wants_clock;        /* the clock is not known exactly: the timer gives an upper bound alone */
    uint64_t each, modulus;  /* of the tick variable */
    bool may_lose;           /* ticks, as only one can be pending: they are a lower bound alone */
    bool unproved, refuted;  /* the ticks bound nothing: nothing shows who counts them; a hit contradicted */
    bool relied_on;          /* a total would be another without the ticks */
    double slow_hz, fast_hz; /* the counter's rate against the timer's, which ... */
    bool claimed; /* ... is claimed alone: where it leaves several totals, it bounds none of them */
    /* The watchdog makes its tick, and the program has to start that: only a timer that was seen to go on
     * is evidence. */
    bool seen, runs;
    uint64_t last;
};

/* Appends the tick variable and its status to the device's reading. */
bool wrap_evidence_take_tick(struct wrap_evidence *evidence, struct device *device,
                             const struct wrap_evidence_tick *tick, struct error *error);
/* Compares a claimed clock with such a timer while the core runs: sets what clock_fits says of it, or its
 * doubt. No effect without a timer that goes on. */
bool wrap_evidence_check_clock(struct device *device, struct clock *clock, const struct deadline *deadline,
                               struct error *error);
/* A reading of the timer, then the counter, then the timer again, on a running core. */
struct timer_look {
    uint64_t before_us, count, after_us;
};
/* Whether a clock of `hz` fits all of them: a counter with a short period shows that only if each took less.
 */
enum clock_fit wrap_evidence_fit(const struct counter *counter, const struct timer_look *looks, size_t n,
                                 double hz);
/* Whether the address is a register of an RP2040's timer that stops while a core is halted. */
bool wrap_evidence_is_timer(struct device *device, uint64_t address, const struct deadline *deadline);
/* True, with kind EVIDENCE_NONE, without such a timer. */
bool wrap_evidence_take_timer(struct wrap_evidence *evidence, struct device *device,
                              const struct clock *clock, const struct deadline *deadline,
                              struct error *error);
/* Whether ticks are evidence, and two readings, both of a halted core, contradict them. */
bool wrap_evidence_is_refuted(const struct wrap_evidence *evidence, const struct counter *counter,
                              const uint64_t *from, const uint64_t *to);
/* The next values that were read, of a halted core. */
void wrap_evidence_see(struct wrap_evidence *evidence, const uint64_t *values);
/* Checks, while the core runs for some 50 ms, that the variable goes up once a period of the counter. */
bool wrap_evidence_check(const struct wrap_evidence *evidence, struct device *device,
                         const struct clock *clock, const struct deadline *deadline, struct error *error);
/*
 * Narrows the bounds of `counter` between two readings, both of a halted core; leaves least > most if the
 * evidence contradicts itself. `most` also decides whether the tick variable itself can have wrapped.
 */
void wrap_evidence_narrow(const struct wrap_evidence *evidence, const struct counter *counter,
                          const uint64_t *from, const uint64_t *to, size_t which,
                          struct widen_bounds *bounds);
