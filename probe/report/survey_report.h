/*
 * survey's result in each format, by its lines: header, regions with their verdicts, summary.
 */
#pragma once

#include "report/page.h"
#include "report/run_report.h"

/* What the words of its tables mean. */
extern const char survey_words[];
report_writer survey_write;
