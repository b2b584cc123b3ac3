#include "measure/precision.h"

#include "measure/verdict.h"

#include <math.h>

/* Outside of the interval, at each end. */
static const double chance = 0.025;

double precision_of(const struct statistics *statistics)
{
    if (statistics_count(statistics) == 0)
        return INFINITY;
    struct series_error error = statistics_error(statistics);
    if (!(error.standard > 0))
        return 0;
    return verdict_student_quantile(chance, error.df) * error.standard / statistics_mean(statistics);
}

uint64_t precision_next(uint64_t hits)
{
    return hits < PRECISION_LEAST ? PRECISION_LEAST : hits + hits / 4;
}
