/* SPDX-License-Identifier: MIT */
/*
 * Results by their lines: which command they are of, and how they are shown in each format.
 */
#pragma once

#include "report/render.h"

struct shown_result {
    const char *command; /* that wrote it */
    unsigned formats;    /* bits of enum format */
    bool needs_summary;  /* a file without one is of a run that was cut off */
    report_writer *write;
};

/* NULL: it is not a result that can be shown. */
const struct shown_result *show_find(const struct document *document);
bool show_has(const struct shown_result *result, enum format format);
