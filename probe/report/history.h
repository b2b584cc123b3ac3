/*
 * Histories: the results of many runs of delta, put in order of their time, and the run in which a region
 * became slower or faster. A row is one column of one region on one core.
 */
#pragma once

#include "measure/changes.h"
#include "report/comparison.h"
#include "report/render.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { HISTORY_CHANGES = 16 };

struct history_run {
    char *file, *build_id;
    char started[sizeof((struct baseline *)0)->started];
    struct change_value median; /* of its hits */
};

struct history_row {
    char *start, *end, *core, *column;
    struct history_run *runs; /* in order of time, once history_end was called */
    size_t n, room;
    size_t bounds;   /* runs that are left out, since of some of their hits only a lower bound is known */
    char setup[192]; /* counter, clock and kind of link; runs with another one are another row */
    struct change changes[HISTORY_CHANGES];
    size_t n_changes;
    bool has_trend; /* without a step, the values rise or fall over all runs */
    struct change trend;
};

struct history {
    struct history_row *rows;
    size_t n, room;
    size_t files;     /* that were read */
    size_t skipped;   /* that are no results of delta */
    char reason[512]; /* why the first of these was skipped */
};

/* False if memory is out. */
bool history_add(struct history *history, const struct baseline *run);
/* Sorts the runs and looks for changes. All rows together get a false one with at most this chance. */
bool history_end(struct history *history, double chance);
/* A result that history_json wrote. False if memory is out; it is to be freed all the same. */
bool history_read(struct history *history, const struct document *document);
void history_free(struct history *history);

/* There is a step or a trend. */
bool history_has_changed(const struct history_row *row);
/* Its end is its return. */
bool history_is_function(const struct history_row *row);
/* By how much the level rose, as a part of the one before; NaN: that is 0. */
double history_part_of(const struct change *change);

/* All return false if the output could not be written whole. */
bool history_text(FILE *out, const struct history *history);
struct document history_document(const struct history *history);
bool history_csv(const struct rendering *to, const struct document *document);
bool history_page(FILE *out, const struct history *history);
