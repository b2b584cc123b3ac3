/*
 * The formats of a summary: text for people; CSV, JUnit XML and Markdown for other programs. Names may hold
 * any bytes: nothing in them is taken as part of the format. Each `comparison` may be NULL, and a result is
 * false if the output could not be written whole.
 */
#pragma once

#include "measure/result.h"
#include "report/comparison.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Text. The header goes out before the measurement, the summary after it. Both are as wide as the terminal,
 * or 80 columns. */

/* What is measured and on what, one line each; a third line if the run enabled or used something. */
void text_header(FILE *out, const struct conditions *conditions);
/* The table, then the footer. */
void text_summary(FILE *out, const struct summary *summary);

/* The same for a line width of `columns`. */
void text_header_within(FILE *out, const struct conditions *conditions, size_t columns);
void text_summary_within(FILE *out, const struct summary *summary, size_t columns);

/* The last block of a summary: how many hits in what time, why the run ended early, which hits were left out,
 * and how the hits are distributed. */
void footer_print(FILE *out, const struct summary *summary, size_t columns);
/* The facts of that block one by one, without the distribution. */
void footer_facts(const struct summary *summary, void (*put)(void *context, const char *fact), void *context);

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
 * median; a metric has a mean only. */

bool csv_summary(FILE *out, const struct summary *summary, const struct comparison *comparison,
                 char separator);

/* JUnit XML, which every CI shows: one suite, a case for each column. A case fails if its column regressed.
 * It has an error if it is not comparable, and is skipped if nothing else is known: inconclusive, not
 * supported, not counted. Properties say what was measured on what. */
bool junit_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
/* Any number of suites between the two. */
void junit_begin(FILE *out);
void junit_suite(FILE *out, const struct summary *summary, const struct comparison *comparison);
bool junit_end(FILE *out);

/* Markdown for a comment or a job's summary page: what was measured on what, and a table as GitHub draws it.
 */
bool markdown_summary(FILE *out, const struct summary *summary, const struct comparison *comparison);
