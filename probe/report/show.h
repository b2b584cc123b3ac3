/* SPDX-License-Identifier: MIT */
/*
 * Results by their lines: which command they are of, and how they are shown in each format.
 */
#pragma once

#include "report/render.h"

struct shown_result {
    const char *command; /* that wrote it */
    unsigned formats;    /* bits of enum format */
    const char *last; /* type of a line: a file without one is of a run that was cut off; NULL: any may be */
    report_writer *write;
};

/* NULL: it is not a result that can be shown. */
const struct shown_result *show_find(const struct document *document);
/* Bits of enum format: not each result of a command has all. */
unsigned show_formats(const struct shown_result *result, const struct document *document);
