/*
 * Histories: the results of many runs of delta, put in order of their time, and the run in which a region
 * became slower or faster. A row is one column of one region on one core.
 */
#pragma once

#include "report/comparison.h"
#include "report/page.h"
#include "report/render.h"

struct history {
    json_t *rows;     /* an object; NULL: there are none */
    size_t files;     /* that were read */
    size_t skipped;   /* that are not results of delta */
    char reason[512]; /* why the first of these was skipped */
};

/* False if memory is out. */
bool history_add(struct history *history, const struct baseline *run);
/* Sorts the runs and searches for changes. All rows together get a false one with at most this chance. */
struct document history_document(const struct history *history, double chance);
void history_free(struct history *history);

/* In every format; `command` may be NULL. False if the output could not be written whole. */
bool history_write(const struct rendering *to, const struct document *document,
                   const struct page_command *command);

/* What else is known of a row: with which counter and clock, what was left out, each step and the trend:
 * "+2.04
 * %, 18,199 to 18,570 since 2026-10-06T23:00:00Z, build abababababab: out/run-17.jsonl". */
struct history_fact {
    char text[1024];      /* "": nothing */
    const json_t *change; /* NULL: it is not of one */
};
