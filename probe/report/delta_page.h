/*
 * The page of delta: the headline numbers, how the hits are distributed and when they were, the table, what
 * may be wrong with a hit, the verdicts, the conditions, and the JSON lines. Hits are given to it as they
 * come.
 */
#pragma once

#include "report/comparison.h"
#include "report/hit_times.h"
#include "report/page_command.h"
#include "report/page_parts.h"

enum { PAGE_HITS = 10000 }; /* so many hits are in its JSON lines; later ones only in what is drawn */

struct delta_page {
    struct page_lines lines;
    struct hit_times *times;
    uint64_t left_out;
};

/* Forgets what was before. `columns`: their names. False, as below: out of memory. */
bool delta_page_begin(struct delta_page *page, const struct conditions *conditions,
                      const struct column *columns, size_t n);
/* Of `summary`, the names of the columns are used. */
bool delta_page_hit(struct delta_page *page, const struct hit_result *hit, const struct summary *summary);
void delta_page_free(struct delta_page *page);

struct delta_page_end {
    const struct summary *summary;
    const struct baseline *baseline;     /* NULL: none */
    const struct comparison *comparison; /* with it */
    const struct page_command *command;
    const char *outliers; /* the slowest hits as lines of clean text; NULL or "": none are told */
};
/* False if the output could not be written whole. */
bool delta_page_write(FILE *out, struct delta_page *page, const struct delta_page_end *end);
