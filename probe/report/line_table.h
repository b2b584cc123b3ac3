/* SPDX-License-Identifier: MIT */
/*
 * What the lines of a function cost, next to their source: as text and as JSON lines. The sum of the lines is
 * set against a measurement of the whole function.
 */
#pragma once

#include "base/values.h"
#include "measure/line_costs.h"
#include "measure/result.h"
#include "profile/annotation.h"
#include "report/page.h"
#include "report/render.h"
#include "symbols/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct line_report {
    struct conditions conditions;
    const struct location *function;
    const struct listing *listing;
    const struct source_text *texts; /* of each file of the listing */
    const struct line_costs *costs;
    const struct summary *whole; /* the function's own measurement */
    bool unframed;               /* calls of one function inside another cannot be distinguished */
    char ended[256];             /* why it ended early; "" */
    char limit[DOUBT_ROOM];      /* why the engine does not prove the lines to be exact; "" */
};

/* The lines below the header. */
void line_report_lines(struct document *document, const struct line_report *report);
/* By these lines. */
report_writer line_write;
