/*
 * Comparisons: a run against its baseline. First whether the two can be compared at all, which other
 * hardware, another clock or another region rule out; then a verdict a column. Several tens of KiB each.
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
    char notes[COMPARISON_NOTES][384]; /* what differs, and may */
};

/* `any_elf`: even if the two have ELF files of different names. */
void baseline_compare(const struct baseline *baseline, const struct summary *now, double threshold,
                      bool any_elf, struct comparison *out);
/* Of the column that a summary names so; NULL: none. */
const struct verdict_line *comparison_find(const struct comparison *comparison, const char *column);
/* The other way round; NULL: only the baseline counted it. */
const struct column *comparison_column(const struct summary *now, const struct verdict_line *line);

/* Both false when it could not be written whole. */
bool comparison_print(FILE *out, const struct comparison *comparison);
bool comparison_json(FILE *out, const struct comparison *comparison); /* one line, type "verdict" */
