/* SPDX-License-Identifier: MIT */
/*
 * compare OLD NEW [...]: results that delta wrote, or profiles of record, against each other. No target is
 * touched. What it shares with delta --baseline: the allowed increase, and the exit code of a verdict.
 */
#pragma once

#include "commands/command.h"
#include "measure/verdict.h"

/* --threshold, or 0 without it. */
bool verdicts_threshold(const struct options *options, double *out, struct error *error);
int verdicts_exit_code(enum verdict verdict);

/* compare of two profiles. */
bool compare_profiles(const struct context *context, struct error *error);
