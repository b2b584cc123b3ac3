/*
 * What guard prints: a header, each overrun with its place, registers and stack, and a last word; as text or
 * as JSON lines. `symbols` names the places. A result is false if the output could not be written whole.
 */
#pragma once

#include "measure/result.h"
#include "profile/guard.h"
#include "report/formats.h"
#include "symbols/symbols.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Its lines as text or for editors, one after the other. */
struct guard_view {
    FILE *out;
    enum format format;
    size_t columns;
    char guarded[REGION_NAME], clock[256];
    /* Of its first line */
    char event[96];
    uint64_t budget;
    double each_s; /* of an event, if the budget was given in time; else 0 */
};
/* What its function and clock are. */
void guard_view_set(struct guard_view *view, const struct conditions *conditions);
/* False: out of memory. */
bool guard_put_line(struct guard_view *view, const json_t *line);

struct guard_report {
    FILE *out;
    enum format format; /* text or JSON */
    struct symbols *symbols;
    const char *event; /* "CPU_CYCLES" */
    const char *way;   /* how the core is stopped: "DWT cycle match" */
    uint64_t budget;
    double budget_s; /* as the user gave it; 0: in events */
    bool keeps;
    struct guard_view view;
};

bool guard_report_begin(struct guard_report *report, const struct conditions *conditions);
bool guard_report_overrun(struct guard_report *report, const struct guard_overrun *overrun);
bool guard_report_returned(struct guard_report *report, uint64_t number, uint64_t counted);
bool guard_report_left(struct guard_report *report, uint64_t number);
bool guard_report_end(struct guard_report *report, const struct guard_result *result);
