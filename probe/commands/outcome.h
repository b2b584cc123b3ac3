/*
 * Outcome: what a run of `delta` ends in: its summary in the format that was asked for and, with --baseline,
 * the comparison with an earlier run and the exit code that follows from it.
 */
#pragma once

#include "commands/command.h"
#include "measure/result.h"

#include <stdbool.h>

struct outcome_check; /* what to compare with, read before anything is measured */

/* *out is NULL without --baseline. False: the baseline or the threshold cannot be used. */
bool outcome_begin(const struct context *context, struct outcome_check **out, struct error *error);
void outcome_free(struct outcome_check *check); /* NULL is allowed */
/* Writes the summary and the comparison; false when it could not be written. *code is left alone without a
 * baseline. */
bool outcome_write(const struct context *context, const struct summary *summary, struct outcome_check *check,
                   int *code);
