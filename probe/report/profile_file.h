/* SPDX-License-Identifier: MIT */
/*
 * A profile as JSON lines, schema pmu-probe/2: a head, a line for each interval, an end. Each line is flushed
 * at once, so a file without an end is a run that was cut off. docs/pmu-probe.schema.json has the keys.
 */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define PROFILE_SCHEMA "pmu-probe/2"

/* The name of a state in the file, and in what report writes. */
const char *profile_file_state(enum profile_state state);

/* Each writes one line and flushes it. 0, or -errno if the line could not be written whole. */
int profile_file_begin(FILE *out, const struct profile_about *about);
int profile_file_add(FILE *out, const struct profile_interval *interval);
int profile_file_add_contexts(FILE *out, enum profile_context kind, const struct profile_interval *interval);
int profile_file_add_task(FILE *out, uint64_t value, const char *name); /* what the RTOS calls a task */
int profile_file_add_note(FILE *out, const char *text); /* why shares are wrong, or part of the truth */
int profile_file_end(FILE *out, const struct profile_end *end);
/* `result` is that of one of these. */
bool profile_file_wrote(int result, struct error *error);
/* The last line: of a run that failed by `why`, or was cancelled, or whose time was over. */
bool profile_file_conclude(FILE *out, double elapsed_s, uint64_t samples, const struct error *why,
                           bool cancelled, struct error *error);

enum {
    PROFILE_LINE_MAX = 2 * PROFILE_TALLY_BYTES,
    PROFILE_CORES_MAX = 256,
    PROFILE_TASKS_MAX = 1024, /* that have names */
    PROFILE_NOTES_MAX = 64,
    PROFILE_INTERVALS_MAX = 256, /* of a core, in memory: neighbours are merged */
};

/*
 * Reads a file of any length into memory that does not grow with it: neighbouring intervals of a core become
 * one. A file that ends early, also inside a line, is read up to there: end.known is false. Each line is
 * checked, also those of a type that is not known. Texts are clean afterwards. `cancel` may be NULL. On
 * failure *out is NULL, and the error names the file and the line.
 */
bool profile_file_read(const char *path, const volatile sig_atomic_t *cancel, struct profile **out,
                       struct error *error);
/* The same from memory; `path` is for errors. */
bool profile_file_parse(const char *text, size_t size, const char *path, struct profile **out,
                        struct error *error);
void profile_file_free(struct profile *profile); /* NULL is allowed */
