/* SPDX-License-Identifier: MIT */
/* The profile of the calls that were over their budget. */
#pragma once

#include "profile/guard.h"
#include "profile/profile.h"
#include "run/budget.h"

#include <stdio.h>

struct overruns {
    FILE *out; /* NULL: no profile is written */
    struct profile_about about;
    struct profile_tally tally;
    struct guard_overrun held; /* an overrun that may turn out to be none */
    bool is_held;
};

bool overruns_begin(struct overruns *self, const struct budget_run *run, struct error *error);
bool overruns_add(struct overruns *self, const struct guard_overrun *overrun, struct error *error);
void overruns_left(struct overruns *self); /* the call of the last one was left */
bool overruns_end(struct overruns *self, const struct guard_result *result, const struct error *why,
                  struct error *error);
void overruns_free(struct overruns *self);
