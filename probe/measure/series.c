#include "measure/series.h"

#include <math.h>
#include <string.h>

enum {
    STRETCHES = 16, /* fewer do not show whether they are alike */
    DF_LEAST = 4,
};
/* A correlation of that many of its own standard errors is taken for one. */
static const double seen = 1.6;
static const double most_alike = 0.95;
/* A mean that wanders takes it farther than a straight line tells. */
static const double beyond_line = 1.2;

static size_t halve(double *values, size_t n)
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
        series->n = halve(series->means, series->n);
        series->each *= 2;
        return;
    }
    series->means[series->n++] = series->sum / (double)series->each;
    series->taken = 0;
    series->sum = 0;
}

/* Of `n` stretches: the variance of their mean, and how alike neighbours are (-1 to 1). */
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
    /* Deviations from the mean of the same values lean to the other side by 1/n */
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
 * Single hits, then stretches of two, four and so on: at each length at which neighbours are alike, the
 * stretches' own spread, widened by what an autoregression of first order would add. The largest counts, and
 * the fewest degrees of freedom. What is alike within the means of a long run shows in their spread.
 */
struct series_error series_error(const struct series *series, double sd, uint64_t count)
{
    double values[SERIES_MOST];
    size_t n = series->n;
    struct series_error error = {.standard = count > 0 ? sd / sqrt((double)count) : 0,
                                 .df = count > 1 ? (double)(count - 1) : 1,
                                 .drift = drift_of(series->means, series->n)};
    memcpy(values, series->means, n * sizeof *values);
    for (; n >= STRETCHES; n = halve(values, n)) {
        struct likeness likeness = likeness_of(values, n);
        if (n == series->n && series->each > 1)
            error.standard = fmax(error.standard, sqrt(likeness.variance));
        if (!(likeness.alike * sqrt((double)n) > seen))
            continue;
        double alike = fmin(likeness.alike, most_alike), fewer = (1 - alike) / (1 + alike);
        error.standard = fmax(error.standard, sqrt(likeness.variance / fewer));
        error.df = fmin(error.df, fmax((double)n * fewer - 1, DF_LEAST));
    }
    return error;
}
