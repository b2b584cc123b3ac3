/*
 * The formats of a summary for other programs: CSV, JUnit XML and Markdown. Names may hold any bytes: nothing
 * in them is taken as part of the format. In all of them `comparison` may be NULL, and the result is false if
 * the output could not be written whole.
 */
#pragma once

#include "measure/result.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The writer of all CSV. It quotes a field as RFC 4180 says if the field needs it; lines end in a newline. */
struct csv {
    FILE *out;
    char separator;
    bool begun; /* the line has a field */
};

void csv_field(struct csv *csv, const char *text);
void csv_text(struct csv *csv, const char *text); /* from outside: it is cleaned */
void csv_unsigned(struct csv *csv, uint64_t value);
void csv_end_line(struct csv *csv);

/* A summary in the manner of perf's -x: a heading, then a line for each column, with its verdict if there is
 * a comparison. Reals read back as they were. A column without a number has perf's words in place of its
 * median. */

bool csv_summary(FILE *out, const struct summary *summary, const struct comparison *comparison,
                 char separator);

/* JUnit XML, which every CI shows: one suite, a case for each column. A case fails if its column regressed.
 * It is skipped if there is no verdict: inconclusive, not supported, not counted. Properties say what was
 * measured on what. */
bool junit_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);

/* Markdown for a comment or a job's summary page: what was measured on what, and a table as GitHub draws it.
 */
bool markdown_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
