#include "measure/wrap_evidence.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* DDI 0403 B3.2.4. RETTOBASE: no exception is active below the one that VECTACTIVE names. */
enum { ICSR = 0xE000ED04, ICSR_PENDSTSET = 1 << 26, ICSR_RETTOBASE = 1 << 11, ICSR_VECTACTIVE = 0x1FF };
enum { SYSTICK_EXCEPTION = 15 };
/* RP2040 datasheet 2.15 (SYSINFO) and 4.6 (TIMER): the raw halves of its 64 bits do not latch each other. */
enum { CHIP_ID = 0x40000000, CHIP_ID_MASK = 0x0FFFFFFF, CHIP_ID_RP2040 = 0x0002927 };
enum { TIMERAWH = 0x40054024, TIMERAWL = 0x40054028, TIMER_DBGPAUSE = 0x4005402C, TIMER_HZ = 1000000 };
enum { DBGPAUSE_BOTH = 3 << 1 };
enum { CHECK_MS = 50, CHECKS = 8 };

static bool append(struct wrap_evidence *beside, struct device *device, const struct counter *counter,
                   struct error *error)
{
    (void)beside;
    return reading_append(&device->reading, counter) ||
           error_set(error, ERROR_SYSTEM, "too many counters at a time");
}

bool wrap_evidence_take_tick(struct wrap_evidence *beside, struct device *device,
                             const struct wrap_evidence_tick *tick, struct error *error)
{
    struct counter variable = {
        .name = "tick", .low = tick->variable, .bits = (uint8_t)(8 * tick->variable.size)};
    struct counter status = {.name = "icsr", .low = core_word(&device->chosen->core, ICSR), .bits = 32};
    struct counter pended = {.name = "pended", .low = tick->pended, .bits = (uint8_t)(8 * tick->pended.size)};
    *beside = (struct wrap_evidence){.kind = BESIDE_TICK,
                                     .at = device->reading.n,
                                     .has_pended = tick->pended.size != 0,
                                     .each = tick->each > 0 ? tick->each : 1,
                                     .modulus = counter_modulus(&variable)};
    return append(beside, device, &variable, error) && append(beside, device, &status, error) &&
           (!beside->has_pended || append(beside, device, &pended, error));
}

bool wrap_evidence_take_timer(struct wrap_evidence *beside, struct device *device, const struct clock *clock,
                              const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct counter timer = {
        .name = "timer", .low = core_word(core, TIMERAWL), .high = core_word(core, TIMERAWH), .bits = 64};
    struct error unread = {0};
    uint64_t id = 0;
    *beside = (struct wrap_evidence){.kind = BESIDE_NOTHING};
    if (!ledger_read(device->ledger, core_word(core, CHIP_ID), &id, deadline, &unread) ||
        (id & CHIP_ID_MASK) != CHIP_ID_RP2040)
        return true;
    /* A timer that goes on while the core is halted says nothing of how long it ran */
    if (!ledger_read(device->ledger, core_word(core, TIMER_DBGPAUSE), &id, deadline, &unread) ||
        (id & DBGPAUSE_BOTH) != DBGPAUSE_BOTH)
        return true;
    /* Measured against the host, the ratio of the two is not known to one part in a thousand. */
    beside->wants_clock = !(clock->hz > 0) || clock->error_hz > 0;
    if (beside->wants_clock)
        return true;
    *beside = (struct wrap_evidence){
        .kind = BESIDE_TIMER, .at = device->reading.n, .slow_hz = clock->hz, .fast_hz = clock->hz};
    return append(beside, device, &timer, error);
}

/* SysTick's handler is active, and may or may not have counted its tick: it runs, or something above it does.
 * Armv6-M does not tell what lies below an exception: there RETTOBASE is always 0. */
static bool is_doubtful(uint64_t status)
{
    uint64_t active = status & ICSR_VECTACTIVE;
    return active == SYSTICK_EXCEPTION || (active != 0 && (status & ICSR_RETTOBASE) == 0);
}

