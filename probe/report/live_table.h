/*
 * A table on a canvas. On a narrow terminal columns are left out and names are cut, in the order that the
 * table says; a number is never cut.
 */
#pragma once

#include "report/canvas.h"

enum { LIVE_COLUMNS = 8 };

struct live_column {
    enum { LIVE_NUMBER, LIVE_TEXT, LIVE_DRAWN } as; /* at the right; at the left; as wide as there is room */
    size_t gap;                                     /* blanks before it */
    size_t least; /* its width where there is room; of one that is drawn always */
    size_t most;  /* texts are cut here; 0: never */
};

/* A way to show it: the first that has room is taken. */
struct live_way {
    unsigned columns; /* bits */
    size_t name;      /* the name is cut to no less; 0: it stays whole */
    bool tight;       /* each column is as wide as its texts */
};

struct live_table {
    const struct live_column *columns;
    const struct live_way *ways; /* the last one is taken in any case */
    size_t n, n_ways;
    size_t name;                /* which column */
    size_t width[LIVE_COLUMNS]; /* 0: the column is not there */
};

/* Once for each row. A column without any text is left out, but for one that is drawn. */
void live_widen(struct live_table *table, const char *const *cells);
/* Then `width` is how wide each column is. */
void live_fit(struct live_table *table, size_t columns);
/* Cells are clean. `instead`: in place of the cells after the name where that has room; NULL: none. */
void live_row(struct canvas *canvas, const struct live_table *table, const char *const *cells,
              const char *instead);
/* For rows that have no line: how many, if any. */
void live_more(struct canvas *canvas, size_t rows);
