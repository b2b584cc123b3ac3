#include "measure/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A handler costs more than this above the other samples; halts differ by less. */
enum { FAR = 24 };

void calibration_add(struct calibration *calibration, uint64_t sample)
{
    if (calibration->n < CALIBRATION_SAMPLES)
        calibration->samples[calibration->n++] = sample;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

struct overhead calibration_result(const struct calibration *calibration)
{
    struct overhead overhead = {0};
    uint64_t sorted[CALIBRATION_SAMPLES];
    size_t n = calibration->n;
    if (n == 0)
        return overhead;
    memcpy(sorted, calibration->samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    uint64_t median = sorted[n / 2], spread = sorted[3 * n / 4] - sorted[n / 4];
    double sum = 0;
    overhead.low = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (sorted[i] > median + FAR + 3 * spread)
            break;
        sum += (double)sorted[i];
        overhead.low = sorted[i] < overhead.low ? sorted[i] : overhead.low;
        overhead.high = sorted[i];
        overhead.kept++;
    }
    overhead.known = true;
    overhead.mean = sum / (double)overhead.kept;
    return overhead;
}

uint64_t overhead_remove(const struct overhead *overhead, uint64_t raw, unsigned pairs)
{
    uint64_t cost = (uint64_t)llround(overhead->mean * pairs);
    return raw > cost ? raw - cost : 0;
}

uint64_t overhead_plus_minus(const struct overhead *overhead, unsigned pairs)
{
    uint64_t mean = (uint64_t)llround(overhead->mean * pairs);
    uint64_t above = overhead->high * pairs, below = overhead->low * pairs;
    uint64_t up = above > mean ? above - mean : 0, down = mean > below ? mean - below : 0;
    return up > down ? up : down;
}
