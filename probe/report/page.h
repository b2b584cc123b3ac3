/* SPDX-License-Identifier: MIT */
/*
 * The shell of a result's page: title, what was measured on what, verdict; then sections; then conditions,
 * the command that repeats it, and the JSON lines folded in.
 */
#pragma once

#include "report/html.h"
#include "report/run_report.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * The command that made a page, as a shell reads it back.
 */

/* What was typed. */
struct page_command {
    int n;
    char *const *words; /* the first is the program's name */
    const char *probe;  /* of $PMU_PROBE; NULL: it was not used */
    bool has_conf;      /* a pmu-probe.conf was read */
};

struct page {
    const struct rendering *to; /* in other formats than HTML the shell is nothing */
    const char *title;
    const struct conditions *conditions; /* NULL: of files, or of none */
    const char *verdict;                 /* its name; NULL or "": there is none */
    const char *about_verdict;           /* the words after it */
    bool by_budget;                      /* no baseline led to it: budgets did, whose words say why */
    const char *why;                     /* below it; NULL: nothing */
    const json_t *columns;               /* what halts add to them is a condition; NULL: nothing */
    const struct document *document;     /* its lines */
    bool searched;                       /* with the script that searches and zooms */
    uint64_t left_out;                   /* hits that are not in them */
};
void page_begin(const struct page *page);
/* False if the output could not be written whole. */
bool page_end(const struct page *page);

/* A section. */
void page_heading(FILE *out, const char *id, const char *text);
void page_end_section(FILE *out);
/* The region, or of a run that has none "". Cut to fit. */
const char *page_region(const char *start, const char *end, char *out, size_t size);
