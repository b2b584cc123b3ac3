/*
 * A command's result: the JSON lines that -j writes, held as values. A report fills the lines once, and each
 * other format reads them.
 */
#pragma once

#include "base/error.h"
#include "base/values.h"
#include "report/json.h"

#include <signal.h>

struct document {
    json_t *lines; /* an array */
    bool ok;       /* stays false after the first failure: out of memory */
};

struct document document_new(void);
void document_free(struct document *document);
/* Takes the line. It is not changed any more. */
void document_add(struct document *document, struct json_part line);
/* Adds a row to a list, and frees it. False: out of memory. */
bool rows_add(json_t *rows, struct json_part row);
/* Its lines alone, to be freed; NULL: out of memory. */
json_t *document_end(struct document document);
bool line_is_of(const json_t *line, const char *type);
/* "metric_units" of a metric, or "metric_reasons"; "": none. */
const char *text_in(const json_t *line, const char *key, const char *name);
/* Its last line of this type; NULL: there is none. */
const json_t *document_line(const struct document *document, const char *type);
/* The lines of a type and, unless NULL, with the `core` of another line, in their order. To be freed. */
json_t *document_rows(const struct document *document, const char *type, const json_t *core);
/* False when it could not be written whole. */
bool document_write(FILE *out, const struct document *document);

/*
 * Lines from outside: their number and size are bounded, and texts may hold any bytes but NUL.
 */
enum { LINES_FILE_MAX = 64 << 20, LINES_LINE_MAX = 1 << 20 };

/* The bytes of a file, to be freed; NULL: the error, ERROR_USAGE or ERROR_CANCELLED, says why. `path` may be
 * a pipe; `cancel`, which may be NULL, ends the wait for its other end. */
char *json_lines_file(const char *path, const volatile sig_atomic_t *cancel, size_t *size,
                      struct error *error);

/* A file of any length, of which no more is held than its longest line. */
struct json_source {
    int fd;
    const volatile sig_atomic_t *cancel; /* ends the wait for more; may be NULL */
};

struct json_lines {
    const char *text;
    size_t size, at;
    const struct json_source *from; /* what follows the text; NULL: nothing does */
    char *held;                     /* of `from`; to be freed after the last line */
    size_t room;
    bool is_read;      /* whole */
    size_t most;       /* bytes of a line; 0: LINES_LINE_MAX */
    unsigned line;     /* of the value that was read last, from 1 */
    const char *begin; /* where it begins */
    bool is_last;      /* it has no newline after it */
    int error;         /* errno, if `from` cannot be read */
    const char *why;   /* there is no value: why; NULL: that was all */
    char text_of_why[192];
};
/* The next object, to be freed; NULL: see `why`. */
json_t *json_lines_next(struct json_lines *reader);

/* A whole file, with a header first and a summary. The error says where it is wrong. */
bool document_parse(const char *text, size_t size, const char *path, struct document *out,
                    struct error *error);

/* A value by its key, "now.share" or "function|file": with '.' one inside another, with '|' the first that is
 * there. NULL: none is. */
const json_t *field_of(const json_t *line, const char *keys);
const char *field_text(const json_t *line, const char *keys); /* "": none, or not a text */
double field_real(const json_t *line, const char *keys);      /* NaN: none, or not a number */
uint64_t field_count(const json_t *line, const char *keys);   /* 0: none, or not a count */
bool field_is(const json_t *line, const char *keys);          /* there, and not false */
const char *text_or_empty(const json_t *value);               /* as field_text */
uint64_t count_of(const json_t *value);                       /* as field_count */
