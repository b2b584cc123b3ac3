/*
 * Results of each command, as runs on the virtual board wrote them (shown/NAME.jsonl), in each format; and
 * as text what becomes of them where a line has a key less, or another value there: the lines that are not
 * among those of the whole result.
 */
#include "report/show.h"
#include "results.h"

#include <dirent.h>

enum { DOCUMENTS = 64, VARIANT_COLUMNS = 100 };

static struct document shown_read(const char *name)
{
    char path[256];
    struct json_file file;
    struct error error = {0};
    struct document document = {0};
    snprintf(path, sizeof path, "tests/unit/report/shown/%s.jsonl", name);
    if (!json_file_open(&file, path, NULL, &error) ||
        !document_read(&file.lines, name, NULL, &document, &error))
        fail_msg("%s", error.text);
    json_file_close(&file);
    return document;
}

/* Of a page its body, without what it does. To be freed. */
static char *shown_as(const struct document *document, enum format format, size_t columns, bool explains)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    struct rendering to = *rendering_to(out, format, columns);
    to.explains = explains;
    assert_true(show_find(document)->write(&to, document));
    fclose(out);
    char *body = strstr(text, "<body");
    if (format == FORMAT_HTML && body != NULL)
        memmove(text, body, strlen(body) + 1);
    for (char *script; (script = strstr(text, "<script")) != NULL;) {
        char *end = strstr(script, "</script>");
        assert_non_null(end);
        memmove(script, end + 9, strlen(end + 9) + 1);
    }
    return text;
}

static void put_format(FILE *out, const struct document *document, enum format format, size_t columns,
                       bool explains)
{
    static const char *const names[] = {
        [FORMAT_TEXT] = "text", [FORMAT_CSV] = "CSV", [FORMAT_MARKDOWN] = "Markdown", [FORMAT_HTML] = "page"};
    if ((show_formats(show_find(document), document) >> format & 1) == 0)
        return;
    char *text = shown_as(document, format, columns, explains);
    fprintf(out, "======== %s%s of %zu columns\n%s\n", names[format], explains ? ", explained" : "", columns,
            text);
    free(text);
}

/* The lines of `text` that `whole` lacks. */
static void put_new_lines(FILE *out, const char *text, const char *whole)
{
    for (const char *end; *text != '\0'; text = end + (*end == '\n')) {
        char line[1024];
        end = text + strcspn(text, "\n");
        snprintf(line, sizeof line, "\n%.*s\n", (int)(end - text), text);
        if (end > text && strstr(whole, line) == NULL)
            fprintf(out, "    %.*s\n", (int)(end - text), text);
    }
}

/* A value of a line: by keys, and where there is none by the first of an array. */
enum { DEEP = 6 };
struct variants {
    FILE *out;
    const struct document *document;
    const char *whole;
    bool csv;
    size_t line, depth;
    const char *keys[DEEP];
};

static json_t *object_at(const struct variants *of, json_t *lines)
{
    json_t *at = json_array_get(lines, of->line);
    for (size_t i = 0; i + 1 < of->depth; i++)
        at = of->keys[i] != NULL ? json_object_get(at, of->keys[i]) : json_array_get(at, 0);
    return at;
}

/* `value` NULL: the key is left out. */
static void put_variant(const struct variants *of, json_t *value, const char *how)
{
    static const enum format formats[] = {FORMAT_TEXT, FORMAT_CSV};
    struct document document = *of->document;
    char *changed = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&changed, &size);
    document.lines = json_deep_copy(of->document->lines);
    assert_true(lines != NULL && document.lines != NULL);
    json_t *object = object_at(of, document.lines);
    if (value != NULL)
        json_object_set_new(object, of->keys[of->depth - 1], value);
    else
        json_object_del(object, of->keys[of->depth - 1]);
    for (size_t i = 0; i < (of->csv ? 2 : 1) && show_find(&document) == show_find(of->document); i++) {
        char *text = shown_as(&document, formats[i], VARIANT_COLUMNS, false);
        put_new_lines(lines, text, of->whole);
        free(text);
    }
    fclose(lines);
    json_decref(document.lines);
    if (size > 0) {
        fprintf(of->out, "line %zu", of->line + 1);
        for (size_t i = 0; i < of->depth; i++)
            fprintf(of->out, ".%s", of->keys[i] != NULL ? of->keys[i] : "0");
        fprintf(of->out, " %s\n%s", how, changed);
    }
    free(changed);
}

static void vary(struct variants *of, const json_t *value)
{
    static const json_int_t others[] = {0, 1};
    if (of->depth > 0 && of->keys[of->depth - 1] != NULL) {
        put_variant(of, NULL, "left out");
        for (size_t i = 0; i < COUNT(others) && json_is_integer(value); i++) {
            char how[32];
            snprintf(how, sizeof how, "is %d", (int)others[i]);
            put_variant(of, json_integer(others[i]), how);
        }
        if (json_is_boolean(value))
            put_variant(of, json_boolean(!json_is_true(value)), "is the other");
    }
    if (of->depth == DEEP)
        return;
    const char *key;
    json_t *inside;
    of->depth++;
    json_object_foreach((json_t *)value, key, inside) {
        of->keys[of->depth - 1] = key;
        if (strcmp(key, "type") != 0 && strcmp(key, "schema") != 0)
            vary(of, inside);
    }
    of->keys[of->depth - 1] = NULL;
    if (json_is_array(value))
        vary(of, json_array_get(value, 0));
    of->depth--;
}

