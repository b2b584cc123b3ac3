/* SPDX-License-Identifier: MIT */
/*
 * Results for people and spreadsheets: lines of a document as text, CSV, Markdown and HTML. What a table
 * shows is a view, which is data: which keys, under which heading, and how. This file knows formats, and no
 * result.
 */
#pragma once

#include "report/document.h"
#include "report/formats.h"
#include "report/terminal.h"

/* How a value is written for people. CSV has it as it is. */
enum as {
    AS_TEXT,
    AS_NAME,    /* a text that may be wider than its column; of a row with a `state`, that in brackets. In
                   the first column of a view that folds, on a line alone then. */
    AS_CODE,    /* the last column: a terminal cuts it; of facts it folds */
    AS_VERDICT, /* objects with `verdict`, `before` and `why` around it, and `bad` */
    AS_SPARK,   /* of a page: the `distribution` of the row, small */
    AS_BAR,     /* of a page: an object with `low`, `high`, `at`, `limit`, `scale` and `verdict` */
    AS_METER,   /* of a view that cuts: a part of 1 as a bar, or a list of rates, null where none is known */
    AS_PLACE,   /* at the right: a number of a line, an address */
    AS_COUNT,   /* 18,204 */
    AS_MEAN,    /* 18,204 or 94.25 */
    AS_CHANGE,  /* +0.15 % */
    AS_SHARE,   /* 41.77 % */
    AS_HEAT,    /* the same, and on a page the hotter the darker */
    AS_POINTS,  /* the error of a share: 0.55 */
    AS_STEP,    /* the change of a share: +0.15 */
};

struct view_column {
    const char *key;     /* as of field_of */
    const char *heading; /* of CSV: what the field is called */
    enum as as;
    const char *needs; /* of a number: a key, and without a number above 0 there the cell is empty */
    const char *none;  /* where there is no value; NULL: "" */
    const char *mark;  /* a key: "~" is in front where it is there, and not false */
    const char *part;  /* of a page: a key, whose part of 1 is drawn before the text */
    const char *only; /* a key: without a row where it is there and not false, people do not see the column */
    size_t least, gap; /* of text: the least width, and the blanks before it, 0: two */
    size_t most;       /* of a view that cuts: the greatest width; 0: any */
    unsigned spare;    /* of text: where lines have no room, that with 1 is left out first; 0: never */
    bool below;        /* of text: where the lines have no room it follows on a line below its row */
    bool wide, narrow; /* not of text, for whose lines it is too much; of text alone */
    bool optional;     /* of CSV: without any value that field is left out; for people that always holds */
};

struct view {
    const struct view_column *columns;
    size_t n;
    const char *class, *caption; /* of a page */
    bool folds;                  /* of text: rows that are too wide become blocks */
    bool cuts;          /* of text: a row is one line: names are cut, a meter takes what room is left */
    const char *group;  /* a key: rows with the same text there follow each other below a heading with it */
    const char *reason; /* a key: what the row has in place of numbers that it lacks */
    const char *faint;  /* a key: where it is there and not false the row is of less weight */
    /* A row with a text at `group` is the heading of those that follow, and no more. Text has that heading
     * alone, and folds the last column. */
    bool facts;
};

struct rendering {
    FILE *out;
    enum format format;
    size_t columns;                     /* of text: where it folds */
    bool uncut;                         /* of text: the last column stays whole */
    char separator;                     /* of CSV */
    bool goes_on;                       /* of CSV: the heading is there already */
    bool explains;                      /* -v: what the words of a table mean is below it */
    bool begun;                         /* as text or JSON: the header is there already */
    const struct page_command *command; /* of a page; NULL: it is not known */
};

/* Shows a result by its lines. False: out of memory, or the output could not be written whole. */
typedef bool report_writer(const struct rendering *to, const struct document *document);

/* False: out of memory. That all could be written is checked with the output. `rows` are freed; NULL: false.
 */
bool render_table(const struct rendering *to, const struct view *view, json_t *rows);
/* Of a view that cuts: its heading and its rows, a line each. NULL: out of memory. To be freed. */
char *render_lines(const struct view *view, json_t *rows, size_t columns);
/* What only people see of a row: a key that the JSON lines do not have. "" is left out. */
#define row_text  json_part_text
#define row_real  json_part_real
#define row_count json_part_unsigned
#define row_flag  json_part_bool
#define row_part  json_part_object
#define row_hex   json_part_hex
#define row_array json_part_array
/* A list of texts, whole sentences. */
void render_notes(const struct rendering *to, const json_t *notes);
/* The same of a list that it frees. False: out of memory. */
bool render_list(const struct rendering *to, struct json_part list);
/* A piece of a text that folds, of which `used` counts the pieces where nothing folds. */
void render_piece(const struct rendering *to, struct fold *fold, const char *piece, size_t gap);
/* Facts one after the other, which fold between two of them; "" is left out. */
void render_facts(const struct rendering *to, const char *const *facts, size_t n, size_t gap);
/* A sentence, or more. */
void render_text(const struct rendering *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Begins a part. */
void render_heading(const struct rendering *to, const char *text);

/* Text as Markdown that stays a text. */
void markdown_text(FILE *out, const char *text);
