#include "report/comparison.h"

#include "report/conditions.h"
#include "report/json.h"
#include "report/profile_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct baseline *out; /* the run that is read */
    struct runs *runs;    /* to add more of them to; NULL: there is one only */
    struct error *error;
    unsigned line;        /* from 1; 0: the whole file */
    bool header, summary; /* of that run */
    /* Of a survey, whose regions are runs: it goes on, and what its header says of all of them. */
    bool survey;
    struct conditions common;
    json_t *common_header;
    char started[32];
};

__attribute__((format(printf, 2, 3))) static bool fails(const struct reading *reading, const char *format,
                                                        ...)
{
    va_list facts;
    va_start(facts, format);
    error_set_in_file(reading->error, reading->out->file, reading->line, format, facts);
    va_end(facts);
    return false;
}

static void take_text(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    utf8_clean(out, size, text != NULL ? text : "");
}

/* A text that is there must not become one that is not: "" has a meaning of its own. */
static void take_reason(char *out, size_t size, const json_t *object, const char *key)
{
    take_text(out, size, object, key);
    if (json_object_get(object, key) != NULL && out[0] == '\0')
        snprintf(out, size, "for a reason that is not known");
}

/* False if it is absent, negative or no number. */
static bool take_real(double *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return false;
    *out = json_number_value(value);
    return isfinite(*out) && *out >= 0;
}

static bool take_unsigned(uint64_t *out, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double real = json_real_value(value);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = (uint64_t)json_integer_value(value);
    else if (json_is_real(value) && real >= 0 && real <= 0x1p64) /* counts beyond 2^63-1 are reals */
        *out = real < 0x1p64 ? (uint64_t)real : UINT64_MAX;
    else
        return false;
    return true;
}

/* The run that was read so far is whole. */
static bool next_run(struct reading *reading)
{
    struct runs *runs = reading->runs;
    if (runs->n == RUNS_MOST)
        return fails(reading, "more than %d runs", RUNS_MOST);
    struct baseline *next = calloc(1, sizeof *next);
    if (next == NULL)
        return error_set(reading->error, ERROR_SYSTEM, "out of memory");
    memcpy(next->file, runs->file, sizeof next->file);
    runs->of[runs->n++] = reading->out = next;
    reading->header = reading->summary = false;
    return true;
}

/* By its header. */
static bool is_survey(const json_t *object)
{
    const char *command = json_string_value(json_object_get(object, "command"));
    return command != NULL && strcmp(command, "survey") == 0;
}

/* Lines of a run that may be shown; of a baseline alone its numbers are. */
static void keep(const struct reading *reading, json_t **out, json_t *line)
{
    if (reading->runs == NULL)
        return;
    json_decref(*out);
    *out = json_incref(line);
}

static bool take_header(struct reading *reading, json_t *object)
{
    if (reading->header && reading->runs == NULL)
        return fails(reading, "a second header; a baseline is one run");
    if (reading->header && (!reading->summary || reading->survey))
        return fails(reading, "a header before the summary of the run above, which was cut off");
    if (reading->header && !next_run(reading))
        return false;
    struct conditions *conditions = &reading->out->run.conditions;
    conditions_read(conditions, object);
    keep(reading, &reading->out->header, object);
    take_text(reading->out->started, sizeof reading->out->started, object, "started");
    reading->header = true;
    reading->survey = is_survey(object);
    if (reading->survey && reading->runs == NULL)
        return fails(reading, "a survey of many regions: survey --baseline and compare take it");
    if (reading->survey) {
        reading->common = *conditions;
        memcpy(reading->started, reading->out->started, sizeof reading->started);
        keep(reading, &reading->common_header, object);
    }
    return true;
}

static bool take_column(struct reading *reading, const char *name, const json_t *object)
{
    struct summary *out = &reading->out->run;
    if (out->n == RESULT_COLUMNS)
        return fails(reading, "more than %d columns", RESULT_COLUMNS);
    struct column *column = &out->columns[out->n++];
    struct figures *figures = &column->figures;
    utf8_clean(column->name, sizeof column->name, name);
    take_reason(column->unsupported, sizeof column->unsupported, object, "not_supported");
    if (column->unsupported[0] != '\0')
        return true;
    if (!take_unsigned(&figures->count, object, "count"))
        return fails(reading, "no count of %.48s", column->name);
    if (figures->count > 0 &&
        (!take_real(&figures->mean, object, "mean") || !take_real(&figures->sd, object, "sd") ||
         !take_unsigned(&figures->min, object, "min") || !take_unsigned(&figures->max, object, "max")))
        return fails(reading, "mean, sd, min or max of %.48s is missing or no count", column->name);
    /* Older files do not have it */
    struct series_error known = {0};
    if (take_real(&known.standard, object, "mean_error") && take_real(&known.df, object, "mean_error_df") &&
        take_real(&known.drift, object, "drift"))
        figures->error = known;
    figures->has_median = take_unsigned(&figures->median, object, "median");
    figures->has_tail =
        take_unsigned(&figures->p90, object, "p90") && take_unsigned(&figures->p99, object, "p99");
    if (take_unsigned(&column->at_least, object, "at_least"))
        take_unsigned(&column->at_least_max, object, "at_least_max");
    column->calibrated = json_is_true(json_object_get(object, "calibrated"));
    if (column->calibrated && !take_real(&column->plus_minus, object, "plus_minus"))
        return fails(reading, "no plus_minus of %.48s, which was calibrated", column->name);
    return true;
}

static void take_precision(struct summary *run, const json_t *object)
{
    if (take_real(&run->precision, object, "wanted") && !take_real(&run->precise, object, "mean"))
        run->precise = INFINITY;
}