/* What results say of few lines. */
static const char *const flags[] = {"advice",
                                    "alone",
                                    "at_border",
                                    "at_least",
                                    "awake",
                                    "bounded",
                                    "bounds",
                                    "by_ctrl_c",
                                    "by_error",
                                    "callers",
                                    "calls",
                                    "clock_change",
                                    "code",
                                    "cut",
                                    "differ",
                                    "differs",
                                    "disagreement",
                                    "disturbed",
                                    "doubt",
                                    "elsewhere",
                                    "ended",
                                    "ended_early",
                                    "ends",
                                    "exact",
                                    "exceptions_at_least",
                                    "exceptions_counted",
                                    "gaps",
                                    "guess",
                                    "halts",
                                    "has_added",
                                    "has_each",
                                    "hits",
                                    "inlined",
                                    "interrupted",
                                    "judged",
                                    "kept",
                                    "left",
                                    "left_calls",
                                    "left_starts",
                                    "limit",
                                    "mixed",
                                    "near",
                                    "no_return",
                                    "no_turn",
                                    "noise",
                                    "not_sampled",
                                    "note",
                                    "old_cut",
                                    "old_ended_early",
                                    "other_size",
                                    "precise_by_all_equal",
                                    "precision",
                                    "reached",
                                    "reason",
                                    "rest_s",
                                    "returned",
                                    "reused",
                                    "samples",
                                    "seconds_at_most",
                                    "several",
                                    "slept",
                                    "steps_past",
                                    "tainted",
                                    "thread",
                                    "uncalibrated",
                                    "unclear",
                                    "unframed",
                                    "unknown_exceptions",
                                    "unmeasured",
                                    "unproved",
                                    "unresolved",
                                    "unseen",
                                    "unstopped",
                                    "vague",
                                    "warmup",
                                    "why_not",
                                    "within",
                                    "without_exceptions",
                                    "word",
                                    "wrong"};

static void add_flags(struct variants *of, const json_t *line)
{
    of->depth = 1;
    for (size_t i = 0; i < COUNT(flags); i++)
        if (json_object_get(line, flags[i]) == NULL) {
            of->keys[0] = flags[i];
            put_variant(of, json_integer(2), "is there");
        }
    of->depth = 0;
}

/* Of the first line of each type. With `added`, also what becomes of it with one value more. */
static void put_variants(FILE *out, const struct document *document, bool added)
{
    bool csv = (show_formats(show_find(document), document) >> FORMAT_CSV & 1) != 0 && added;
    char *text = shown_as(document, FORMAT_TEXT, VARIANT_COLUMNS, false), *whole = NULL;
    char *fields = csv ? shown_as(document, FORMAT_CSV, VARIANT_COLUMNS, false) : strdup("");
    assert_true(asprintf(&whole, "\n%s\n%s", text, fields) > 0);
    struct variants of = {.out = out, .document = document, .whole = whole, .csv = csv};
    for (; of.line < json_array_size(document->lines); of.line++) {
        const json_t *line = json_array_get(document->lines, of.line);
        size_t before = 0;
        while (strcmp(field_text(json_array_get(document->lines, before), "type"),
                      field_text(line, "type")) != 0)
            before++;
        if (before == of.line)
            vary(&of, line);
        if (before == of.line && added)
            add_flags(&of, line);
    }
    free(text);
    free(fields);
    free(whole);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Names of the results, without ".jsonl", sorted. */
static size_t shown_names(char *names[DOCUMENTS])
{
    size_t n = 0;
    DIR *all = opendir("tests/unit/report/shown");
    assert_non_null(all);
    for (const struct dirent *one; (one = readdir(all)) != NULL;)
        if (strstr(one->d_name, ".jsonl") != NULL) {
            assert_true(n < DOCUMENTS);
            names[n++] = strndup(one->d_name, strcspn(one->d_name, "."));
        }
    closedir(all);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

TEST(results_in_each_format)
{
    char *names[DOCUMENTS];
    size_t n = shown_names(names);
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
        char golden[128];
        struct document document = shown_read(names[i]);
        FILE *out = output();
        put_format(out, &document, FORMAT_TEXT, 80, false);
        put_format(out, &document, FORMAT_TEXT, 44, true);
        put_format(out, &document, FORMAT_CSV, 80, false);
        put_format(out, &document, FORMAT_MARKDOWN, 80, false);
        put_format(out, &document, FORMAT_HTML, 80, false);
        document_free(&document);
        snprintf(golden, sizeof golden, "../unit/report/shown/%s.formats", names[i]);
        output_is_golden(golden);
        free(names[i]);
    }
}

TEST(results_that_differ_by_one_value)
{
    char *names[DOCUMENTS];
    size_t n = shown_names(names);
    for (size_t i = 0; i < n; i++) {
        char golden[128];
        struct document document = shown_read(names[i]);
        put_variants(output(), &document, strstr(names[i], "_1") != NULL);
        document_free(&document);
        snprintf(golden, sizeof golden, "../unit/report/shown/%s.variants", names[i]);
        output_is_golden(golden);
        free(names[i]);
    }
}
