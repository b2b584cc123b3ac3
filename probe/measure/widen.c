#include "measure/widen.h"

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
