/*
 * What delta --outliers prints: each of the slowest hits with its place, callers and registers, as text or as
 * JSON lines. A result is false if the output could not be written whole.
 */
#pragma once

#include "measure/result.h"
#include "measure/slow_hits.h"
#include "profile/stack_reader.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stdio.h>

struct outlier_report {
    FILE *out;
    struct symbols *symbols;
    const struct summary *summary;
    const struct slow_hits *hits;
    const struct stop_place *places; /* by slot */
    const char *counts_exceptions;   /* the event of this core that would; NULL: it has none */
};

/* Behind the summary. */
bool outlier_report_text(const struct outlier_report *report);
/* Before it: a run without a summary was cut off. */
bool outlier_report_json(const struct outlier_report *report);
