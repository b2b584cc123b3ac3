/*
 * What the tables of results show. Each is for the lines of one type.
 */
#pragma once

#include "profile/shares.h"
#include "report/render.h"

/* `share` of `report` and `top` */
const struct view *share_view(enum shares_sort sort);
extern const struct view share_csv;
/* `change` of `report --diff` */
const struct view *change_view(enum shares_sort sort);
const struct view *change_csv(enum shares_sort sort);
/* `line` and `instruction` of `annotate`, below one another; without any lines: instructions alone. */
const struct view *code_view(bool has_lines);
/* `line` of `lines` */
extern const struct view line_view;
/* A column of `delta`'s summary, with its verdict if there is a baseline */
extern const struct view summary_view;
/* One column of `region` of `survey`, with the region's verdicts */
extern const struct view region_view;
