/* SPDX-License-Identifier: MIT */
/*
 * The run of one region in every format: the result of delta, a region of a survey, a side of a comparison.
 * All is read from its JSON lines.
 */
#pragma once

#include "measure/result.h"
#include "report/render.h"

struct run_lines {
    json_t *summary;       /* of delta, or a survey's region; NULL: only the comparison has numbers */
    const json_t *verdict; /* against a baseline; NULL: there is none */
    struct conditions conditions;
};

/* Any of them may be NULL. */
struct run_lines run_lines(const json_t *header, json_t *summary, const json_t *verdict);

/* Its first column, and its name; NULL: it has none. */
json_t *run_first(const json_t *summary, const char **name);
bool run_is_counted(const json_t *column);
/* What it counts: "cycles" or "events". */
const char *run_counted_in(const json_t *summary);
/* Whether each count of a summary, or of a survey's region, is proved to be exact. */
bool run_is_exact(const json_t *result);
/* A row of a column for the views: numbers as in the line, and as people read them. `column` may be NULL. */
struct json_part run_column_row(const json_t *summary, const char *name, json_t *column);
/* Adds to what CSV says of a row's numbers: `doubt`, with `before` before it, unless it is "". */
void run_add_doubt(struct json_part *row, const char *before, const char *doubt);
/* Of a counted column. False: it is an upper bound, for what halts add is not known, or to less than half of
 * it. */
bool run_median(const json_t *column, uint64_t *median);
/* Half of the 95 % interval of its mean; 0: nothing varies, or it is not known. */
double run_mean_error(const json_t *column);
/* "464.2 ±3.1" */
void run_mean_text(char *out, size_t size, const json_t *column);

/* Texts of one line each: how many hits in what time, why it ended early, what was left out. */
void run_facts(struct json_part *list, const struct run_lines *run);
/* What the words of its table mean. */
#define RUN_EACH       "how far one hit may be off, as halts' costs differ; "
#define RUN_MEAN_ERROR "mean ±: its 95 % interval; "
extern const char run_words[];

/* Adds its rows, with verdicts if it has some and `compared`. */
bool run_add_rows(const struct run_lines *run, bool compared, json_t *rows);
/* The rows that have one of these keys, as CSV. Frees the rows. */
bool run_write_csv(const struct rendering *to, json_t *rows, const char *keys);
/* The table, and what is below it, without verdicts. */
bool run_write_table(const struct rendering *to, const struct run_lines *run);
/* A part of Markdown: title, table, facts, verdict. */
bool run_write_markdown(const struct rendering *to, const struct run_lines *run);
