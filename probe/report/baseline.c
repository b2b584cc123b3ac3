#include "report/comparison.h"

#include "report/json.h"
#include "report/profile_file.h"
#include "report/run_report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct baseline *out; /* the run that is read */
    struct runs *runs;    /* to add more of them to; NULL: there is one only */
    struct error *error;
    unsigned line;    /* from 1; 0: the whole file */
    json_t *surveyed; /* the header of a survey that goes on: its regions are runs; NULL: it is none */
};

__attribute__((format(printf, 2, 3))) static bool baseline_fails(const struct reading *reading,
                                                                 const char *format, ...)
{
    va_list facts;
    va_start(facts, format);
    error_set_in_file(reading->error, reading->out->file, reading->line, format, facts);
    va_end(facts);
    return false;
}

static bool is_real(const json_t *object, const char *key)
{
    return field_real(object, key) >= 0;
}

/* Counts beyond 2^63-1 are reals. */
static bool is_count(const json_t *object, const char *key)
{
    return is_real(object, key) && field_real(object, key) <= 0x1p64;
}

/* The run that was read so far is whole. */
static bool next_run(struct reading *reading)
{
    struct runs *runs = reading->runs;
    if (runs->n == RUNS_MOST)
        return baseline_fails(reading, "more than %d runs", RUNS_MOST);
    struct baseline *next = calloc(1, sizeof *next);
    if (next == NULL)
        return error_set(reading->error, ERROR_SYSTEM, "out of memory");
    memcpy(next->file, runs->file, sizeof next->file);
    runs->of[runs->n++] = reading->out = next;
    return true;
}

/* By its header. */
static bool is_survey(const json_t *object)
{
    return strcmp(field_text(object, "command"), "survey") == 0;
}

static void take_conditions(struct baseline *run)
{
    run->conditions = run_lines(run->header, run->summary, NULL).conditions;
}

static bool take_header(struct reading *reading, json_t *object)
{
    bool another = reading->out->header != NULL;
    if (another && reading->runs == NULL)
        return baseline_fails(reading, "a second header; a baseline is one run");
    if (another && (reading->out->summary == NULL || reading->surveyed != NULL))
        return baseline_fails(reading, "a header before the summary of the run above, which was cut off");
    if (another && !next_run(reading))
        return false;
    reading->out->header = json_incref(object);
    reading->surveyed = is_survey(object) ? object : NULL;
    if (reading->surveyed != NULL && reading->runs == NULL)
        return baseline_fails(reading, "a survey of many regions: survey --baseline and compare take it");
    return true;
}

static bool check_column(const struct reading *reading, const char *key, const json_t *column)
{
    char name[UTF8_CLEAN_ROOM(96)];
    utf8_clean(name, sizeof name, key);
    if (field_of(column, "not_supported") != NULL)
        return true;
    if (!is_count(column, "count"))
        return baseline_fails(reading, "no count of %.48s", name);
    if (field_count(column, "count") > 0 && (!is_real(column, "mean") || !is_real(column, "sd") ||
                                             !is_count(column, "min") || !is_count(column, "max")))
        return baseline_fails(reading, "mean, sd, min or max of %.48s is missing or no count", name);
    return !json_is_true(field_of(column, "calibrated")) || is_real(column, "plus_minus") ||
           baseline_fails(reading, "no plus_minus of %.48s, which was calibrated", name);
}

static bool take_summary(struct reading *reading, json_t *object)
{
    json_t *columns = json_object_get(object, "columns"), *column;
    const char *name;
    if (reading->out->summary != NULL)
        return baseline_fails(reading, "a second summary of one run");
    if (!json_is_integer(field_of(object, "hits")))
        return baseline_fails(reading, "a summary without hits: not of pmu-probe delta");
    if (json_object_size(columns) > RESULT_COLUMNS)
        return baseline_fails(reading, "more than %d columns", RESULT_COLUMNS);
    json_object_foreach(columns, name, column)
        if (!check_column(reading, name, column))
            return false;
    reading->out->summary = json_incref(object);
    take_conditions(reading->out);
    return true;
}

/* A region file may have one region twice, with two budgets. */
static bool has_region(const struct runs *runs, const struct conditions *wanted)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs_are_of_one_region(&runs->of[i]->conditions, wanted))
            return true;
    return false;
}

/* Each region of a survey is a run. */
static bool take_region(struct reading *reading, json_t *object)
{
    const struct conditions named = run_lines(reading->surveyed, object, NULL).conditions;
    if (!json_is_true(field_of(object, "reached")) ||
        (reading->out->summary != NULL && has_region(reading->runs, &named)))
        return true;
    if (reading->out->summary != NULL && !next_run(reading))
        return false;
    if (reading->out->header == NULL)
        reading->out->header = json_incref(reading->surveyed);
    return take_summary(reading, object);
}

