/* SPDX-License-Identifier: MIT */
#include "measure/widen.h"

#include "base/arm_debug.h"

#include <inttypes.h>
#include <math.h>

#define TOO_MANY 0x1p64 /* counts that no total holds */

static void total_add(struct widen *widen, uint64_t count, bool exact)
{
    bool full = count > UINT64_MAX - widen->total;
    widen->total = full ? UINT64_MAX : widen->total + count;
    widen->at_least = widen->at_least || !exact || full;
}

void widen_add(struct widen *widen, const struct counter *counter, uint64_t from, uint64_t to,
               struct widen_bounds bounds)
{
    uint64_t count = counter_elapsed(counter, from, to), modulus = counter_modulus_at(counter, from);
    if (counter->bits >= 64) {
        total_add(widen, count, true);
        return;
    }
    if (!counter_leads(counter, from, to)) {
        total_add(widen, bounds.least, false);
        return;
    }
    uint64_t wraps = bounds.least > count ? (bounds.least - count - 1) / modulus + 1 : 0;
    if (wraps > (UINT64_MAX - count) / modulus) {
        total_add(widen, count, false);
        return;
    }
    count += wraps * modulus;
    bool possible = bounds.most >= count, ended = bounds.most != UINT64_MAX;
    bool exact = possible && ended && bounds.most - count < modulus;
    if (counter->reloads && (!exact || wraps > 0)) /* the next period may have had another length */
        total_add(widen, bounds.least, false);
    else
        total_add(widen, count, exact);
}

void widen_by_span(struct widen_bounds *bounds, uint64_t least, uint64_t most)
{
    if (bounds->least < least)
        bounds->least = least;
    if (bounds->most > most)
        bounds->most = most;
}

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

/* A product may be off by half a unit in its last place, and a clock ticks two or three times in 2.5 periods.
 * The next double and the next whole number outward allow for both. */
void widen_by_time(struct widen_bounds *bounds, double shortest_s, double longest_s, double slowest_hz,
                   double fastest_hz)
{
    if (is_amount(shortest_s) && is_amount(slowest_hz)) {
        double least = floor(nextafter(shortest_s * slowest_hz, 0));
        widen_by_span(bounds, least < TOO_MANY ? (uint64_t)least : UINT64_MAX, UINT64_MAX);
    }
    if (is_amount(longest_s) && is_amount(fastest_hz) && fastest_hz > 0) {
        double most = ceil(nextafter(longest_s * fastest_hz, INFINITY));
        widen_by_span(bounds, 0, most < TOO_MANY ? (uint64_t)most : UINT64_MAX);
    }
}

/* ---- wrap evidence */

enum { SYSTICK_EXCEPTION = 15 };
/* RP2040 datasheet 2.15 (SYSINFO) and 4.6 (TIMER): the raw halves of its 64 bits do not latch each other. */
enum { CHIP_ID = 0x40000000, CHIP_ID_MASK = 0x0FFFFFFF, CHIP_ID_RP2040 = 0x0002927 };
enum { TIMERAWH = 0x40054024, TIMERAWL = 0x40054028, TIMER_DBGPAUSE = 0x4005402C, TIMER_HZ = 1000000 };
enum { DBGPAUSE_BOTH = 3 << 1 };
enum { CHECK_MS = 50, CHECKS = 8 };

static bool wrap_evidence_append(struct device *device, const struct counter *counter, struct error *error)
{
    return reading_append(&device->reading, counter) ||
           error_set(error, ERROR_SYSTEM, "too many counters at a time");
}

bool wrap_evidence_take_tick(struct wrap_evidence *evidence, struct device *device,
                             const struct wrap_evidence_tick *tick, struct error *error)
{
    struct counter variable = {
        .name = "tick", .low = tick->variable, .bits = (uint8_t)(8 * tick->variable.size)};
    struct counter status = {.name = "icsr", .low = core_word(&device->chosen->core, ICSR), .bits = 32};
    struct counter pended = {.name = "pended", .low = tick->pended, .bits = (uint8_t)(8 * tick->pended.size)};
    *evidence = (struct wrap_evidence){.kind = EVIDENCE_TICK,
                                       .at = device->reading.n,
                                       .has_pended = tick->pended.size != 0,
                                       .each = tick->each > 0 ? tick->each : 1,
                                       .modulus = counter_modulus(&variable)};
    return wrap_evidence_append(device, &variable, error) && wrap_evidence_append(device, &status, error) &&
           (!evidence->has_pended || wrap_evidence_append(device, &pended, error));
}

