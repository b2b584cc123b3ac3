/*
 * Budgets: what a region may cost at most, in cycles or in time. A budget of the maximum is for every hit:
 * one that was seen above it is enough. A budget of the mean is for what the region costs in the long run, so
 * chance is reckoned with, as in a verdict against a baseline. Pure.
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
