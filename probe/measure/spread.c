#include "measure/spread.h"

#include <math.h>
#include <stdio.h>

void spread_add(struct spread *spread, uint64_t value)
{
    spread->min = spread->n == 0 || value < spread->min ? value : spread->min;
    spread->max = spread->n == 0 || value > spread->max ? value : spread->max;
    double off = (double)value - spread->mean;
    spread->mean += off / (double)++spread->n;
    spread->squares += off * ((double)value - spread->mean);
}

/* Of the mean, three standard errors. */
static double reach(const struct spread *spread)
{
    return spread->n < 2 ? 0 : 3 * sqrt(spread->squares / (double)(spread->n - 1) / (double)spread->n);
}

void spread_compare(const struct spread *passes, size_t n, double plus_minus, const char *name, char *out,
                    size_t size)
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
