#include "measure/result.h"

#include <stdio.h>

/* Oscillators and PLLs are not exact. */
static const double TOLERANCE = 1.05;

bool clock_is_slow(const struct clock *clock)
{
    static const double SLOW_HZ = 4e6; /* two accesses at 10 MHz SWD are some 10 us apart */
    return clock->hz > 0 && clock->hz < SLOW_HZ;
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

void clock_check(struct clock *clock, double seen_hz)
{
    static const double SURELY = 2; /* the error of some 20 ms by a link's times */
    bool claimed = clock->hz > 0 && !(clock->error_hz > 0);
    if (!claimed || seen_hz <= clock->hz * SURELY)
        return;
    struct clock unknown = {.bound_hz = clock->fastest_hz, .fastest_hz = clock->fastest_hz};
    snprintf(unknown.doubt, sizeof unknown.doubt,
             "no times: the clock is %.4g MHz by %.31s, and the core runs at %.3g MHz or more",
             clock->hz / 1e6, clock->source, seen_hz / 1e6);
    *clock = unknown;
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
