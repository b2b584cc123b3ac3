/*
 * What the tables of results show. A row of another type than its name says is not put into a view.
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
