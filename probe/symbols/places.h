/* Places: the distinct addresses that one location may mean, and how they are told to the user. */
#pragma once

#include "symbols/line_search.h"

struct places {
    struct place {
        uint64_t address;
        struct scope scope;
        bool is_statement;
        bool has_code; /* of this line, not only a place for it */
    } at[LINE_HITS];   /* by address */
    size_t count;
    bool has_more; /* than fit here */
};

/* All code symbols of this name; aliases of one address are one place. */
void places_of_symbol(struct symbols *symbols, const char *name, size_t length, struct places *places);
/* One place for each instance of a function that has code of the line: where the line begins in it. */
void places_of_line(struct symbols *symbols, const struct line_hits *hits, const char *file, uint64_t line,
                    struct places *places);
/* ERROR_AMBIGUOUS, with every place as a location that is accepted. */
bool places_refuse(struct symbols *symbols, const struct places *places, const char *text, uint64_t offset,
                   struct error *error);
