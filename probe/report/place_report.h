/* SPDX-License-Identifier: MIT */
/*
 * Where a core is halted: its place in the program, the callers, its registers; as text and as parts of JSON
 * lines. What delta --outliers found, and what guard prints, are such places. `symbols` names the places. A
 * result is false if the output could not be written whole.
 */
#pragma once

#include "measure/delta.h"
#include "measure/result.h"
#include "profile/guard.h"
#include "profile/stacks.h"
#include "report/document.h"
#include "report/formats.h"
#include "report/render.h"
#include "symbols/symbols.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PLACE_ROOM = 1400 };

/* "main.c:88 (step+0x12)". Not cleaned. */
void place_name(struct symbols *symbols, uint64_t address, char out[PLACE_ROOM]);

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

/* Its lines as text, one after the other. */
struct guard_view {
    FILE *out;
    size_t columns;
    char clock[256];
    /* Of its first line */
    char event[96];
    uint64_t budget;
    double each_s; /* of an event, if the budget was given in time; else 0 */
    bool wrong;    /* the core counts it wrongly */
};
/* What its clock is. */
void guard_view_set(struct guard_view *view, const struct conditions *conditions);
void guard_put_line(struct guard_view *view, const json_t *line);

struct guard_report {
    FILE *out;
    enum format format; /* text or JSON */
    struct symbols *symbols;
    const char *event;  /* "CPU_CYCLES" */
    const char *errata; /* by which the core counts it wrongly; "" */
    const char *way;    /* how the core is stopped: "DWT cycle match" */
    uint64_t budget;
    const char *doubt; /* why what is counted of its calls is not proved; for guard_report_end */
    double budget_s;   /* as the user gave it; 0: in events */
    bool keeps;
    struct guard_view view;
};

bool guard_report_begin(struct guard_report *report, const struct conditions *conditions);
bool guard_report_overrun(struct guard_report *report, const struct guard_overrun *overrun);
bool guard_report_returned(struct guard_report *report, uint64_t number, struct guard_count counted,
                           bool unproved);
bool guard_report_left(struct guard_report *report, uint64_t number);
bool guard_report_end(struct guard_report *report, const struct guard_result *result);
