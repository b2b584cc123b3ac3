/* SPDX-License-Identifier: MIT */
/*
 * How the hits of a column lie: the `distribution` of a column in the JSON lines as bins of a plot, and as
 * text. Without one all hits are alike.
 */
#pragma once

#include "measure/statistics.h"
#include "report/document.h"

/* Values far off, which are in no bin. */
struct outliers histogram_outliers(const json_t *column);
/* Appends "40 hits from 81 to 837" of those that are drawn. Returns how many are not. */
uint64_t histogram_says(const json_t *column, char *out, size_t size);
/* At most `room` bins of equal width, empty ones included; how many there are. The same for both orders of
 * two columns, so that one can be drawn over the other; `other` may be NULL. */
size_t histogram_bins(const json_t *column, const json_t *other, struct histogram_bin *out, size_t room);
/* Few hits are listed, more are bars. `columns`: where a line folds. */
void histogram_print(FILE *out, size_t columns, const char *name, const json_t *column);
