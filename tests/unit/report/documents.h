/* Results as documents that were written as JSON lines and read again: all formats are made of these. */
#pragma once

#include "golden.h"

#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/conditions.h"
#include "report/delta_report.h"
#include "report/histogram.h"
#include "report/run_report.h"

/* 2026-11-20T09:15:00Z */
enum { DOCUMENT_STARTED = 1795166100 };

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
static inline struct document document_of(const struct summary *run, const struct comparison *with)
{
    struct document document = document_new();
    struct json_part line = json_part_new("summary");
    document_add(&document,
                 json_header_part(JSON_SCHEMA, &run->conditions, run->columns, run->n, DOCUMENT_STARTED));
    json_summary_fill(&line, run);
    document_add(&document, line);
    if (with != NULL)
        document_add(&document, comparison_line(with));
    return document_again(document);
}

static inline bool summary_write(struct rendering to, const struct summary *run,
                                 const struct comparison *with)
{
    struct document document = document_of(run, with);
    bool ok = delta_write(&to, &(struct delta_report){.document = &document, .begun = true});
    document_free(&document);
    return ok;
}

static inline bool text_summary(FILE *out, const struct summary *run, size_t columns)
{
    return summary_write((struct rendering){.out = out, .format = FORMAT_TEXT, .columns = columns}, run,
                         NULL);
}

static inline bool csv_summary(FILE *out, const struct summary *run, const struct comparison *with,
                               char separator)
{
    return summary_write((struct rendering){.out = out, .format = FORMAT_CSV, .separator = separator}, run,
                         with);
}

static inline bool junit_summary(FILE *out, const struct summary *run, const struct comparison *with)
{
    return summary_write((struct rendering){.out = out, .format = FORMAT_JUNIT}, run, with);
}

static inline bool markdown_summary(FILE *out, const struct summary *run, const struct comparison *with)
{
    return summary_write((struct rendering){.out = out, .format = FORMAT_MARKDOWN}, run, with);
}

static inline void comparison_print(FILE *out, const struct comparison *with)
{
    struct document document = document_new();
    document_add(&document, json_command_part("compare", ""));
    document_add(&document, comparison_line(with));
    document = document_again(document);
    comparison_write(&(struct rendering){.out = out, .format = FORMAT_TEXT, .columns = 80},
                     document_line(&document, "verdict"));
    document_free(&document);
}

/* What is below the table. */
static inline void footer_print(FILE *out, const struct summary *run)
{
    const struct rendering to = {.out = out, .format = FORMAT_TEXT, .columns = 80};
    struct document document = document_of(run, NULL);
    const struct run_lines lines =
        run_lines(document_line(&document, "header"), (json_t *)document_line(&document, "summary"), NULL);
    const char *name = "";
    const json_t *first = run_first(lines.summary, &name), *fact;
    json_t *facts = run_facts(&lines);
    size_t i;
    json_array_foreach(facts, i, fact) render_text(&to, json_string_value(fact));
    if (run_is_counted(first))
        histogram_print(out, to.columns, name, first);
    json_decref(facts);
    document_free(&document);
}