static bool end_survey(struct reading *reading)
{
    reading->surveyed = NULL;
    return reading->out->summary != NULL || baseline_fails(reading, "no region of this survey was reached");
}

static bool baseline_take_line(struct reading *reading, json_t *object)
{
    const char *type = field_text(object, "type"), *named = field_text(object, "schema");
    const json_t *schema = field_of(object, "schema");
    bool begun = reading->out->header != NULL, begins = strcmp(type, "header") == 0;
    bool of_survey = begins && is_survey(object) && strcmp(named, JSON_SCHEMA_2) == 0;
    if (!begun && schema == NULL)
        return baseline_fails(reading, "no header of schema " JSON_SCHEMA ": not written by pmu-probe -j");
    if (!of_survey && strcmp(named, PROFILE_SCHEMA) == 0)
        return baseline_fails(reading, "a profile of record: report --diff compares two of them");
    if (!of_survey && schema != NULL && strcmp(named, JSON_SCHEMA) != 0)
        return baseline_fails(reading, "its schema is %.64s, and " JSON_SCHEMA " is wanted",
                              json_is_string(schema) ? named : "no name");
    if (type[0] == '\0' || (!begun && !begins))
        return baseline_fails(reading, "a line of no known type");
    if (begins)
        return take_header(reading, object);
    if (reading->surveyed != NULL && strcmp(type, "region") == 0)
        return take_region(reading, object);
    if (strcmp(type, "summary") != 0)
        return true;
    return reading->surveyed != NULL ? end_survey(reading) : take_summary(reading, object);
}

static bool baseline_read_lines(struct reading *reading, const char *text, size_t size)
{
    struct json_lines lines = {.text = text, .size = size};
    json_t *object;
    while ((object = json_lines_next(&lines)) != NULL) {
        reading->line = lines.line;
        bool ok = baseline_take_line(reading, object);
        json_decref(object);
        if (!ok)
            return false;
    }
    reading->line = lines.line;
    if (lines.why != NULL)
        return baseline_fails(reading, "%s",
                              lines.is_last && reading->out->header != NULL
                                  ? "no summary: that run was cut off in this line"
                                  : lines.why);
    reading->line = 0;
    if (reading->out->header == NULL)
        return baseline_fails(reading, "empty");
    return (reading->out->summary != NULL && reading->surveyed == NULL) ||
           baseline_fails(reading, "no summary: that run was cut off");
}

bool runs_are_of_one_region(const struct conditions *one, const struct conditions *other)
{
    return strcmp(one->start, other->start) == 0 && strcmp(one->end, other->end) == 0;
}

void baseline_free(struct baseline *run)
{
    json_decref(run->header);
    json_decref(run->summary);
    run->header = run->summary = NULL;
}

bool baseline_live(struct baseline *out, const struct summary *run)
{
    struct json_part header = json_header_part(JSON_SCHEMA, &run->conditions, run->columns, run->n, 0),
                     summary = json_part_new("summary");
    json_summary_fill(&summary, run);
    *out = (struct baseline){.header = header.json, .summary = summary.json};
    take_conditions(out);
    return header.ok && summary.ok;
}

bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error)
{
    struct reading reading = {.out = out, .error = error};
    memset(out, 0, sizeof *out);
    utf8_clean(out->file, sizeof out->file, path);
    if (baseline_read_lines(&reading, text, size))
        return true;
    baseline_free(out);
    return false;
}

static bool check_regions(struct reading *reading)
{
    const struct runs *runs = reading->runs;
    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < i; k++)
            if (runs_are_of_one_region(&runs->of[i]->conditions, &runs->of[k]->conditions))
                return baseline_fails(reading, "two runs of one region: %.80s, %.80s",
                                      runs->of[i]->conditions.start, runs->of[i]->conditions.end);
    return true;
}

bool runs_parse(const char *text, size_t size, const char *path, struct runs *out, struct error *error)
{
    struct reading reading = {.runs = out, .error = error};
    out->n = 0;
    utf8_clean(out->file, sizeof out->file, path);
    return next_run(&reading) && baseline_read_lines(&reading, text, size) && check_regions(&reading);
}

void runs_free(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        baseline_free(runs->of[i]);
        free(runs->of[i]);
    }
    runs->n = 0;
}

bool baseline_read(const char *path, const volatile sig_atomic_t *cancel, struct baseline *out,
                   struct error *error)
{
    size_t size = 0;
    char *text = json_lines_file(path, cancel, &size, error);
    bool ok = text != NULL && baseline_parse(text, size, path, out, error);
    free(text);
    return ok;
}

bool runs_read(const char *path, const volatile sig_atomic_t *cancel, struct runs *out, struct error *error)
{
    size_t size = 0;
    out->n = 0;
    char *text = json_lines_file(path, cancel, &size, error);
    bool ok = text != NULL && runs_parse(text, size, path, out, error);
    free(text);
    return ok;
}
