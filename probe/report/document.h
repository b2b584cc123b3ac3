/*
 * A command's result: the JSON lines that -j writes, held as values. A report fills the lines once, and each
 * other format reads them.
 */
#pragma once

#include "report/json.h"

struct document {
    json_t *lines; /* an array */
    bool ok;       /* stays false after the first failure: out of memory */
};

struct document document_new(void);
void document_free(struct document *document);
/* Takes the line. It is not changed any more. */
void document_add(struct document *document, struct json_part line);
/* Its last line of this type; NULL: there is none. */
const json_t *document_line(const struct document *document, const char *type);
/* The lines of a type and, unless NULL, with the `core` of another line, in their order. To be freed. */
json_t *document_rows(const struct document *document, const char *type, const json_t *core);
/* False when it could not be written whole. */
bool document_write(FILE *out, const struct document *document);

/* A value by its key, "now.share" or "function|file": with '.' one inside another, with '|' the first that is
 * there. NULL: none is. */
const json_t *field_of(const json_t *line, const char *keys);
const char *field_text(const json_t *line, const char *keys); /* "": none, or not a text */
double field_real(const json_t *line, const char *keys);      /* NaN: none, or not a number */
uint64_t field_count(const json_t *line, const char *keys);   /* 0: none */
