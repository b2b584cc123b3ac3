#include "measure/plausible.h"

#include <inttypes.h>
#include <string.h>

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