enum { TIMER_LOOKS = 24, TIMER_NAP_US = 1300 };

static bool finds_timer(struct device *device, const struct deadline *deadline)
{
    const struct core *core = &device->chosen->core;
    struct error unread = {0};
    uint64_t id = 0;
    if (!ledger_read(device->ledger, core_word(core, CHIP_ID), &id, deadline, &unread) ||
        (id & CHIP_ID_MASK) != CHIP_ID_RP2040)
        return false;
    /* A timer that runs on while the core is halted does not show how long the core ran */
    return ledger_read(device->ledger, core_word(core, TIMER_DBGPAUSE), &id, deadline, &unread) &&
           (id & DBGPAUSE_BOTH) == DBGPAUSE_BOTH;
}

bool wrap_evidence_is_timer(struct device *device, uint64_t address, const struct deadline *deadline)
{
    enum { TIMER_PAGE = ~0xFFF };
    return (address & (uint64_t)TIMER_PAGE) == (TIMERAWL & TIMER_PAGE) && finds_timer(device, deadline);
}

/* A sample that takes half a period proves nothing, as chance would let it fit. */
enum clock_fit wrap_evidence_fit(const struct counter *counter, const struct timer_look *looks, size_t n,
                                 double hz)
{
    static const double CRYSTALS = 2e-4, CHANCE = 1e-4, TICK_US = 1;
    double chance = 1;
    for (size_t i = 1; i < n; i++) {
        double longest = (double)(looks[i].after_us - looks[0].before_us) + TICK_US;
        double shortest = (double)looks[i].before_us - (double)looks[0].after_us - TICK_US;
        double most = longest * (1 + CRYSTALS) * hz / TIMER_HZ,
               least = shortest * (1 - CRYSTALS) * hz / TIMER_HZ;
        double modulus = (double)counter_modulus(counter);
        double elapsed = (double)counter_elapsed(counter, looks[0].count, looks[i].count);
        if (shortest < 0 || most - least >= modulus / 2)
            continue;
        if (elapsed + ceil((least - elapsed) / modulus) * modulus > most)
            return CLOCK_MISFITS;
        chance *= (most - least + 1) / modulus;
    }
    return chance < CHANCE ? CLOCK_FITS : CLOCK_UNPROVED;
}

static bool look_at_timer(struct device *device, struct timer_look *out, const struct deadline *deadline,
                          struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct step items[3];
    uint64_t results[3];
    struct steps list = {.items = items, .room = 3};
    steps_add(&list, step_read(core_word(core, TIMERAWL)));
    steps_add(&list, step_read(device->reading.counters[0].low));
    steps_add(&list, step_read(core_word(core, TIMERAWL)));
    if (!ledger_run(device->ledger, &list, results, deadline, error))
        return false;
    *out = (struct timer_look){.before_us = results[0], .count = results[1], .after_us = results[2]};
    return true;
}

bool wrap_evidence_check_clock(struct device *device, struct clock *clock, const struct deadline *deadline,
                               struct error *error)
{
    const struct counter *counter = &device->reading.counters[0];
    struct timer_look looks[TIMER_LOOKS];
    if (!clock_is_claimed(clock) || !device->block->counts_cycles || counter->reloads ||
        counter_modulus(counter) > UINT32_MAX || !device_sees_running(device) ||
        !finds_timer(device, deadline))
        return true;
    for (size_t i = 0; i < TIMER_LOOKS; i++) {
        if (i > 0)
            deadline_nap_us(TIMER_NAP_US + 97 * (int64_t)(i % 7));
        if (!look_at_timer(device, &looks[i], deadline, error))
            return false;
        if (looks[i].before_us < looks[0].before_us || looks[i].after_us < looks[i].before_us)
            return true; /* 32 bits of it went round */
    }
    if (looks[0].before_us == looks[TIMER_LOOKS - 1].after_us)
        return true;
    clock->fit = wrap_evidence_fit(counter, looks, TIMER_LOOKS, clock->hz);
    if (clock->fit == CLOCK_MISFITS && !device->slept && !clock->may_sleep)
        clock_refute(clock, " does not fit the chip's timer");
    return true;
}

