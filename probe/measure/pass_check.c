#include "measure/pass_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void pass_check_add(struct pass_check *spread, uint64_t value)
{
    spread->min = spread->n == 0 || value < spread->min ? value : spread->min;
    spread->max = spread->n == 0 || value > spread->max ? value : spread->max;
    double off = (double)value - spread->mean;
    spread->mean += off / (double)++spread->n;
    spread->squares += off * ((double)value - spread->mean);
}

/* Of the mean, three standard errors. */
static double reach(const struct pass_check *spread)
{
    return spread->n < 2 ? 0 : 3 * sqrt(spread->squares / (double)(spread->n - 1) / (double)spread->n);
}

void pass_check_compare(const struct pass_check *passes, size_t n, double plus_minus, const char *name,
                        char *out, size_t size)
{
    size_t low = n, high = n;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (passes[i].n == 0)
            continue;
        if (low == n || passes[i].mean < passes[low].mean)
            low = i;
        if (high == n || passes[i].mean > passes[high].mean)
            high = i;
    }
    if (low == n || low == high)
        return;
    double apart = passes[high].mean - passes[low].mean;
    /* One hit of a pass says nothing of how it varies: then only the range of the others does */
    double room = reach(&passes[low]) + reach(&passes[high]) + 2 * plus_minus;
    if (passes[low].n < 2 || passes[high].n < 2)
        for (size_t i = 0; i < n; i++)
            if (passes[i].n > 1 && (double)(passes[i].max - passes[i].min) > room)
                room = (double)(passes[i].max - passes[i].min);
    if (apart > room)
        snprintf(out, size, "the passes disagree: mean %.48s %.6g in pass %zu, %.6g in pass %zu", name,
                 passes[low].mean, low + 1, passes[high].mean, high + 1);
}

/* A clock that is said may be that of before a PLL was set up. A measured one is no bound at all: the core
 * may have slept. */
static const double SAID_WRONGLY = 4, SEEN_EXACTLY = 1.5;
/* By so much the times of a link may be off, or a model run ahead of them for a moment. */
enum { SLACK_US = 5000 };
enum { EVENTS_A_CYCLE = 8, HALT_CYCLES = 1024, REHITS = 64 };

struct plausible plausible_begin(const struct reading *reading, bool counts_cycles, const struct clock *clock,
                                 double seen_hz)
{
    double fastest = clock_unknown().bound_hz, seen = seen_hz * SEEN_EXACTLY;
    double most = clock->bound_hz * SAID_WRONGLY;
    if (most > fastest)
        most = clock->bound_hz > fastest ? clock->bound_hz : fastest;
    most = seen > most ? seen : most;
    return (struct plausible){.reading = reading, .counts_cycles = counts_cycles, .most_hz = most};
}

bool plausible_span(const struct plausible *plausible, const uint64_t *from, const uint64_t *to, uint64_t us,
                    unsigned halts, struct error *error)
{
    const struct reading *reading = plausible->reading;
    for (size_t i = 0; reading != NULL && i < reading->counted; i++) {
        const struct counter *counter = &reading->counters[i];
        unsigned per_cycle = counter->per_cycle > 0 ? counter->per_cycle : EVENTS_A_CYCLE;
        double most =
            (((double)us + SLACK_US) / 1e6 * plausible->most_hz + (double)halts * HALT_CYCLES) * per_cycle +
            (double)counter_coarseness(counter);
        uint64_t elapsed = counter_elapsed(counter, from[i], to[i]);
        if ((double)elapsed <= most)
            continue;
        return error_set(error, ERROR_WRITTEN,
                         "something else writes the counter of %s: it went on by %" PRIu64
                         " in %.3g ms, and can by %.0f at most",
                         counter->name, elapsed, (double)us / 1e3, most);
    }
    return true;
}

/* At least one instruction was executed, so at least one cycle went by. A whole wrap would look the same. */
static bool stood_still(const struct plausible *plausible, const struct raw_hit *hit)
{
    const struct counter *cycles = &plausible->reading->counters[0];
    double us = hit->after_us > hit->before_us ? (double)(hit->after_us - hit->before_us) : 0;
    bool may_wrap = us / 1e6 * plausible->most_hz >= (double)counter_modulus(cycles);
    return plausible->counts_cycles && cycles->shift == 0 && !may_wrap && hit->from[0] == hit->to[0];
}

bool plausible_hit(struct plausible *plausible, const struct raw_hit *hit, struct error *error)
{
    uint64_t us = hit->after_us > hit->before_us ? hit->after_us - hit->before_us : 0;
    /* What a probe does in one packet has the times of all of it: from the one's beginning to the other's end
     */
    uint64_t between = hit->after_us > plausible->last_us ? hit->after_us - plausible->last_us : 0;
    unsigned halts = hit->pairs + hit->steps;
    if (plausible->has_last && !plausible_span(plausible, plausible->last, hit->from, between, REHITS, error))
        return false;
    if (!plausible_span(plausible, hit->from, hit->to, us, halts, error))
        return false;
    if (stood_still(plausible, hit))
        return error_set(error, ERROR_WRITTEN,
                         "the counter of %s stood still through a whole hit: something else switched it off",
                         plausible->reading->counters[0].name);
    memcpy(plausible->last, hit->to, sizeof plausible->last);
    plausible->last_us = hit->before_us;
    plausible->has_last = true;
    return true;
}
