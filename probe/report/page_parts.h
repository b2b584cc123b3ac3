/*
 * Parts that the pages of delta, survey and compare share: verdicts as a table, the conditions of
 * measurement, the command that repeats the run, the JSON lines folded in.
 */
#pragma once

#include "measure/result.h"
#include "measure/verdict.h"
#include "report/comparison.h"
#include "report/html.h"
#include "report/plots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* JSON lines that are collected while a command runs, and stand at the end of its page. */
struct page_lines {
    FILE *out; /* to write them to; NULL: not open */
    char *text;
    size_t size;
};
bool page_lines_open(struct page_lines *lines); /* false: out of memory */
void page_lines_free(struct page_lines *lines);

void page_heading(FILE *out, const char *id,
                  const char *text); /* begins a section; fputs("</section>") ends it */
void page_end_section(FILE *out);
/* "regressed", and `text` behind it. */
void page_verdict(FILE *out, enum verdict verdict, const char *text);
/* The class of what has a verdict. */
const char *page_verdict_class(enum verdict verdict);
/* Below a heading: what was measured on what, in a line. */
void page_about(FILE *out, const struct conditions *conditions);
/* `columns` may be NULL. */
void page_conditions(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n);
/* Closes them; `left_out` hits are not in them. False: out of memory. */
bool page_put_lines(FILE *out, struct page_lines *lines, uint64_t left_out);

/* The region, or of a run that has none "". Cut to fit. */
const char *page_region(const char *start, const char *end, char *out, size_t size);

/*
 * Comparisons as one table: a row for each column, with the interval of its change. The scale of the
 * intervals is that of the widest one, so all are looked at before the first is put.
 */
struct page_verdicts {
    struct html_table table;
    double scale; /* the largest change that is drawn, as a part; 0: none */
    bool regions; /* their names stand in the table */
    bool files;   /* of later runs, there are several: their names stand there, too */
    char file[256];
};
void page_verdicts_look(struct page_verdicts *verdicts, const struct comparison *comparison);
void page_verdicts_begin(struct page_verdicts *verdicts, FILE *out, const char *caption);
void page_verdicts_put(struct page_verdicts *verdicts, const struct comparison *comparison);
void page_verdicts_end(struct page_verdicts *verdicts);
/* As items of a list: why the two cannot be compared, and what else differs. */
void page_comparison_notes(FILE *out, const struct comparison *comparison);
