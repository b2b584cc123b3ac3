/* SPDX-License-Identifier: MIT */
/*
 * Verdicts of a survey: each region against its budget, and against the same region of an earlier run.
 */
#pragma once

#include "measure/verdict.h"
#include "report/comparison.h"
#include "report/survey.h"
#include "run/turns.h"

#include <stdbool.h>

struct survey_judge {
    const struct runs *before; /* NULL: without --baseline */
    double threshold;
    bool checks; /* budgets */
};

/* Into the rows of the survey, one for each region. *budgets: a verdict for each, owned by the caller as are
 * the comparisons. False: out of memory. */
bool survey_judge(const struct survey_judge *self, const struct survey_regions *regions,
                  const struct conditions *conditions, struct survey *survey, struct verdict_line **budgets);
