/* SPDX-License-Identifier: MIT */
#include "measure/result.h"

#include "base/values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Oscillators and PLLs are not exact. */
static const double TOLERANCE = 1.05;

bool clock_is_slow(const struct clock *clock)
{
    static const double SLOW_HZ = 4e6; /* two accesses at 10 MHz SWD are some 10 us apart */
    return clock->hz > 0 && clock->hz < SLOW_HZ;
}

struct series_error column_error(const struct column *column)
{
    static const double quantile = 1.96; /* the least that the error is multiplied with */
    const struct statistics *statistics = column->statistics;
    const struct left_out *left = &column->left_out;
    struct series_error error = statistics_error(statistics);
    if (left->bounded + left->unbounded == 0 || statistics_count(statistics) < 2)
        return error;
    double mean = statistics_mean(statistics), bounded = (double)left->bounded,
           unbounded = (double)left->unbounded,
           longest = fmax((double)statistics_max(statistics), (double)left->longest);
    double above = (double)left->most - bounded * mean + unbounded * (longest - mean),
           below = bounded * mean - (double)left->least + unbounded * mean;
    error.standard = fmax(error.standard, 0) + fmax(above, below) / (double)left->all / quantile;
    error.df = error.df > 0 ? error.df : (double)(statistics_count(statistics) - 1);
    return error;
}

struct clock clock_unknown(double fastest_hz)
{
    return (struct clock){.bound_hz = fastest_hz, .fastest_hz = fastest_hz};
}

struct clock clock_given(double hz, const char *source, double fastest_hz)
{
    struct clock clock = {.hz = hz, .bound_hz = hz * TOLERANCE, .fastest_hz = fastest_hz};
    snprintf(clock.source, sizeof clock.source, "%s", source);
    return clock;
}

/* The error of what a claim is about: factory-trimmed RC oscillators are good to 1 to 2 %. */
static const double CLAIM_ERROR = 0.02;

struct clock_seen clock_seen_of(const struct clock_look *looks, unsigned n, bool halts)
{
    struct clock_seen seen = {.looks = n};
    double most_low = 0, least_high = INFINITY, all_longest = 0, all_shortest = 0;
    for (unsigned i = 1; i < n; i++) {
        const struct clock_look *from = &looks[i - 1], *to = &looks[i];
        double count = (double)(to->count - from->count), longest = (double)(to->after_ns - from->before_ns),
               shortest = to->before_ns > from->after_ns ? (double)(to->before_ns - from->after_ns) : 0;
        most_low = fmax(most_low, longest > 0 ? count / longest : 0);
        least_high = fmin(least_high, shortest > 0 ? count / shortest : INFINITY);
        all_longest += longest;
        all_shortest += shortest;
    }
    if (n >= 2 && !halts) {
        all_longest = (double)(looks[n - 1].after_ns - looks[0].before_ns);
        all_shortest = (double)looks[n - 1].before_ns - (double)looks[0].after_ns;
    }
    if (!(all_longest > 0) || !(all_shortest > 0))
        return seen;
    double count = (double)(looks[n - 1].count - looks[0].count) * 1e9;
    seen.low_hz = count / all_longest;
    seen.high_hz = count / all_shortest;
    seen.even = most_low <= least_high;
    return seen;
}

static bool seems_fast(const struct clock *clock, const struct clock_seen *seen)
{
    static const double SURELY = 2; /* an uneven counter is one that something else writes, up to here */
    return clock_is_claimed(clock) && seen->low_hz > clock->hz * (seen->even ? 1 + CLAIM_ERROR : SURELY);
}

static bool seems_slow(const struct clock *clock, const struct clock_seen *seen)
{
    return clock_is_claimed(clock) && seen->high_hz > 0 && seen->even && !seen->stopped &&
           seen->high_hz < clock->hz * (1 - CLAIM_ERROR);
}

/* The counter of a sleeping core may not go on. By chance no sample found it asleep. */
static bool may_have_slept(const struct clock *clock, const struct clock_seen *seen)
{
    static const double CHANCE = 1e-3;
    return clock->may_sleep && pow(seen->high_hz / clock->hz, seen->looks) > CHANCE;
}

bool clock_is_odd(const struct clock *clock, const struct clock_seen *seen)
{
    return seems_slow(clock, seen) && may_have_slept(clock, seen);
}

void clock_refute(struct clock *clock, const char *why)
{
    struct clock unknown = {.bound_hz = clock->fastest_hz, .fastest_hz = clock->fastest_hz};
    snprintf(unknown.doubt, sizeof unknown.doubt, "no times: the clock is wrong: %.4g MHz by %.31s%s",
             clock->hz / 1e6, clock->source, why);
    *clock = unknown;
}

static void set_bounds(struct clock *clock, const struct clock_seen *seen)
{
    double error = clock_is_claimed(clock) ? CLAIM_ERROR * clock->hz : clock->error_hz;
    if (!(clock->hz > 0) || !(seen->high_hz > 0) || !seen->even || seen->stopped)
        return;
    clock->low_hz = fmax(seen->low_hz, clock->hz - error);
    clock->high_hz = fmin(seen->high_hz, clock->hz + error);
    if (clock->low_hz > clock->high_hz)
        clock->low_hz = clock->high_hz = 0;
}

double clock_may_be_off(const struct clock *clock)
{
    if (!clock_is_claimed(clock) || !(clock->high_hz > 0))
        return 0;
    return fmax(fabs(clock->hz - clock->low_hz), fabs(clock->high_hz - clock->hz));
}

