/*
 * Any bytes as the file that --baseline names. What is refused is so with a fact that says where; what is
 * read keeps what the header promises, compares with anything, and what all the writers make of it is whole.
 */
#include "report/comparison.h"
#include "report/comparison_report.h"
#include "report/show.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static bool is_clean(const char *text, size_t size)
{
    char clean[1024];
    demand(memchr(text, '\0', size) != NULL);
    return strcmp(utf8_clean(clean, sizeof clean, text), text) == 0;
}

static void look_at(const struct baseline *run)
{
    const struct conditions *conditions = &run->conditions;
    json_t *columns = json_object_get(run->summary, "columns"), *column;
    const char *name;
    demand(run->header != NULL && run->summary != NULL);
    demand(json_object_size(columns) <= RESULT_COLUMNS);
    demand(is_clean(conditions->link, sizeof conditions->link));
    demand(is_clean(conditions->core, sizeof conditions->core));
    demand(is_clean(conditions->build_id, sizeof conditions->build_id));
    demand(is_clean(conditions->start, sizeof conditions->start));
    demand(isfinite(conditions->clock_hz) && conditions->clock_hz >= 0);
    json_object_foreach(columns, name, column) {
        bool counted = field_of(column, "not_supported") == NULL && field_count(column, "count") > 0;
        demand(!counted || (field_real(column, "mean") >= 0 && field_real(column, "sd") >= 0));
    }
}

static const enum format formats[] = {FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_HTML};

/* As show does. */
static void write_all(FILE *out, const struct document *document)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct rendering to = {.out = out, .format = formats[i], .columns = 60, .separator = ','};
        const struct shown_result *result = show_find(document);
        demand(result == NULL || (show_formats(result, document) >> formats[i] & 1) == 0 ||
               result->write(&to, document));
    }
}

/* What show takes, it shows, or it says where the file is wrong. */
static void read_as_document(const char *text, size_t size)
{
    struct document document;
    struct error error = {0};
    char *shown = NULL;
    size_t length = 0;
    bool ok = document_parse(text, size, "b.jsonl", &document, &error);
    demand(ok == (error.kind == ERROR_NONE) && (ok || strncmp(error.text, "b.jsonl:", 8) == 0));
    FILE *out = ok ? open_memstream(&shown, &length) : NULL;
    if (out != NULL) {
        write_all(out, &document);
        fclose(out);
        free(shown);
    }
    if (ok)
        document_free(&document);
}

/* One column of the name "A", which the seeds have, and the conditions of the baseline itself. */
static void compare_with_some(const struct baseline *baseline, double threshold)
{
    static struct summary now;
    memset(&now, 0, sizeof now);
    now.conditions = baseline->conditions;
    now.n = now.hits = 1;
    now.columns[0] = (struct column){.name = "A", .statistics = statistics_new(), .calibrated = true};
    if (now.columns[0].statistics == NULL)
        return;
    for (uint64_t value = 0; value < 20; value++)
        statistics_add(now.columns[0].statistics, 470 + value % 7);
    struct baseline live;
    demand(baseline_live(&live, &now));
    struct json_part comparison = runs_compare(baseline, &live, threshold, 1);
    json_t *columns = json_object_get(comparison.json, "columns"), *column;
    const char *name;
    bool regressed = line_verdict(comparison.json) == VERDICT_REGRESSED;
    baseline_free(&live);
    demand(comparison.ok && json_object_size(columns) <= (size_t)2 * RESULT_COLUMNS);
    demand(json_object_get(comparison.json, "not_comparable") == NULL);
    json_object_foreach(columns, name, column) {
        demand(is_clean(name, sizeof((struct verdict_line *)NULL)->name));
        demand(is_clean(field_text(column, "why"), sizeof((struct verdict_line *)NULL)->why));
        demand(regressed || line_verdict(column) != VERDICT_REGRESSED);
    }
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out != NULL) {
        struct document document = document_new();
        struct json_part line = json_part_new("summary");
        document_add(&document, json_header_part(JSON_SCHEMA, &now.conditions, now.columns, now.n, 0));
        json_summary_fill(&line, &now);
        document_add(&document, line);
        document_add(&document, comparison);
        write_all(out, &document);
        document_free(&document);
        fclose(out);
        demand(strlen(text) == size);
        free(text);
    }
    statistics_free(now.columns[0].statistics);
}

/* As compare reads the same bytes: what one run is, runs are; each against itself differs in nothing. */
static void read_as_runs(const char *text, size_t size, bool is_one_run)
{
    static struct runs runs;
    struct error error = {0};
    bool ok = runs_parse(text, size, "b.jsonl", &runs, &error);
    demand(ok == (error.kind == ERROR_NONE) && (ok || !is_one_run));
    demand(ok || strncmp(error.text, "b.jsonl:", 8) == 0);
    for (size_t i = 0; ok && i < runs.n; i++) {
        look_at(runs.of[i]);
        struct json_part comparison = runs_compare(runs.of[i], runs.of[i], 0, runs.n);
        demand(json_object_get(comparison.json, "not_comparable") == NULL);
        demand(line_verdict(comparison.json) != VERDICT_REGRESSED);
        demand(is_clean(field_text(comparison.json, "file"), 256));
        json_decref(comparison.json);
    }
    runs_free(&runs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct baseline baseline;
    struct error error = {0};
    /* Exactly as long as it is, so that reading past the end is noticed */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    bool ok = baseline_parse(text, size, "b.jsonl", &baseline, &error);
    read_as_runs(text, size, ok);
    read_as_document(text, size);
    free(text);
    demand(ok == (error.kind == ERROR_NONE));
    if (!ok) {
        demand(error.kind == ERROR_USAGE && strncmp(error.text, "b.jsonl:", 8) == 0);
        return 0;
    }
    look_at(&baseline);
    compare_with_some(&baseline, size % 2 == 0 ? 0 : 0.02);
    baseline_free(&baseline);
    return 0;
}
