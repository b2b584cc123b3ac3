/* SPDX-License-Identifier: MIT */
/*
 * Conditions of measurement: as a header line has them, and as the first lines of a result.
 */
#pragma once

#include "measure/result.h"
#include "report/render.h"

/* Of a line `header`, or another with its keys. What it lacks stays as it was. */
void conditions_read(struct conditions *conditions, const json_t *header);
/* Of a `region`, and of a `clock` or a summary's `time`. */
void conditions_read_region(struct conditions *conditions, const json_t *region);
void conditions_read_clock(struct conditions *conditions, const json_t *clock);

/* What is measured and on what, one line each; a third line of text if the run enabled or used something. */
void conditions_write(const struct rendering *to, const struct conditions *conditions);
/* "at 666.7 MHz ±12 kHz (SystemCoreClock)"; false: it is not known. */
bool conditions_clock_text(const struct conditions *conditions, char *out, size_t size);

/* Of a line with `columns` and `metrics`: "~ INST_RETIRED, CPI: erratum 855827: ...", a text for each. */
void conditions_add_errata(struct json_part *list, const json_t *line);
/* "~" in front of a number that the core counts wrongly, else "". */
const char *conditions_mark(const json_t *column);