/* The mean over the time that was measured is not the clock of any part of it. */
static void clock_leave(struct clock *clock, const struct clock_seen *seen)
{
    struct clock unknown = {.bound_hz = clock->fastest_hz, .fastest_hz = clock->fastest_hz, .uneven = true};
    snprintf(
        unknown.doubt, sizeof unknown.doubt,
        "no times: the core's counter does not go on evenly (%.3g MHz on average), as in sleep: --freq gives "
        "its clock",
        (seen->low_hz + seen->high_hz) / 2e6);
    *clock = unknown;
}

const char *conditions_no_time(const struct conditions *conditions, bool slept, bool may_sleep)
{
    bool stops = conditions->clock_awake > 0;
    if (!(conditions->clock_hz > 0) || conditions->clock_sleeps_on || !(slept || may_sleep))
        return NULL;
    if (slept)
        return stops ? "the core slept inside, and its counter stops then: calls take longer"
                     : "the core slept inside, and its counter may stop then";
    return stops ? "the core may sleep inside, and its counter stops then"
                 : "the core may sleep inside, and its counter may stop then";
}

void conditions_leave_time(struct conditions *conditions, const char *why)
{
    snprintf(conditions->clock_change, sizeof conditions->clock_change, "%s", why);
    conditions->counter_hz = conditions->clock_hz;
    conditions->clock_hz = conditions->clock_error_hz = 0;
}

/* In sleep the counter may halt: it was slower than the claim, which is right. */
static void clock_note_sleep(struct clock *clock, const struct clock_seen *seen)
{
    if (clock_is_claimed(clock) && clock->may_sleep && seen->high_hz > 0 &&
        seen->high_hz < clock->hz * (1 - CLAIM_ERROR))
        clock->awake = (seen->low_hz + seen->high_hz) / 2 / clock->hz;
}

void clock_check(struct clock *clock, const struct clock_seen *seen)
{
    if (clock->error_hz > 0 && clock->may_sleep && seen->high_hz > 0 && !seen->even) {
        clock_leave(clock, seen);
        return;
    }
    if (!seems_fast(clock, seen) && !(seems_slow(clock, seen) && !may_have_slept(clock, seen))) {
        clock_note_sleep(clock, seen);
        clock->sleeps_on = clock_is_claimed(clock) && 2 * seen->asleep >= seen->looks && seen->looks > 0 &&
                           seen->low_hz >= clock->hz * (1 - CLAIM_ERROR);
        set_bounds(clock, seen);
        return;
    }
    double mean = (seen->low_hz + seen->high_hz) / 2;
    char why[64];
    snprintf(why, sizeof why, ", and the core's counter of cycles goes on at %.3g MHz",
             (seen->high_hz > 0 ? mean : seen->low_hz) / 1e6);
    clock_refute(clock, why);
}

struct sample {
    uint64_t value, before_us, after_us;
};

static bool clock_take_sample(struct device *device, struct sample *out, const struct deadline *deadline,
                              struct error *error)
{
    uint64_t values[READING_ROOM];
    if (!device_read(device, values, &out->before_us, &out->after_us, deadline, error))
        return false;
    out->value = values[0];
    return true;
}

bool clock_measure(struct device *device, int ms, struct clock *out, const struct deadline *deadline,
                   struct error *error)
{
    const struct counter *counter = &device->block->counters[0];
    struct sample a = {0}, b = {0};
    *out = clock_unknown(core_fastest_hz(&device->chosen->core));
    double safe_ms = (double)counter_modulus(counter) / out->fastest_hz * 1000 / 2;
    if (safe_ms < 1)
        return true;
    if (ms > safe_ms)
        ms = (int)safe_ms;
    if (!clock_take_sample(device, &a, deadline, error))
        return false;
    deadline_nap_us(INT64_C(1000) * ms);
    if (!clock_take_sample(device, &b, deadline, error))
        return false;
    double longest = (double)(b.after_us - a.before_us) / 1e6;
    double shortest = b.before_us > a.after_us ? (double)(b.before_us - a.after_us) / 1e6 : 0;
    if (shortest <= 0 || longest * out->fastest_hz >= (double)counter_modulus(counter))
        return true;
    double count = (double)counter_elapsed(counter, a.value, b.value);
    if (count == 0)
        return true;
    double high = count / shortest, low = count / longest;
    out->hz = (high + low) / 2;
    out->error_hz = (high - low) / 2;
    snprintf(out->source, sizeof out->source, "measured");
    return true;
}

/* ---- what halts may have delayed */

bool unseen_delays_note(struct unseen_delays *delays, const struct reading *reading, const uint64_t *from,
                        const uint64_t *to)
{
    bool excepted = reading_shows_exception(reading, from, to);
    delays->excepted += excepted;
    delays->unknown += reading->misses_exceptions || (reading->has_exceptions && reading->may_hide_events);
    return excepted;
}

void unseen_delays_text(const struct unseen_delays *delays, uint64_t all, const char *what, char *out,
                        size_t size)
{
    static const char unseen[] = "whether a halt had delayed one cannot be seen on this core";
    out[0] = '\0';
    if (delays->excepted > 0)
        snprintf(out, size, "exceptions ran in %" PRIu64 " of %" PRIu64 " %s: %s", delays->excepted, all,
                 what, unseen);
    if (delays->unknown > 0)
        text_add(out, size, "%sno counter shows whether exceptions ran in %" PRIu64 " of %" PRIu64 " %s: %s",
                 out[0] != '\0' ? "; " : "", delays->unknown, all, what, unseen);
}

bool summary_counts_exceptions(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n; i++)
        if (result_exceptions(summary->columns[i].name) != RESULT_EXCEPTIONS_NOT &&
            summary->columns[i].unsupported[0] == '\0')
            return true;
    return false;
}