/* What the program has counted, will add, and has yet to notice; negative when the variable was set back. */
static int64_t ticks_between(const struct wrap_evidence *beside, const uint64_t *from, const uint64_t *to)
{
    size_t variable = beside->at, status = beside->at + 1, pended = beside->at + 2;
    uint64_t went = to[variable] - from[variable];
    if (beside->modulus != UINT64_MAX)
        went %= beside->modulus; /* a power of two */
    uint64_t ticks = went / beside->each;
    ticks += ((to[status] & ICSR_PENDSTSET) != 0) - (uint64_t)((from[status] & ICSR_PENDSTSET) != 0);
    if (beside->has_pended)
        ticks += to[pended] - from[pended];
    return (int64_t)ticks;
}

static void narrow_by_tick(const struct wrap_evidence *beside, const struct counter *counter,
                           const uint64_t *from, const uint64_t *to, size_t which,
                           struct widen_bounds *bounds)
{
    int64_t ticks = ticks_between(beside, from, to);
    uint64_t period = counter_modulus(counter), around = beside->modulus / beside->each;
    uint64_t elapsed = counter_elapsed(counter, from[which], to[which]);
    bool over = counter_phase(counter, to[which]) < counter_phase(counter, from[which]);
    bool early = is_doubtful(from[beside->at + 1]), late = is_doubtful(to[beside->at + 1]);
    if (ticks > 0 && (uint64_t)ticks > INT64_MAX / period - 2)
        return; /* no total could hold them */
    if (ticks < -1 || ticks + late < over) {
        widen_by_span(bounds, 1, 0); /* it passed 0 and nobody noticed */
        return;
    }
    /* Whole periods beyond what elapsed */
    int64_t least = ticks - early - over, most = ticks + late - over;
    uint64_t low = (least > 0 ? (uint64_t)least : 0) * period + elapsed;
    uint64_t high = (uint64_t)most * period + elapsed;
    if (around < INT64_MAX / period - (uint64_t)most) { /* the variable may have gone all the way around */
        int64_t again = least + (int64_t)around;
        if (again < 0 || (uint64_t)again * period + elapsed <= bounds->most)
            high = UINT64_MAX;
    }
    widen_by_span(bounds, low, high);
}

static void narrow_by_timer(const struct wrap_evidence *beside, const uint64_t *from, const uint64_t *to,
                            struct widen_bounds *bounds)
{
    double us = (double)(to[beside->at] - from[beside->at]);
    double least = (us - 2) / TIMER_HZ * beside->slow_hz, most = (us + 2) / TIMER_HZ * beside->fast_hz;
    if (us < 0x1p52)
        widen_by_span(bounds, least > 0 ? (uint64_t)floor(least) : 0, (uint64_t)ceil(most));
}

void wrap_evidence_narrow(const struct wrap_evidence *beside, const struct counter *counter,
                          const uint64_t *from, const uint64_t *to, size_t which, struct widen_bounds *bounds)
{
    if (beside->kind == BESIDE_TICK)
        narrow_by_tick(beside, counter, from, to, which, bounds);
    else if (beside->kind == BESIDE_TIMER)
        narrow_by_timer(beside, from, to, bounds);
}

bool wrap_evidence_check(const struct wrap_evidence *beside, struct device *device, const struct clock *clock,
                         const struct deadline *deadline, struct error *error)
{
    const struct counter *counter = &device->reading.counters[0];
    uint64_t first[READING_ROOM], now[READING_ROOM], from_us, ignored, before, to_us;
    if (beside->kind != BESIDE_TICK)
        return true;
    if (!device_read(device, first, &from_us, &ignored, deadline, error))
        return false;
    for (int i = 0; i < CHECKS; i++) {
        if (!device_run_for(device, CHECK_MS, deadline, error) ||
            !device_read(device, now, &before, &to_us, deadline, error))
            return false;
        int64_t ticks = ticks_between(beside, first, now);
        double most =
            (double)(to_us - from_us) / 1e6 * clock->bound_hz / (double)counter_modulus(counter) + 2;
        if ((double)ticks > most)
            return error_set(error, ERROR_USAGE,
                             "the tick variable went up by %" PRId64
                             " where the counter had %.0f periods at most",
                             ticks, most);
        if (ticks > 0)
            return true;
    }
    return error_set(error, ERROR_USAGE, "the tick variable does not go up");
}
