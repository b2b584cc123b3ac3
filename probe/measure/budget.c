#include "measure/budget.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* More than any run has: a budget is not a measurement, and has no error. */
static const uint64_t NO_ERROR = UINT64_C(1) << 40;

/* As in a region file: it reads back. */
static void budget_put_name(const struct budget *budget, char *out, size_t size)
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    const char *of = budget->of == BUDGET_MEAN ? "mean" : "max";
    size_t i = 0;
    if (!budget->is_time) {
        snprintf(out, size, "%s <= %.15g cycles", of, budget->limit);
        return;
    }
    while (i + 1 < sizeof units / sizeof *units && budget->limit < units[i].seconds)
        i++;
    snprintf(out, size, "%s <= %.10g %s", of, budget->limit / units[i].seconds, units[i].unit);
}

/* `off`: how far limit and count may be apart from the truth. A bound that is too high is too high, whatever
 * the hit really took. */
static void decide_max(struct verdict_line *line, const struct column *column, double limit, double off)
{
    double most = line->now.n > 0 ? (double)line->now.max : 0;
    bool bound_is_over = column->at_least > 0 && (double)column->at_least_max - off > limit;
    if (line->now.n > 0)
        line->change = (most - limit) / limit;
    if ((line->now.n > 0 && most - off > limit) || bound_is_over)
        verdict_conclude(line, VERDICT_REGRESSED, "%s",
                         bound_is_over && most - off <= limit ? "a hit with only a lower bound" : "");
    else if (column->at_least > 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "of some hits only a lower bound is known");
    else if (line->now.n == 0)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "no hit that counts");
    else if (most + off > limit)
        verdict_conclude(line, VERDICT_INCONCLUSIVE, "within ± %g of the limit", off);
}

struct verdict_line budget_decide(const struct budget *budget, const struct summary *now, size_t family)
{
    struct verdict_line line = {.verdict = VERDICT_PASS, .change = (double)NAN};
    char name[sizeof line.name];
    budget_put_name(budget, name, sizeof name);
    double hz = now != NULL ? now->conditions.clock_hz : 0;
    double hz_error = now != NULL ? now->conditions.clock_error_hz : 0;
    double limit = budget->is_time ? budget->limit * hz : budget->limit;
    double error = budget->is_time ? budget->limit * hz_error : 0;
    if (now == NULL || now->n == 0 || now->hits == 0) {
        verdict_conclude(&line, VERDICT_INCONCLUSIVE, "not reached");
    } else if (budget->is_time && !(hz > 0)) {
        verdict_conclude(&line, VERDICT_NOT_COMPARABLE, "%s",
                         now->conditions.clock_change[0] != '\0' ? now->conditions.clock_change
                                                                 : "the clock is not known: --freq gives it");
    } else {
        const struct column *column = &now->columns[0];
        const struct verdict_side allowed = {.n = NO_ERROR,
                                             .mean = limit,
                                             .min = (uint64_t)limit,
                                             .max = (uint64_t)limit,
                                             .plus_minus = error};
        struct verdict_side side = verdict_side_of(column);
        if (budget->of == BUDGET_MEAN) {
            line = verdict_decide_among(&allowed, &side, 0, family);
            if (strncmp(line.why, "noise", 5) == 0) /* its advice is about thresholds */
                verdict_conclude(&line, VERDICT_INCONCLUSIVE,
                                 "%" PRIu64 " hits do not decide: more of them may (-r)", side.n);
        } else {
            line.base = allowed;
            line.now = side;
            decide_max(&line, column, limit, side.plus_minus + error);
        }
    }
    snprintf(line.name, sizeof line.name, "%s", name);
    return line;
}