bool wrap_evidence_take_timer(struct wrap_evidence *evidence, struct device *device,
                              const struct clock *clock, const struct deadline *deadline, struct error *error)
{
    const struct core *core = &device->chosen->core;
    struct counter timer = {
        .name = "timer", .low = core_word(core, TIMERAWL), .high = core_word(core, TIMERAWH), .bits = 64};
    struct error unread = {0};
    uint64_t id = 0;
    *evidence = (struct wrap_evidence){.kind = EVIDENCE_NONE};
    if (!finds_timer(device, deadline))
        return true;
    /* If the core runs, this shows it; else the first hits do */
    uint64_t now = 0;
    if (!ledger_read(device->ledger, core_word(core, TIMERAWL), &id, deadline, &unread) ||
        !ledger_read(device->ledger, core_word(core, TIMERAWL), &now, deadline, &unread))
        return true;
    /* A clock measured against the host is not exact to one part in a thousand. A claim that the timer did
     * not prove may be off, and must not choose between two totals. */
    static const double CLAIM = 0.05;
    bool exact = clock_is_claimed(clock), proved = clock->fit == CLOCK_FITS;
    *evidence = (struct wrap_evidence){.kind = EVIDENCE_TIMER,
                                       .at = device->reading.n,
                                       .wants_clock = !exact,
                                       .claimed = exact && !proved,
                                       .slow_hz = !exact ? 0 : clock->hz * (proved ? 1 : 1 - CLAIM),
                                       .fast_hz = !exact   ? clock->bound_hz
                                                  : proved ? clock->hz
                                                           : clock->hz * (1 + CLAIM),
                                       .runs = now != id};
    return wrap_evidence_append(device, &timer, error);
}

/* Whether the SysTick handler is active, so that it may or may not have counted its tick: it runs, or another
 * handler interrupted it. Armv6-M does not show what lies below an exception: its RETTOBASE is always 0. */
static bool is_doubtful(uint64_t status)
{
    uint64_t active = status & ICSR_VECTACTIVE;
    return active == SYSTICK_EXCEPTION || (active != 0 && (status & ICSR_RETTOBASE) == 0);
}

/* Whether SysTick's handler may have been held off. Code that changes no mask keeps what it began with: if
 * the handler ran, or no tick waits for it, none was lost; but not if an exception was left or entered. */
static bool may_have_lost(const struct wrap_evidence *evidence, const uint64_t *from, const uint64_t *to)
{
    size_t variable = evidence->at, status = evidence->at + 1;
    uint64_t within = to[status] & ICSR_VECTACTIVE;
    bool waits = (to[status] & ICSR_PENDSTSET) != 0, ran = to[variable] != from[variable];
    return evidence->may_lose || (from[status] & ICSR_VECTACTIVE) != 0 ||
           (within != 0 && within != SYSTICK_EXCEPTION) || (waits && !ran);
}

/* Ticks counted, still to be added, and pending; negative if the variable was set back. */
static int64_t ticks_between(const struct wrap_evidence *evidence, const uint64_t *from, const uint64_t *to)
{
    size_t variable = evidence->at, status = evidence->at + 1, pended = evidence->at + 2;
    uint64_t went = to[variable] - from[variable];
    if (evidence->modulus != UINT64_MAX)
        went %= evidence->modulus; /* a power of two */
    uint64_t ticks = went / evidence->each;
    ticks += ((to[status] & ICSR_PENDSTSET) != 0) - (uint64_t)((from[status] & ICSR_PENDSTSET) != 0);
    if (evidence->has_pended)
        ticks += to[pended] - from[pended];
    return (int64_t)ticks;
}

