/*
 * What guard prints: a header, each overrun with its place, registers and stack, and a last word; as text or
 * as JSON lines. `symbols` names the places. A result is false if the output could not be written whole.
 */
#pragma once

#include "measure/result.h"
#include "profile/guard.h"
#include "report/counts.h"
#include "symbols/symbols.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct guard_report {
    FILE *out;
    enum format format; /* text or JSON */
    struct symbols *symbols;
    const char *event; /* "CPU_CYCLES" */
    const char *way;   /* how the core is stopped: "DWT cycle match" */
    uint64_t budget;
    double budget_s; /* as the user gave it; 0: in events */
    bool keeps;
};

bool guard_report_begin(const struct guard_report *report, const struct conditions *conditions);
bool guard_report_overrun(const struct guard_report *report, const struct guard_overrun *overrun);
bool guard_report_returned(const struct guard_report *report, uint64_t number, uint64_t counted);
bool guard_report_left(const struct guard_report *report, uint64_t number);
bool guard_report_end(const struct guard_report *report, const struct guard_result *result);
