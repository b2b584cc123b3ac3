/*
 * survey's result in each format, by its lines: header, regions with their verdicts, summary.
 */
#pragma once

#include "report/page.h"
#include "report/run_report.h"

struct survey_report {
    const struct document *document;
    bool begun;                         /* as text: the header is there already */
    const struct page_command *command; /* NULL: it is not known */
};
/* What the words of its tables mean. */
extern const char survey_words[];
/* False: out of memory, or the output could not be written whole. */
bool survey_write(const struct rendering *to, const struct survey_report *report);
