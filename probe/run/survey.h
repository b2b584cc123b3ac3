/* SPDX-License-Identifier: MIT */
/*
 * A survey whole: which functions, the hottest first, their turns, and what is known of them afterwards.
 */
#pragma once

#include "measure/result.h"
#include "report/canvas.h"
#include "run/counting.h"
#include "run/region.h"
#include "run/session.h"
#include "run/survey_judge.h"
#include "run/turns.h"

#include <stdbool.h>
#include <stdio.h>

struct survey_run {
    struct session *session;
    struct progress *progress;
    struct conditions *conditions;
    bool keeps_order; /* what is asked for is compared, or written down: no function is left out for time */
    bool compares;    /* with a baseline */
    void *context;
    bool (*begin)(void *context, struct error *error); /* of the caller: before the first turn */
    struct region_file file;
    struct survey_regions regions;
    struct heat heat;
    struct turns turns;
    struct counting counting;
    struct error none; /* of the functions was reached */
};

/* By patterns, or the file's regions; neither: request->hot functions are found later. Before the target is
 * touched. */
bool survey_run_choose(struct survey_run *run, const char *const *patterns, size_t n, const char *file,
                       struct error *error);
/* The target is known, and not taken. */
bool survey_run_measure(struct survey_run *run, struct error *error);
bool survey_run_has_hits(const struct survey_run *run);
/* `why` it ended: readings that mean nothing must not end in a table. */
bool survey_run_has_result(const struct survey_run *run, const struct error *why);
/* None of those that were reached has a number. */
bool survey_run_is_tainted(const struct survey_run *run);
/* Its lines, and the verdict over all; of what is not judged that is a pass. False: out of memory. */
bool survey_run_lines(struct survey_run *run, const struct survey_judge *judge, const char *ended,
                      struct document *document, enum verdict *verdict);
/* The regions that were reached as a region file, each with a budget. False: it could not be written. */
bool survey_run_write_regions(const struct survey_run *run, FILE *out);
void survey_run_free(struct survey_run *run);
