/*
 * What editors show of a region: its verdicts, at the line where it begins, or what it costs. Rows for
 * text_gcc.
 */
#pragma once

#include "report/run_report.h"

/* False: out of memory. */
bool editor_add_run(json_t *rows, const struct run_lines *run);
/* A text at a place, with keys as `file` and `source` ("fir.c:42"); `bad`: a warning. */
bool editor_add(json_t *rows, const char *file, const char *source, const char *text, bool bad);