static bool take_summary(struct reading *reading, json_t *object)
{
    struct summary *run = &reading->out->run;
    if (reading->summary)
        return fails(reading, "a second summary of one run");
    if (!json_is_integer(json_object_get(object, "hits")))
        return fails(reading, "a summary without hits: not of pmu-probe delta");
    take_unsigned(&run->hits, object, "hits");
    take_unsigned(&run->tainted, object, "tainted");
    take_unsigned(&run->warmup, object, "warmup");
    take_precision(run, json_object_get(object, "precision"));
    if (!take_real(&run->seconds, object, "seconds"))
        run->seconds = 0;
    take_text(run->disagreement, sizeof run->disagreement, object, "disagreement");
    take_text(run->ended, sizeof run->ended, object, "ended");
    /* The clock may have become known only after the header was written */
    conditions_read_clock(&run->conditions, json_object_get(object, "time"));
    const char *name;
    json_t *column;
    json_object_foreach(json_object_get(object, "columns"), name, column)
    {
        if (!take_column(reading, name, column))
            return false;
    }
    reading->summary = true;
    keep(reading, &reading->out->summary, object);
    return true;
}

/* A region file may have one region twice, with two budgets. */
static bool has_region(const struct runs *runs, const struct conditions *wanted)
{
    for (size_t i = 0; i < runs->n; i++)
        if (strcmp(runs->of[i]->run.conditions.start, wanted->start) == 0 &&
            strcmp(runs->of[i]->run.conditions.end, wanted->end) == 0)
            return true;
    return false;
}

/* A region of a survey is a run of its own. */
static bool take_region(struct reading *reading, json_t *object)
{
    struct conditions named = reading->common;
    conditions_read_region(&named, json_object_get(object, "region"));
    if (!json_is_true(json_object_get(object, "reached")) ||
        (reading->summary && has_region(reading->runs, &named)))
        return true;
    if (reading->summary && !next_run(reading))
        return false;
    struct conditions *conditions = &reading->out->run.conditions;
    *conditions = named;
    memcpy(reading->out->started, reading->started, sizeof reading->started);
    keep(reading, &reading->out->header, reading->common_header);
    reading->header = true;
    return take_summary(reading, object);
}

static bool end_survey(struct reading *reading)
{
    reading->survey = false;
    return reading->summary || fails(reading, "no region of this survey was reached");
}

static bool take_line(struct reading *reading, json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const json_t *schema = json_object_get(object, "schema");
    const char *named = json_string_value(schema);
    if (!reading->header && schema == NULL)
        return fails(reading, "no header of schema " JSON_SCHEMA ": not written by pmu-probe -j");
    bool of_survey = type != NULL && strcmp(type, "header") == 0 && is_survey(object) && named != NULL &&
                     strcmp(named, JSON_SCHEMA_2) == 0;
    if (!of_survey && named != NULL && strcmp(named, PROFILE_SCHEMA) == 0)
        return fails(reading, "a profile of record: report --diff compares two of them");
    if (!of_survey && schema != NULL && (named == NULL || strcmp(named, JSON_SCHEMA) != 0))
        return fails(reading, "its schema is %.64s, and " JSON_SCHEMA " is wanted",
                     named != NULL ? named : "no name");
    if (type == NULL || (!reading->header && strcmp(type, "header") != 0))
        return fails(reading, "a line of no known type");
    if (strcmp(type, "header") == 0)
        return take_header(reading, object);
    if (reading->survey && strcmp(type, "region") == 0)
        return take_region(reading, object);
    if (strcmp(type, "summary") != 0)
        return true;
    return reading->survey ? end_survey(reading) : take_summary(reading, object);
}

static bool read_lines(struct reading *reading, const char *text, size_t size)
{
    struct json_lines lines = {.text = text, .size = size};
    json_t *object;
    while ((object = json_lines_next(&lines)) != NULL) {
        reading->line = lines.line;
        bool ok = take_line(reading, object);
        json_decref(object);
        if (!ok)
            return false;
    }
    reading->line = lines.line;
    if (lines.why != NULL)
        return fails(reading, "%s",
                     lines.is_last && reading->header ? "no summary: that run was cut off in this line"
                                                      : lines.why);
    reading->line = 0;
    if (!reading->header)
        return fails(reading, "empty");
    return (reading->summary && !reading->survey) || fails(reading, "no summary: that run was cut off");
}

bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error)
{
    struct reading reading = {.out = out, .error = error};
    memset(out, 0, sizeof *out);
    utf8_clean(out->file, sizeof out->file, path);
    return read_lines(&reading, text, size);
}

bool runs_are_of_one_region(const struct baseline *one, const struct baseline *other)
{
    const struct conditions *a = &one->run.conditions, *b = &other->run.conditions;
    return strcmp(a->start, b->start) == 0 && strcmp(a->end, b->end) == 0;
}

static bool check_regions(struct reading *reading)
{
    const struct runs *runs = reading->runs;
    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < i; k++)
            if (runs_are_of_one_region(runs->of[i], runs->of[k]))
                return fails(reading, "two runs of one region: %.80s, %.80s",
                             runs->of[i]->run.conditions.start, runs->of[i]->run.conditions.end);
    return true;
}

bool runs_parse(const char *text, size_t size, const char *path, struct runs *out, struct error *error)
{
    struct reading reading = {.runs = out, .error = error};
    out->n = 0;
    utf8_clean(out->file, sizeof out->file, path);
    bool ok = next_run(&reading) && read_lines(&reading, text, size) && check_regions(&reading);
    json_decref(reading.common_header);
    return ok;
}

void runs_free(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        json_decref(runs->of[i]->header);
        json_decref(runs->of[i]->summary);
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
