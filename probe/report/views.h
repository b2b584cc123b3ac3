/* SPDX-License-Identifier: MIT */
/*
 * What the tables of results show. Each is for the lines of one type.
 */
#pragma once

#include "profile/shares.h"
#include "report/render.h"

/* `share` of `report` and `top` */
const struct view *share_view(enum shares_sort sort);
extern const struct view share_csv;
/* `calls` of a `core` */
extern const struct view call_view;
/* `change` of `compare` of profiles */
const struct view *change_view(enum shares_sort sort);
const struct view *change_csv(enum shares_sort sort);
/* `line` and `instruction` of `annotate`, below one another; without any lines: instructions alone. */
const struct view *code_view(bool has_lines);
extern const struct view code_csv;
/* `line` of `lines` */
extern const struct view line_view;
extern const struct view line_csv;
/* A counter of a window, of `stat`; of a core of several */
extern const struct view counts_csv, cores_csv;
/* Of the live screens. */
extern const struct view top_view, top_file_view, watch_view;
/* A row of a run (run_report.h): a column, the time, a metric */
extern const struct view summary_view;
extern const struct view run_csv;
/* One column of `region` of `survey` */
extern const struct view region_view;
extern const struct view region_csv;
/* Its verdicts, on a page */
extern const struct view check_view;
/* A column of a `verdict`, on a page */
extern const struct view verdict_view;
/* `interrupt` of `irq`, `task` of `tasks` */
extern const struct view interrupt_view, interrupt_csv, task_view, task_csv;
/* Groups of facts, of `info`, `list`, `probes` and `doctor`; CSV has the name of the group, too. */
struct view facts_view(const char *command, enum format format);
