/*
 * What delta --outliers found: a line for each of the slowest hits, with its place, callers and registers,
 * and these lines as text.
 */
#pragma once

#include "measure/result.h"
#include "measure/slow_hits.h"
#include "profile/stack_reader.h"
#include "report/render.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stdio.h>

struct outlier_report {
    struct symbols *symbols;
    const struct summary *summary;
    const struct slow_hits *hits;
    const struct stop_place *places; /* by slot */
    const char *counts_exceptions;   /* the event of this core that would; NULL: it has none */
};

/* A line `outlier` for each; they precede the summary: a run without one was cut off. */
void outlier_lines(struct document *document, const struct outlier_report *report);
/* Of the summary: how to count exceptions, and for how long the core was kept. */
void outlier_summary(struct json_part *summary, const struct outlier_report *report);
/* Below the table, as text. */
void outlier_write(const struct rendering *to, const struct document *document);
