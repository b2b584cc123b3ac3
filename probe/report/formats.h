/* SPDX-License-Identifier: MIT */
/*
 * The formats of results, the first lines of a command's text, and the writer of all CSV.
 */
#pragma once

#include "measure/result.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_CSV,
    FORMAT_MARKDOWN,
    FORMAT_FOLDED,
    FORMAT_CALLGRIND,
    FORMAT_PERF,
    FORMAT_HTML,
    FORMAT_PERFETTO,
    FORMATS
};

/* What is measured and on what, as wide as the terminal. It goes out before the measurement. */
void text_header(FILE *out, const struct conditions *conditions);
/* The writer of all CSV. It quotes a field as RFC 4180 says if the field needs it; lines end in a newline. */
struct csv {
    FILE *out;
    char separator;
    bool begun; /* the line has a field */
};

void csv_field(struct csv *csv, const char *text);
void csv_text(struct csv *csv, const char *text); /* from outside: it is cleaned */
void csv_unsigned(struct csv *csv, uint64_t value);
void csv_end_line(struct csv *csv);
/* "cycles" or "events": what a counter of this name counts. */
const char *unit_of_counter(const char *name);
