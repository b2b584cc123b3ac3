/*
 * compare OLD NEW [...]: results that delta wrote, against each other. No target is touched. What it shares
 * with delta --baseline: the allowed increase, the files that must not be one, and the exit code of a
 * verdict.
 */
#pragma once

#include "commands/command.h"
#include "measure/verdict.h"

/* --threshold, or 0 without it. */
bool verdicts_threshold(const struct options *options, double *out, struct error *error);
/* By device and inode: names may be links. Either may be NULL. */
bool verdicts_are_same_file(const char *one, const char *other);
/* Whether --baseline, what belongs to it, and -o go together. */
bool verdicts_check(const struct options *options, struct error *error);
int verdicts_exit_code(enum verdict verdict);
