/*
 * Budgets: what a region may cost at most, in cycles or in time. For a budget of the maximum one hit above it
 * is enough; for one of the mean chance is reckoned with, as in a verdict against a baseline. Pure.
 */
#pragma once

#include "measure/result.h"
#include "measure/verdict.h"

#include <stdbool.h>
#include <stddef.h>

struct budget {
    enum { BUDGET_NONE, BUDGET_MAX, BUDGET_MEAN } of;
    double limit; /* cycles, or seconds */
    bool is_time;
};

/* Whether the region's first column keeps within the budget; `name` is the budget as text. `now` NULL: it has
 * no hit. `family`: the number of verdicts made together. */
struct verdict_line budget_decide(const struct budget *budget, const struct summary *now, size_t family);
