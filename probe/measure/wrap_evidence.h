/*
 * Beside: a slower clock that is read together with a counter which wraps too often to be counted by itself:
 * the program's own tick variable, which its SysTick handler increments once a period, or the microsecond
 * timer of an RP2040. What it says bounds how many times the counter wrapped between two readings.
 */
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "measure/clock.h"
#include "measure/widen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wrap_evidence_kind { BESIDE_NOTHING, BESIDE_TICK, BESIDE_TIMER };

/* Where the program keeps its ticks. Sizes are 0 for what it does not have. */
struct wrap_evidence_tick {
    struct address variable;
    struct address pended; /* ticks that are to be added later (FreeRTOS, while its scheduler is suspended) */
    uint64_t each;         /* the variable goes up by so much a tick */
};

struct wrap_evidence {
    enum wrap_evidence_kind kind;
    size_t at; /* of its first value in a reading */
    bool has_pended;
    bool wants_clock;        /* there is a timer, which would do if the clock were known */
    uint64_t each, modulus;  /* of the tick variable */
    double slow_hz, fast_hz; /* the counter's rate against the timer's */
};

/* Appends what must be read to the target's reading. */
bool wrap_evidence_take_tick(struct wrap_evidence *beside, struct device *device,
                             const struct wrap_evidence_tick *tick, struct error *error);
/* True with kind BESIDE_NOTHING where there is no such timer, or where the clock is not known well enough. */
bool wrap_evidence_take_timer(struct wrap_evidence *beside, struct device *device, const struct clock *clock,
                              const struct deadline *deadline, struct error *error);
/* Lets the core run for some 50 ms: whether the variable goes up once a period of the counter. */
bool wrap_evidence_check(const struct wrap_evidence *beside, struct device *device, const struct clock *clock,
                         const struct deadline *deadline, struct error *error);
/* Narrows the bounds of `counter` between two readings, both of a halted core; to none, least above most,
 * where what was read contradicts itself. What `most` says before decides whether the tick variable itself
 * can have gone around. */
void wrap_evidence_narrow(const struct wrap_evidence *beside, const struct counter *counter,
                          const uint64_t *from, const uint64_t *to, size_t which,
                          struct widen_bounds *bounds);
