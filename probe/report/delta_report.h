/* SPDX-License-Identifier: MIT */
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

report_writer delta_write;

/* By its line, and the first column. */
void delta_add_time(struct hit_times *times, const json_t *hit, const char *column);
/* Of a run that becomes a page, by its line, which is taken, and the first column. */
void delta_keep_hit(struct document *document, struct hit_times *times, struct json_part hit,
                    const char *column);

report_writer compare_write;
