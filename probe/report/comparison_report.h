/* SPDX-License-Identifier: MIT */
/*
 * A comparison with a baseline, by its line `verdict`: as text, as Markdown, and as parts of a page.
 */
#pragma once

#include "measure/verdict.h"
#include "report/render.h"

/* "regressed" of a line; of none, and of any other text, "not comparable". */
enum verdict verdict_by_name(const char *name);
enum verdict line_verdict(const json_t *line); /* of its `verdict` */
const char *line_verdict_name(const json_t *line);
enum colour verdict_colour(enum verdict verdict);

/* One verdict: of a column, or of a region's budget. */
struct check {
    const char *name, *verdict;
    const json_t *line, *run;
    bool is_budget;
    double threshold;
};
/* The i-th of a run, which may be NULL, with its line `verdict`; false: there are no more. */
bool check_take(const json_t *run, const json_t *verdict, size_t i, struct check *out);
/* What it found: "69.58 µs (835 cycles)" or "1,200 -> 1,236 +3.00 %". */
void check_numbers(const struct check *check, char *out, size_t size);
/* "over the budget", "regressed (threshold 2 %)", "inconclusive: not reached" */
void check_words(const struct check *check, char *out, size_t size);
/* All of it: "CPU_CYCLES: 1,200 -> 1,236 +3.00 %: regressed (threshold 2 %)" */
void check_text(const struct check *check, char *out, size_t size);
/* Adds what AS_VERDICT shows of a column's line; reasons of the whole comparison follow elsewhere. */
void check_put(struct json_part *row, const json_t *verdict, const json_t *line);
/* Adds an object of a list with AS_VERDICT. */
void check_append(struct json_part *row, json_t *list, const char *before, const char *verdict,
                  const char *words, const char *why);

/* Of text: a line for each column, what differs, and the verdict. Of Markdown: a list without the columns. */
void comparison_write(const struct rendering *to, const json_t *verdict);

/* Where the changes lie is drawn on one scale: that of the widest of all. */
void comparison_widen(double *scale, const json_t *verdict);
/* Rows of verdict_view. `region`: what the first cell says, "": nothing. False: out of memory. */
bool comparison_add_rows(json_t *rows, const json_t *verdict, const char *region, double scale);
/* Of a page: a table of such rows. */
bool comparison_put_table(FILE *out, json_t *rows, const char *caption, double scale);
/* "against main.jsonl of 2026-11-20, build c0ffee, threshold 2 %" */
void comparison_against_text(const json_t *verdict, char *out, size_t size);
/* As items of a list: why the two cannot be compared, and what else differs. */
void comparison_put_items(FILE *out, const json_t *verdict);
