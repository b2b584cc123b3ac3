/*
 * Wrap evidence: a slower clock that is read together with a counter which wraps too often to be counted
 * alone. It bounds how many times the counter wrapped between two readings. The clock is the program's tick
 * variable, which its SysTick handler increments once a period, or the microsecond timer of an RP2040.
 */
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "measure/clock.h"
#include "measure/widen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wrap_evidence_kind { EVIDENCE_NONE, EVIDENCE_TICK, EVIDENCE_TIMER };

/* Where the program keeps its ticks; an absent variable has size 0. */
struct wrap_evidence_tick {
    struct address variable;
    struct address pended; /* ticks to be added later (FreeRTOS, while its scheduler is suspended) */
    uint64_t each;         /* a tick increments the variable by this */
};

struct wrap_evidence {
    enum wrap_evidence_kind kind;
    size_t at; /* index of its first value in a reading */
    bool has_pended;
    bool wants_clock;        /* the clock is not known exactly: the timer gives an upper bound alone */
    uint64_t each, modulus;  /* of the tick variable */
    double slow_hz, fast_hz; /* the counter's rate against the timer's */
    /* The watchdog makes its tick, and the program has to start that: only a timer that was seen to go on
     * is evidence. */
    bool seen, runs;
    uint64_t last;
};

/* Appends the tick variable and its status to the device's reading. */
bool wrap_evidence_take_tick(struct wrap_evidence *evidence, struct device *device,
                             const struct wrap_evidence_tick *tick, struct error *error);
/* True, with kind EVIDENCE_NONE, without such a timer. */
bool wrap_evidence_take_timer(struct wrap_evidence *evidence, struct device *device,
                              const struct clock *clock, const struct deadline *deadline,
                              struct error *error);
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
