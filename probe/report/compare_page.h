/*
 * The page of compare: one table of all verdicts, with the interval of each change. It comes in parts, as a
 * comparison is large and there may be thousands: all are looked at, then all are put.
 */
#pragma once

#include "report/page_command.h"
#include "report/page_parts.h"

struct compare_page {
    FILE *out;
    struct page_verdicts verdicts;
    struct page_lines lines, notes;
    size_t n; /* comparisons seen so far */
    enum verdict verdict;
};

/* First, for each. */
void compare_page_look(struct compare_page *page, const struct comparison *comparison);
/* Then these; false: out of memory, or the output could not be written whole. */
bool compare_page_begin(struct compare_page *page, FILE *out);
bool compare_page_put(struct compare_page *page, const struct comparison *comparison);
/* With the last of the JSON lines in `page->lines`. Frees what it holds. */
bool compare_page_end(struct compare_page *page, const struct page_command *command);
void compare_page_free(struct compare_page *page);