static void narrow_by_tick(const struct wrap_evidence *evidence, const struct counter *counter,
                           const uint64_t *from, const uint64_t *to, size_t which,
                           struct widen_bounds *bounds)
{
    int64_t ticks = ticks_between(evidence, from, to);
    uint64_t period = counter_modulus_at(counter, from[which]), around = evidence->modulus / evidence->each;
    uint64_t elapsed = counter_elapsed(counter, from[which], to[which]);
    bool over = counter_phase(counter, to[which]) < counter_phase(counter, from[which]);
    bool early = is_doubtful(from[evidence->at + 1]), late = is_doubtful(to[evidence->at + 1]);
    if (evidence->unproved || evidence->refuted)
        return;
    if (ticks > 0 && (uint64_t)ticks > INT64_MAX / period - 2)
        return; /* no total could hold them */
    if (ticks < -1 || ticks + late < over) {
        widen_by_span(bounds, 1, 0); /* it passed 0 without a tick */
        return;
    }
    /* Whole periods beyond what elapsed */
    int64_t least = ticks - early - over, most = ticks + late - over;
    if (counter->reloads && most != 0) /* not each tick need have been as long as this one */
        return;
    uint64_t low = (least > 0 ? (uint64_t)least : 0) * period + elapsed;
    uint64_t high = (uint64_t)most * period + elapsed;
    if (around < INT64_MAX / period - (uint64_t)most) { /* the variable itself may have wrapped */
        int64_t again = least + (int64_t)around;
        if (again < 0 || (uint64_t)again * period + elapsed <= bounds->most)
            high = UINT64_MAX;
    }
    widen_by_span(bounds, low, may_have_lost(evidence, from, to) ? UINT64_MAX : high);
}

static void narrow_by_timer(const struct wrap_evidence *evidence, const struct counter *counter,
                            const uint64_t *from, const uint64_t *to, size_t which,
                            struct widen_bounds *bounds)
{
    double us = (double)(to[evidence->at] - from[evidence->at]);
    double least = (us - 2) / TIMER_HZ * evidence->slow_hz, most = (us + 2) / TIMER_HZ * evidence->fast_hz;
    if (evidence->claimed && most - least >= (double)counter_modulus_at(counter, from[which]))
        return;
    if (us < 0x1p52)
        widen_by_span(bounds, least > 0 ? (uint64_t)floor(least) : 0, (uint64_t)ceil(most));
}

void wrap_evidence_narrow(const struct wrap_evidence *evidence, const struct counter *counter,
                          const uint64_t *from, const uint64_t *to, size_t which, struct widen_bounds *bounds)
{
    if (evidence->kind == EVIDENCE_TICK)
        narrow_by_tick(evidence, counter, from, to, which, bounds);
    else if (evidence->kind == EVIDENCE_TIMER && evidence->runs)
        narrow_by_timer(evidence, counter, from, to, which, bounds);
}

bool wrap_evidence_is_refuted(const struct wrap_evidence *evidence, const struct counter *counter,
                              const uint64_t *from, const uint64_t *to)
{
    struct widen_bounds alone = {.most = UINT64_MAX};
    if (evidence->kind == EVIDENCE_TICK)
        narrow_by_tick(evidence, counter, from, to, 0, &alone);
    return alone.least > alone.most;
}

void wrap_evidence_see(struct wrap_evidence *evidence, const uint64_t *values)
{
    if (evidence->kind != EVIDENCE_TIMER)
        return;
    evidence->runs = evidence->runs || (evidence->seen && values[evidence->at] != evidence->last);
    evidence->seen = true;
    evidence->last = values[evidence->at];
}

bool wrap_evidence_check(const struct wrap_evidence *evidence, struct device *device,
                         const struct clock *clock, const struct deadline *deadline, struct error *error)
{
    const struct counter *counter = &device->reading.counters[0];
    uint64_t first[READING_ROOM], now[READING_ROOM], from_us, ignored, before, to_us;
    if (evidence->kind != EVIDENCE_TICK)
        return true;
    if (!device_read(device, first, &from_us, &ignored, deadline, error))
        return false;
    for (int i = 0; i < CHECKS; i++) {
        if (!device_run_for(device, CHECK_MS, deadline, error) ||
            !device_read(device, now, &before, &to_us, deadline, error))
            return false;
        int64_t ticks = ticks_between(evidence, first, now);
        double most =
            (double)(to_us - from_us) / 1e6 * clock->bound_hz / (double)counter_modulus(counter) + 2;
        if ((double)ticks > most && !counter->reloads)
            return error_set(error, ERROR_USAGE,
                             "the tick variable went up by %" PRId64
                             " where the counter had %.0f periods at most",
                             ticks, most);
        if (ticks > 0)
            return true;
    }
    return error_set(error, ERROR_USAGE, "the tick variable does not go up");
}
