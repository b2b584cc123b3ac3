/*
 * What widening is judged by: registers of any width and direction, what can be known of the time between two
 * reads one, and an oracle that says how many true counts fit both. It asks of single counts whether they
 * fit, by 128-bit arithmetic or on foot, and knows nothing of bounds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 wide;

struct shape {
    unsigned bits;
    bool down, zero_is_top;
    wide modulus;
};

struct evidence {
    bool timed_below, timed_above, spanned;
    double shortest_s, longest_s, slowest_hz, fastest_hz;
    uint64_t least, most;
};

/* At the edges of a time the rounding decides, which is nobody's business here: STRICT calls a count possible
 * only when it surely is, LAX calls it impossible only when it surely is. */
enum strictness { STRICT, LAX };

struct verdict {
    unsigned fits; /* how many counts; 2: or more */
    wide least;    /* the smallest of them */
};

static inline uint64_t shape_show(const struct shape *shape, uint64_t from, wide count)
{
    wide part = count % shape->modulus;
    return (uint64_t)((shape->down ? from + shape->modulus - part : from + part) % shape->modulus);
}

static inline long double rounding(long double product, enum strictness strictness)
{
    return strictness == STRICT ? 0 : 2 + product * 0x1p-50L;
}

static inline bool too_few(const struct evidence *e, wide count, enum strictness strictness)
{
    long double time = (long double)e->shortest_s * (long double)e->slowest_hz;
    return (e->timed_below && (long double)count + 1 + rounding(time, strictness) <= time) ||
           (e->spanned && count < e->least);
}

static inline bool too_many(const struct evidence *e, wide count, enum strictness strictness)
{
    long double time = (long double)e->longest_s * (long double)e->fastest_hz;
    return (e->timed_above && (long double)count >= time + 1 + rounding(time, strictness)) ||
           (e->spanned && count > e->most);
}

/* Finds the first count that is not too few among those that lead from one reading to the other. */
static inline struct verdict oracle_search(const struct shape *shape, const struct evidence *e, uint64_t from,
                                           uint64_t to, enum strictness strictness)
{
    wide first = (shape->down ? from + shape->modulus - to : to + shape->modulus - from) % shape->modulus;
    if (shape->bits == 64)
        return (struct verdict){.fits = 1, .least = first};
    wide low = 0, high = ((wide)1 << 66) / shape->modulus;
    while (low < high) {
        wide middle = (low + high) / 2;
        if (too_few(e, first + middle * shape->modulus, strictness))
            low = middle + 1;
        else
            high = middle;
    }
    struct verdict verdict = {.least = first + low * shape->modulus};
    while (verdict.fits < 2 && !too_many(e, verdict.least + verdict.fits * shape->modulus, strictness))
        verdict.fits++;
    return verdict;
}

/* The same on foot, count by count, for registers that wrap soon. */
static inline struct verdict oracle_walk(const struct shape *shape, const struct evidence *e, uint64_t from,
                                         uint64_t to, enum strictness strictness)
{
    struct verdict verdict = {0};
    wide count = 0;
    uint64_t shown = from, top = (uint64_t)(shape->modulus - 1);
    while (verdict.fits < 2 && !too_many(e, count, strictness)) {
        if (shown == to && !too_few(e, count, strictness) && verdict.fits++ == 0)
            verdict.least = count;
        uint64_t before = shown;
        if (shape->down)
            shown = before == 0 ? top : before - 1;
        else
            shown = before == top ? 0 : before + 1;
        count++;
    }
    return verdict;
}
