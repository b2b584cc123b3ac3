/* SPDX-License-Identifier: MIT */
#include "measure/statistics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void hit_times_add_count(struct hit_span *span, enum hit_kind kind, uint64_t n, uint64_t least,
                                uint64_t greatest)
{
    if (n == 0)
        return;
    if (span->of[kind].n == 0 || least < span->of[kind].least)
        span->of[kind].least = least;
    if (greatest > span->of[kind].greatest)
        span->of[kind].greatest = greatest;
    span->of[kind].n += n;
}

static void hit_times_merge(struct hit_span *into, const struct hit_span *next)
{
    into->last = next->last;
    into->to = next->to;
    for (int kind = 0; kind < HIT_KINDS; kind++)
        hit_times_add_count(into, (enum hit_kind)kind, next->of[kind].n, next->of[kind].least,
                            next->of[kind].greatest);
}

static void hit_times_halve(struct hit_times *times)
{
    for (size_t i = 0; i < HIT_SPANS / 2; i++) {
        times->spans[i] = times->spans[2 * i];
        hit_times_merge(&times->spans[i], &times->spans[2 * i + 1]);
    }
    times->n = HIT_SPANS / 2;
    times->each *= 2;
}

void hit_times_add(struct hit_times *times, uint64_t number, double seconds, enum hit_kind kind,
                   uint64_t count)
{
    if (times->each == 0)
        times->each = 1;
    bool begins = times->hits % times->each == 0;
    if (begins && times->n == HIT_SPANS) {
        hit_times_halve(times);
        begins = times->hits % times->each == 0;
    }
    if (begins)
        times->spans[times->n++] = (struct hit_span){.first = number, .from = seconds};
    struct hit_span *span = &times->spans[times->n - 1];
    span->last = number;
    span->to = seconds;
    hit_times_add_count(span, kind, 1, count, count);
    times->hits++;
}

bool hit_times_range(const struct hit_times *times, uint64_t *least, uint64_t *greatest)
{
    struct hit_span all = {0};
    for (size_t i = 0; i < times->n; i++)
        for (int kind = 0; kind < HIT_KINDS; kind++)
            hit_times_add_count(&all, HIT_CLEAN, times->spans[i].of[kind].n, times->spans[i].of[kind].least,
                                times->spans[i].of[kind].greatest);
    *least = all.of[HIT_CLEAN].least;
    *greatest = all.of[HIT_CLEAN].greatest;
    return all.of[HIT_CLEAN].n > 0;
}

/* ---- statistics */

enum {
    STRETCHES = 16, /* fewer do not show whether neighbours are alike */
    DF_LEAST = 4,
};
/* A correlation counts from this many standard errors on. */
static const double significant = 1.6;
static const double most_alike = 0.95;
/* A wandering mean goes farther than a straight line through it shows. */
static const double beyond_line = 1.2;

static size_t statistics_halve(double *values, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        values[i] = (values[2 * i] + values[2 * i + 1]) / 2;
    return n / 2;
}

void series_add(struct series *series, double value)
{
    if (series->each == 0)
        series->each = 1;
    series->sum += value;
    if (++series->taken < series->each)
        return;
    if (series->n == SERIES_MOST) {
        series->n = statistics_halve(series->means, series->n);
        series->each *= 2;
        return;
    }
    series->means[series->n++] = series->sum / (double)series->each;
    series->taken = 0;
    series->sum = 0;
}

/* The variance of the mean of n stretches, and the correlation of neighbours (-1 to 1). */
struct likeness {
    double variance, alike;
};

static struct likeness likeness_of(const double *values, size_t n)
{
    double mean = 0, squares = 0, products = 0;
    for (size_t i = 0; i < n; i++)
        mean += (values[i] - values[0]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = values[i] - values[0] - mean;
        squares += off * off;
        products += i > 0 ? off * (values[i - 1] - values[0] - mean) : 0;
    }
    if (!(squares > 0))
        return (struct likeness){0};
    /* Deviations from the values' own mean are correlated by -1/n */
    return (struct likeness){.variance = squares / (double)(n - 1) / (double)n,
                             .alike = products / squares + 1 / (double)n};
}

static double drift_of(const double *values, size_t n)
{
    double rise = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double at = (double)i - (double)(n - 1) / 2;
        rise += at * (values[i] - values[0]);
        squares += at * at;
    }
    return squares > 0 ? beyond_line * fabs(rise / squares) * (double)n / 2 : 0;
}

