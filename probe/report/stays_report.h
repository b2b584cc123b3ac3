/* SPDX-License-Identifier: MIT */
/*
 * Results of irq and tasks in each format: header, a line `interrupt` or `task` for each, summary; and as a
 * timeline in Chrome's trace-event JSON, a track for each, which is written while it goes on.
 */
#pragma once

#include "measure/stays.h"
#include "measure/verdict.h"
#include "report/render.h"

struct stays_line {
    const char *name;
    const struct stay_row *row;        /* NULL: it never ran */
    const struct verdict_line *budget; /* NULL: it has none */
};

struct stays_result {
    bool of_word;
    const struct conditions *conditions;
    const struct stays *stays;
    uint64_t thread, between; /* cycles of no row */
    const struct stays_line *lines;
    size_t n;
    double seconds;
    const char *where, *word, *ended; /* "": none */
    const char *verdict;              /* NULL: nothing is judged */
};

extern const char stays_words[];
/* A row has times, or there is none. */
bool stays_have_numbers(const struct stays_result *result);
/* The lines below the header. */
void stays_lines(struct document *document, const struct stays_result *result);
report_writer stays_write;

/* A timeline; false: it could not be written. */
struct timeline {
    FILE *out;
    double hz; /* 0: not known, and a cycle is shown as 1 µs */
    bool ok;
    uint64_t events;
};
void timeline_begin(struct timeline *timeline, const struct conditions *conditions);
void timeline_name(struct timeline *timeline, uint32_t track, const char *name);
void timeline_stay(struct timeline *timeline, const struct trace_stay *stay);
void timeline_lost(struct timeline *timeline, uint64_t cycles);
report_writer timeline_end;
