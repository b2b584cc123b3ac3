/*
 * Comparisons: a run against its baseline. Other hardware, another clock or another region make the two
 * incomparable; otherwise each column gets a verdict. A struct takes several tens of KiB.
 */
#pragma once

#include "measure/verdict.h"
#include "report/baseline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { COMPARISON_LINES = 2 * RESULT_COLUMNS, COMPARISON_REASONS = 8, COMPARISON_NOTES = 4 };

struct comparison {
    char file[256], started[32], build_id[80]; /* the baseline's */
    double threshold;
    enum verdict verdict; /* over all */
    size_t n;
    struct verdict_line lines[COMPARISON_LINES]; /* their names are clean */
    size_t n_reasons;
    char reasons[COMPARISON_REASONS][384]; /* why the two cannot be compared */
    size_t n_notes;
    char notes[COMPARISON_NOTES][384]; /* differences that are allowed */
};

/* `any_elf`: ELF files with different names are allowed. */
void baseline_compare(const struct baseline *baseline, const struct summary *now, double threshold,
                      bool any_elf, struct comparison *out);
/* By the name of the column in a summary; NULL: none. */
const struct verdict_line *comparison_find(const struct comparison *comparison, const char *column);
/* The column of a line; NULL: only the baseline has it. */
const struct column *comparison_column(const struct summary *now, const struct verdict_line *line);

/* Both return false if the output could not be written whole. */
bool comparison_print(FILE *out, const struct comparison *comparison);
bool comparison_json(FILE *out, const struct comparison *comparison); /* one line, type "verdict" */