/*
 * Takes single hits, then stretches of two, four and so on. At each length at which neighbours are alike,
 * the error is the stretches' own spread, widened by what an autoregression of first order adds. The largest
 * error counts, and the fewest degrees of freedom. In a long run, hits that are alike within one mean show in
 * the spread of the means.
 */
struct series_error series_error(const struct series *series, double sd, uint64_t count)
{
    double values[SERIES_MOST];
    size_t n = series->n;
    struct series_error error = {.standard = count > 0 ? sd / sqrt((double)count) : 0,
                                 .df = count > 1 ? (double)(count - 1) : 1,
                                 .drift = drift_of(series->means, series->n)};
    memcpy(values, series->means, n * sizeof *values);
    for (; n >= STRETCHES; n = statistics_halve(values, n)) {
        struct likeness likeness = likeness_of(values, n);
        if (n == series->n && series->each > 1)
            error.standard = fmax(error.standard, sqrt(likeness.variance));
        if (!(likeness.alike * sqrt((double)n) > significant))
            continue;
        double alike = fmin(likeness.alike, most_alike), fewer = (1 - alike) / (1 + alike);
        error.standard = fmax(error.standard, sqrt(likeness.variance / fewer));
        error.df = fmin(error.df, fmax((double)n * fewer - 1, DF_LEAST));
    }
    return error;
}

/*
 * Buckets: values below LINEAR have one each. Above, each power of two is cut into HALF buckets for its lower
 * half and TWO_THIRDS wider ones for its upper half. So a bucket is never wider than 1/1024 of its values.
 */
enum {
    DISTINCT = 4096,
    LINEAR_BITS = 11,
    LINEAR = 1 << LINEAR_BITS,
    HALF = 512,
    TWO_THIRDS = 342, /* 1024 / 3, rounded up */
    OCTAVE = HALF + TWO_THIRDS,
    BUCKETS = LINEAR + (64 - LINEAR_BITS) * OCTAVE,
};

struct entry {
    uint64_t value, count;
};

struct statistics {
    uint64_t count, min, max;
    uint64_t first;             /* values are summed relative to it: small spreads stay exact near 2^63 */
    uint64_t sum_high, sum_low; /* of value - first, two's complement */
    double squares;             /* of the distances to the mean, summed */
    struct series series;       /* of the distances to the first value */
    bool bucketed;
    size_t n;
    /* Sorted. Before conversion: the values. After it: how often a bucket's 32 bits overflowed, by bucket. */
    struct entry entries[DISTINCT];
    uint32_t buckets[BUCKETS];
};

struct statistics *statistics_new(void)
{
    return calloc(1, sizeof(struct statistics));
}

void statistics_free(struct statistics *statistics)
{
    free(statistics);
}

static size_t bucket_of(uint64_t value)
{
    if (value < LINEAR)
        return (size_t)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value);
    size_t first = LINEAR + (size_t)(octave - LINEAR_BITS) * OCTAVE;
    size_t part = (size_t)(value >> (octave - LINEAR_BITS)) - LINEAR; /* in 1/2048 of the octave */
    return first + (part < 1024 ? part / 2 : HALF + (part - 1024) / 3);
}

/* The bucket after the last one would begin at 2^64, which is 0. */
static uint64_t bucket_low(size_t bucket)
{
    if (bucket >= BUCKETS)
        return 0;
    if (bucket < LINEAR)
        return bucket;
    size_t octave = (bucket - LINEAR) / OCTAVE; /* counted from LINEAR_BITS */
    size_t nth = (bucket - LINEAR) % OCTAVE;
    uint64_t part = nth < HALF ? nth * 2 : 1024 + (nth - HALF) * 3;
    return (LINEAR + part) << octave;
}

static uint64_t bucket_high(size_t bucket)
{
    return bucket_low(bucket + 1) - 1;
}

/* False: `value` is new and the table is full. */
static bool entry_add(struct statistics *statistics, uint64_t value)
{
    struct entry *entries = statistics->entries;
    size_t from = 0, to = statistics->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (entries[middle].value < value)
            from = middle + 1;
        else
            to = middle;
    }
    if (from < statistics->n && entries[from].value == value) {
        entries[from].count++;
        return true;
    }
    if (statistics->n == DISTINCT)
        return false;
    memmove(&entries[from + 1], &entries[from], (statistics->n - from) * sizeof(*entries));
    entries[from] = (struct entry){.value = value, .count = 1};
    statistics->n++;
    return true;
}

