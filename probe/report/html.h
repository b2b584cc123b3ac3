/* SPDX-License-Identifier: MIT */
/*
 * Parts of a page in one file, which shows nothing from outside and runs nothing but its own scripts, without
 * which it is as readable: the head with its style, texts, tables. Each text may hold any bytes, and stays a
 * text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { HTML_TEXT = 2048 }; /* of a text, this many bytes at most */

void html_text(FILE *out, const char *text);
/* A text of any length that is clean UTF-8 already, such as a JSON line. */
void html_clean(FILE *out, const char *text);
/* With a blank before it. */
void html_attribute(FILE *out, const char *name, const char *value);
/* <tag class="...">text</tag>; `class` NULL: none. */
void html_element(FILE *out, const char *tag, const char *class, const char *text);

/* The class of what has a verdict. */
const char *html_verdict_class(const char *verdict);
/* Up to the heading; the title is the heading, too. `searched`: with the script that searches and zooms,
 * where the page has an element for it; else the page has the style of plots. Headings of tables sort in
 * both. */
void html_begin(FILE *out, const char *title, bool searched);
void html_end(FILE *out, bool searched);

struct html_table {
    FILE *out;
    const char *const *columns;
    size_t n;
    size_t texts;   /* the number of columns at the left that are texts; */
    size_t numbers; /* of those after them that are numbers; the last ones are texts again */
    bool named;     /* the first column names its row */
    size_t at;      /* of the next cell */
    bool in_row;
};

/* `class` is the table's. */
void html_table_begin(struct html_table *table, const char *class, const char *caption);
void html_row(struct html_table *table, const char *class); /* begins a row; NULL: no class */
/* The next cell of the row; `mark` is a further class, NULL: none. */
void html_cell(struct html_table *table, const char *mark, const char *text);
/* In place of the numbers of the next `columns`, a text that wraps. */
void html_cell_over(struct html_table *table, size_t columns, const char *text);
/* A cell that holds more than a text: what is between the two is written to `out`. */
void html_cell_begin(struct html_table *table, const char *mark);
void html_cell_end(struct html_table *table);
void html_table_end(struct html_table *table);
