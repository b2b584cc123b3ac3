/* SPDX-License-Identifier: MIT */
/*
 * A command's result: the JSON lines that -j writes, held as values. A report fills the lines once, and each
 * other format reads them.
 */
#pragma once

#include "base/error.h"
#include "base/values.h"
#include "report/json.h"

#include <signal.h>

/* What is wrong with lines that are none of a result, or of another kind. */
#define DOCUMENT_NO_HEADER "no header of schema " JSON_SCHEMA ": not written by pmu-probe -j"
#define DOCUMENT_NO_TYPE   "a line of no known type"

struct document {
    json_t *lines; /* an array */
    bool ok;       /* stays false after the first failure: out of memory */
    /* Of hits that are too many to be in `lines` */
    const struct hit_times *times; /* of all hits, for the page's plot; NULL: `lines` has them */
    uint64_t left_out;             /* hits that are not in `lines` */
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
/* A line without a type is for people alone, and left out. False when it could not be written whole. */
bool document_write(FILE *out, const struct document *document);

/*
 * Lines from outside: the length of each is bounded, and texts may hold any bytes but NUL: they are cleaned
 * as utf8_clean does.
 */
enum { LINES_FILE_MAX = 64 << 20, LINES_LINE_MAX = 1 << 20 };

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

/* Whether the file could not be read on: then `error`, ERROR_USAGE or ERROR_CANCELLED, says why. */
bool json_lines_broke(const struct json_lines *reader, const char *path, struct error *error);

/* The lines of the file of this name, which may be a pipe. */
struct json_file {
    struct json_source from;
    struct json_lines lines;
};
/* False: `error` as that of json_lines_broke, and errno. `cancel`, which may be NULL, ends the wait for the
 * other end of a pipe. */
bool json_file_open(struct json_file *file, const char *path, const volatile sig_atomic_t *cancel,
                    struct error *error);
void json_file_close(struct json_file *file);

/* Who reads a document may take its lines one by one: a run has any number of hits. */
struct document_taker {
    /* False: the document is not to keep this one; *ok: false, memory or a place for it is missing. */
    bool (*take)(void *context, const json_t *line, bool *ok);
    void *context;
};
/* A whole file, with a header first and a summary; what is kept of it is at most LINES_FILE_MAX. `taker`
 * NULL: all is. The error says where it is wrong. */
bool document_read(struct json_lines *lines, const char *path, const struct document_taker *taker,
                   struct document *out, struct error *error);
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
