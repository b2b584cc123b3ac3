/* SPDX-License-Identifier: MIT */
/*
 * Counts over time windows, as `stat` and `watch` show them, by their lines: `sample` and `summary` of one
 * core; with -a `cpu`, `core` and `all`, then a `summary`. Text in perf's manner, CSV.
 */
#pragma once

#include "measure/result.h"
#include "report/number.h"
#include "report/render.h"

struct counts_report {
    struct rendering to;
    const json_t *header;
    bool of_cores;    /* -a */
    bool has_totals;  /* as text: a line for each counter and interval, with its total since the begin */
    bool bounds_told; /* the meaning of ">=" was printed */
    bool errata_told; /* and of "~" */
    bool sleep_told;  /* and that the core was asleep */
    struct {
        uint64_t count;
        bool at_least;
    } totals[RESULT_COLUMNS];
};

/* All false when the output cannot be written, or memory is out. The header, then the lines as they are
 * known: those of a table of cores at once. */
bool counts_begin(const struct counts_report *report);
bool counts_put(struct counts_report *report, const struct document *lines);
/* All of it. */
bool counts_show(const struct rendering *to, const struct document *document);

/* Counts a second */
double counts_rate(const json_t *column);
const char *counts_rate_text(char out[NUMBER_ROOM], const json_t *column);
/* ">=": it may be more; or "". `line`: that of the column. */
const char *counts_rate_mark(const json_t *line, const json_t *column);
/* What perf prints in the place of a number; NULL: there is one. */
const char *counts_missing(const json_t *column);
/* Of a line's metrics: "1.25", "~1.25" of one that rests on a wrong count, or "<not counted>". */
enum { COUNTS_METRIC = NUMBER_ROOM + 1 };
char *counts_metric(char out[COUNTS_METRIC], const json_t *line, const char *name);
