/* Places: the distinct addresses that one location may mean, and how they are told to the user. */
#pragma once

#include "symbols/demangle.h"
#include "symbols/line_search.h"

struct places {
    struct place {
        uint64_t address;
        const struct symbol *symbol; /* of a place that was found by its name */
        enum likeness likeness;
        struct scope scope;
        bool is_statement;
        bool has_code; /* of this line, not only a place for it */
    } at[LINE_HITS];   /* by address */
    size_t count;
    bool has_more; /* than fit here */
};

/* What a location names: "function", or "file.c:function". */
struct place_name {
    const char *file; /* the end of a path; may be empty */
    size_t file_length;
    const char *name;
    size_t length;
};

/*
 * All functions and labels in the code that can be meant; aliases of one address are one place. Copies that
 * the compiler made of a function, and parts that it moved out of it, stand in for it only where the function
 * itself is not there.
 */
void places_of_symbol(struct symbols *symbols, const struct place_name *wanted, struct places *places);
/* The copies and parts of the function at `address`, whose calls do not pass there: "f.part.0, f.isra.0", or
 * "". */
void places_beside(struct symbols *symbols, const struct place_name *wanted, uint64_t address, char *out,
                   size_t room);
/* One place for each instance of a function that has code of the line: where the line begins in it. */
void places_of_line(struct symbols *symbols, const struct line_hits *hits, const char *file, uint64_t line,
                    struct places *places);
/* ERROR_AMBIGUOUS, with every place as a location that is accepted: by a name where one tells it apart, which
 * the next build has as well. */
bool places_refuse(struct symbols *symbols, const struct places *places, const char *text, uint64_t offset,
                   struct error *error);

/* inlined.c: true where that is a function that was inlined wherever it is called; the error says where. */
bool inlined_refuse(struct symbols *symbols, const struct place_name *wanted, struct error *error);
