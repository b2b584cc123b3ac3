/* SPDX-License-Identifier: MIT */
/*
 * Comparisons: a run against its baseline, an earlier run. Both are read from their JSON lines. Other
 * hardware, another clock or another region make the two incomparable; otherwise each column gets a verdict.
 */
#pragma once

#include "base/error.h"
#include "measure/result.h"
#include "measure/verdict.h"
#include "report/document.h"
#include "report/terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A run, by its lines. Those of a file are not trusted: its columns are bounded, and what is compared of them
 * are counts. */
struct baseline {
    char file[256];               /* "": it has just ended */
    bool is_named;                /* its region is named in the comparison, as that of a file always is */
    bool missing;                 /* the file lacks the region: no lines, and the region's names alone */
    const json_t *unreached;      /* of a missing one: its line, of a survey that did not reach it; NULL */
    json_t *header, *summary;     /* of a survey its region; NULL: none */
    struct conditions conditions; /* of these lines; clean */
};
void baseline_free(struct baseline *run);
/* One that has just ended. False: out of memory; it is to be freed all the same. */
bool baseline_live(struct baseline *out, const struct summary *run);

/* ERROR_USAGE: the file is not there, not JSON, no summary (a run that was cut off), another schema. `path`
   may be a pipe; `cancel`, which may be NULL, ends the wait for its other end. */
bool baseline_read(const char *path, const volatile sig_atomic_t *cancel, struct baseline *out,
                   struct error *error);
/* The same for the bytes of a file; `path` is for messages. */
bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error);

/* A file of several runs, one after the other, each of another region. */
struct runs_index { /* a hash table, by regions */
    struct runs_slot {
        uint64_t hash;
        size_t which; /* from 1; 0: free */
    } * slots;
    size_t n, room;
};
struct runs {
    char file[256];
    bool is_profile; /* it is what record wrote, and an error */
    size_t n, room;
    struct baseline **of; /* owned */
    json_t *unreached;    /* lines of regions without a hit; NULL: there are none */
    struct runs_index of_region, of_unreached;
    const struct baseline *twin; /* the first run of a region that another one has; NULL */
};
/* Errors as baseline_read; also if two of the runs are of one region. Free with runs_free, after an error
 * too. */
bool runs_read(const char *path, const volatile sig_atomic_t *cancel, struct runs *out, struct error *error);
bool runs_parse(const char *text, size_t size, const char *path, struct runs *out, struct error *error);
void runs_free(struct runs *runs);
/* The run of a region, as its conditions name it; NULL: the file lacks it. */
const struct baseline *runs_find(const struct runs *runs, const struct conditions *wanted);
/* In place of the run of a region, as `like` names it, that the file lacks. */
struct baseline runs_missing(const struct runs *runs, const struct conditions *like);
bool runs_are_of_one_region(const struct conditions *one, const struct conditions *other);

/* The line `verdict` of both. `family`: how many columns all verdicts of the command have. */
size_t baseline_columns(const struct baseline *run);
struct json_part runs_compare(const struct baseline *before, const struct baseline *now, double threshold,
                              size_t family);
/* Adds the later run to it, as its file has it. */
void comparison_add_run(struct json_part *line, const struct baseline *now);
/* Each later file with the first: lines `verdict`, and a `summary`. Returns the verdict over all. */
enum verdict comparison_make(const struct runs *files, size_t n, double threshold, struct document *document);