/* Entries are sorted and so are their buckets: the overflows fit in after the entries already read. */
static void convert(struct statistics *statistics)
{
    struct entry *entries = statistics->entries;
    size_t overflows = 0;
    for (size_t i = 0; i < statistics->n; i++) {
        struct entry entry = entries[i];
        size_t bucket = bucket_of(entry.value);
        uint64_t low = (uint64_t)statistics->buckets[bucket] + (entry.count & UINT32_MAX);
        uint64_t times = (entry.count >> 32) + (low >> 32);
        statistics->buckets[bucket] = (uint32_t)low;
        if (times == 0)
            continue;
        if (overflows > 0 && entries[overflows - 1].value == bucket)
            entries[overflows - 1].count += times;
        else
            entries[overflows++] = (struct entry){.value = bucket, .count = times};
    }
    statistics->n = overflows;
    statistics->bucketed = true;
}

static void bucket_add(struct statistics *statistics, uint64_t value)
{
    size_t bucket = bucket_of(value);
    /* A full overflow table (2^44 values) leaves the bucket at its highest count */
    if (statistics->buckets[bucket] == UINT32_MAX && !entry_add(statistics, bucket))
        return;
    statistics->buckets[bucket]++;
}

static double distance(uint64_t value, uint64_t from)
{
    return value >= from ? (double)(value - from) : -(double)(from - value);
}

/* The mean's distance from the first value, from an exact sum: a running mean stops moving after some 10^9
   values, when its steps fall below its own resolution. */
static double mean_distance(const struct statistics *statistics)
{
    uint64_t high = statistics->sum_high, low = statistics->sum_low;
    bool negative = high >> 63;
    if (negative) {
        low = -low;
        high = ~high + (low == 0);
    }
    double mean = ((double)high * 0x1p64 + (double)low) / (double)statistics->count;
    return negative ? -mean : mean;
}

static void moments_add(struct statistics *statistics, uint64_t value)
{
    if (statistics->count == 0)
        statistics->first = statistics->min = statistics->max = value;
    if (value < statistics->min)
        statistics->min = value;
    if (value > statistics->max)
        statistics->max = value;

    double off = statistics->count == 0 ? 0 : distance(value, statistics->first) - mean_distance(statistics);
    double before = (double)statistics->count;
    statistics->squares += off * off * (before / (before + 1));

    uint64_t difference = value - statistics->first;
    statistics->sum_low += difference;
    statistics->sum_high += (statistics->sum_low < difference) + (value < statistics->first ? UINT64_MAX : 0);
    statistics->count++;
    series_add(&statistics->series, distance(value, statistics->first));
}

void statistics_add(struct statistics *statistics, uint64_t value)
{
    moments_add(statistics, value);
    if (!statistics->bucketed && !entry_add(statistics, value))
        convert(statistics);
    else if (!statistics->bucketed)
        return;
    bucket_add(statistics, value);
}

uint64_t statistics_count(const struct statistics *statistics)
{
    return statistics->count;
}

uint64_t statistics_min(const struct statistics *statistics)
{
    return statistics->min;
}

uint64_t statistics_max(const struct statistics *statistics)
{
    return statistics->max;
}

double statistics_mean(const struct statistics *statistics)
{
    if (statistics->count == 0)
        return 0;
    /* In integers as far as possible: a first value far from the mean would cost digits */
    __extension__ typedef __int128 wide;
    wide sum = (wide)statistics->sum_low + (wide)(int64_t)statistics->sum_high * ((wide)1 << 64);
    wide count = (wide)statistics->count, whole = (wide)statistics->first + sum / count;
    return (double)whole + (double)(sum % count) / (double)count;
}

double statistics_deviation(const struct statistics *statistics)
{
    return statistics->count < 2 ? 0 : sqrt(statistics->squares / (double)(statistics->count - 1));
}

struct series_error statistics_error(const struct statistics *statistics)
{
    return series_error(&statistics->series, statistics_deviation(statistics), statistics->count);
}

struct walk {
    size_t at, overflow;
};

/* The middle of the bucket, cut to [min, max]. */
static uint64_t bucket_value(const struct statistics *statistics, size_t bucket)
{
    uint64_t low = bucket_low(bucket), high = bucket_high(bucket);
    low = low < statistics->min ? statistics->min : low;
    high = high > statistics->max ? statistics->max : high;
    return low + (high - low) / 2;
}

