/* Results as documents, of which all formats are made: lines of JSON, or what was written and read again. */
#pragma once

#include "golden.h"

#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/delta_report.h"
#include "report/render.h"
#include "report/run_report.h"

/* 2026-11-20T09:15:00Z */
enum { DOCUMENT_STARTED = 1795166100 };

static inline const struct rendering *rendering_to(FILE *out, enum format format, size_t columns)
{
    static struct rendering to;
    to = (struct rendering){.out = out, .format = format, .columns = columns, .separator = ','};
    return &to;
}

#define TO_TEXT(columns) rendering_to(output(), FORMAT_TEXT, columns)
#define TO(format)       rendering_to(output(), format, 80)
#define TO_FULL(format)  rendering_to(output_full(), format, 80)

/* Lines as JSON, with ' in place of ". */
static inline struct document document_from(const char *text)
{
    struct document document = document_new();
    char *copy = strdup(text), *rest = copy;
    for (char *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        for (char *at = line; (at = strchr(at, '\'')) != NULL;)
            *at = '"';
        struct json_part part = {.json = json_loads(line, 0, NULL), .ok = true};
        if (part.json == NULL)
            fail_msg("not JSON: %s", line);
        document_add(&document, part);
    }
    free(copy);
    return document;
}

/* Frees the document. */
static inline struct document document_again(struct document written)
{
    char *text = NULL;
    size_t size = 0;
    struct error error = {0};
    struct document read;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(document_write(out, &written));
    fclose(out);
    if (!document_parse(text, size, "again.jsonl", &read, &error))
        fail_msg("%s", error.text);
    free(text);
    document_free(&written);
    return read;
}

/* `with` may be NULL. */
static inline struct document document_of(const struct summary *run, const json_t *with)
{
    struct document document = document_new();
    struct json_part line = json_part_new("summary");
    document_add(&document,
                 json_header_part(JSON_SCHEMA, &run->conditions, run->columns, run->n, DOCUMENT_STARTED));
    json_summary_fill(&line, run);
    document_add(&document, line);
    if (with != NULL)
        document_add(&document, json_part_copy(with));
    return document_again(document);
}

static inline bool summary_write(const struct rendering *to, const struct summary *run, const json_t *with)
{
    struct document document = document_of(run, with);
    struct rendering more = *to;
    more.begun = true;
    bool ok = delta_write(&more, &document);
    document_free(&document);
    return ok;
}

static inline void comparison_print(const json_t *with)
{
    struct document document = document_new();
    document_add(&document, json_command_part("compare", ""));
    document_add(&document, json_part_copy(with));
    document = document_again(document);
    comparison_write(TO_TEXT(80), document_line(&document, "verdict"));
    document_free(&document);
}
