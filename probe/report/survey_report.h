/* SPDX-License-Identifier: MIT */
/*
 * survey's result in each format, by its lines: header, regions with their verdicts, summary.
 */
#pragma once

#include "report/page.h"
#include "report/run_report.h"

/* What the words of its tables mean. */
extern const char survey_words[];
report_writer survey_write;

/* Verdicts of the lines `regions`, which have a `name` and may have a `budget`, and of the lines of a
 * comparison with a baseline, of which each may be missing: of a row, as text, on a page. */
void checks_add(struct json_part *row, const json_t *region, const json_t *verdict);
void checks_print(const struct rendering *to, const json_t *regions, const json_t *verdicts,
                  const json_t *summary);
bool checks_page(const struct rendering *to, const json_t *regions, const json_t *verdicts,
                 const json_t *summary);
