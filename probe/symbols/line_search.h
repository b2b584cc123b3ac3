/*
 * Line search: all addresses that the line tables give for a line of a file, which is named by the
 * end of its path.
 */
#pragma once

#include "symbols/internal.h"
#include "symbols/names.h"

enum { LINE_HITS = 256 };

struct line_hits {
    struct line_hit {
        uint64_t address;
        bool is_statement; /* where the compiler would have a debugger stop */
        bool is_empty;     /* no instruction of its own: the next row has the same address */
    } at[LINE_HITS];
    size_t count;
    bool has_more;       /* than fit here */
    bool knows_file;     /* some unit was made from it */
    uint64_t next, last; /* the next line of the file that has code, and the last one; 0: none */
};

void line_search(struct symbols *symbols, const char *path, size_t length, uint64_t line,
                 struct line_hits *hits);
/* Offers all file names of the line tables. */
void line_search_near(struct symbols *symbols, struct near *near);
