/*
 * delta's result in each format, by its lines: header, hits, outliers, summary, verdict; and compare's: a
 * verdict for each pair of runs.
 */
#pragma once

#include "measure/result.h"
#include "measure/statistics.h"
#include "report/page.h"
#include "report/render.h"

enum { PAGE_HITS = 10000 }; /* this many hits are in the lines of a page; later ones only in what is drawn */

struct delta_report {
    const struct document *document;
    bool begun;                         /* as text: the header is there already */
    const struct page_command *command; /* NULL: it is not known */
};
/* False: out of memory, or the output could not be written whole. */
bool delta_write(const struct rendering *to, const struct delta_report *report);

/* By its line, and the first column. */
void delta_add_time(struct hit_times *times, const json_t *hit, const char *column);

/* `command` NULL: it is not known. False: out of memory, or the output could not be written whole. */
bool compare_write(const struct rendering *to, const struct document *document,
                   const struct page_command *command);
