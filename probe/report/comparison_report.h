/*
 * A comparison with a baseline, by its line `verdict`: as text, as Markdown, and as parts of a page.
 */
#pragma once

#include "measure/verdict.h"
#include "report/render.h"

/* "regressed" of a line; of none, and of any other text, "not comparable". */
enum verdict verdict_by_name(const char *name);
enum colour verdict_colour(enum verdict verdict);

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