/* The next value, or the next bucket's middle, in rising order. */
static bool walk_next(const struct statistics *statistics, struct walk *walk, struct entry *out)
{
    const struct entry *entries = statistics->entries;
    if (!statistics->bucketed) {
        if (walk->at == statistics->n)
            return false;
        *out = entries[walk->at++];
        return true;
    }
    for (; walk->at < BUCKETS; walk->at++) {
        uint64_t count = statistics->buckets[walk->at];
        if (walk->overflow < statistics->n && entries[walk->overflow].value == walk->at)
            count += entries[walk->overflow++].count << 32;
        if (count == 0)
            continue;
        *out = (struct entry){.value = bucket_value(statistics, walk->at++), .count = count};
        return true;
    }
    return false;
}

static uint64_t statistics_rank_of(double p, uint64_t count)
{
    /* 0.07 of 100 is the 7th, although neither 0.07 nor the product is exact */
    double rank = ceil(p * (double)count * (1 - 4 * DBL_EPSILON));
    if (!(rank > 1))
        return 1;
    return rank < (double)count ? (uint64_t)rank : count;
}

uint64_t statistics_quantile(const struct statistics *statistics, double p, bool *exact)
{
    if (exact != NULL)
        *exact = !statistics->bucketed;
    if (statistics->count == 0)
        return 0;
    uint64_t rank = statistics_rank_of(p, statistics->count);
    if (rank == 1)
        return statistics->min;
    if (rank == statistics->count)
        return statistics->max;

    struct walk walk = {0};
    struct entry entry;
    for (uint64_t seen = 0; walk_next(statistics, &walk, &entry);) {
        seen += entry.count;
        if (seen >= rank)
            return entry.value;
    }
    return statistics->max;
}

uint64_t statistics_between(const struct statistics *statistics, uint64_t from, uint64_t to, uint64_t *least,
                            uint64_t *greatest)
{
    struct walk walk = {0};
    struct entry entry;
    uint64_t count = 0;
    while (walk_next(statistics, &walk, &entry) && entry.value <= to) {
        if (entry.value < from)
            continue;
        *least = count == 0 ? entry.value : *least;
        *greatest = entry.value;
        count += entry.count;
    }
    return count;
}

size_t statistics_histogram(const struct statistics *statistics, uint64_t from, uint64_t to,
                            struct histogram_bin *out, size_t room)
{
    from = from < statistics->min ? statistics->min : from;
    to = to > statistics->max ? statistics->max : to;
    if (room == 0 || statistics->count == 0 || from > to)
        return 0;
    uint64_t less_one = (to - from) / room; /* bin width - 1 */
    if (statistics->bucketed) {
        /* Narrower bins would show where the buckets are, not where the values are */
        size_t widest = bucket_of(to);
        uint64_t bucket = bucket_high(widest) - bucket_low(widest);
        less_one = less_one < bucket ? bucket : less_one;
    }
    size_t n = 0;
    for (uint64_t low = from;; low += less_one + 1) {
        bool last = to - low <= less_one;
        out[n++] = (struct histogram_bin){.low = low, .high = last ? to : low + less_one};
        if (last)
            break;
    }
    struct walk walk = {0};
    struct entry entry;
    while (walk_next(statistics, &walk, &entry) && entry.value <= to)
        if (entry.value >= from)
            out[less_one == UINT64_MAX ? 0 : (entry.value - from) / (less_one + 1)].count += entry.count;
    return n;
}

struct outliers statistics_outliers(const struct statistics *statistics)
{
    enum { ONE_OF = 10 };
    uint64_t min = statistics_min(statistics), max = statistics_max(statistics);
    uint64_t first = statistics_quantile(statistics, 0.25, NULL),
             third = statistics_quantile(statistics, 0.75, NULL);
    uint64_t apart = third > first ? third - first : 1,
             reach = apart > UINT64_MAX / 3 ? UINT64_MAX : 3 * apart;
    struct outliers out = {.low = first - min > reach ? first - reach : min,
                           .high = max - third > reach ? third + reach : max};
    if (out.low > min)
        out.below = statistics_between(statistics, min, out.low - 1, &out.below_least, &out.below_most);
    if (out.high < max)
        out.above = statistics_between(statistics, out.high + 1, max, &out.above_least, &out.above_most);
    if ((out.below + out.above) * ONE_OF > statistics_count(statistics))
        return (struct outliers){.low = min, .high = max};
    statistics_between(statistics, out.low, out.high, &out.low, &out.high);
    return out;
}
