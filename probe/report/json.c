#include "report/json.h"

#include "base/version.h"
#include "report/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD = 256 };

/* An object that is being filled; one failure is remembered to the end. */
struct object {
    json_t *json;
    bool ok;
};

static struct object object_new(const char *type)
{
    struct object object = {.json = json_object(), .ok = true};
    if (type != NULL)
        object.ok = json_object_set_new(object.json, "type", json_string(type)) == 0;
    return object;
}

static void put(struct object *object, const char *key, json_t *value)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    if (json_object_set_new(object->json, utf8_clean(clean, sizeof(clean), key), value) != 0)
        object->ok = false;
}

static json_t *clean_string(const char *text)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    return json_string(utf8_clean(clean, sizeof(clean), text));
}

static json_t *unsigned_number(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

static void put_text(struct object *object, const char *key, const char *text)
{
    if (text[0] != '\0')
        put(object, key, clean_string(text));
}

static void put_unsigned(struct object *object, const char *key, uint64_t value)
{
    put(object, key, unsigned_number(value));
}

static void put_real(struct object *object, const char *key, double value)
{
    if (isfinite(value))
        put(object, key, json_real(value));
}

static void put_address(struct object *object, const char *key, uint64_t address)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%08" PRIx64, address);
    if (address != 0)
        put(object, key, json_string(text));
}

/* Consumes `part`. An empty one says nothing and is left out. */
static void put_object(struct object *object, const char *key, struct object part)
{
    object->ok = object->ok && part.ok;
    if (json_object_size(part.json) > 0)
        put(object, key, part.json);
    else
        json_decref(part.json);
}

static void put_array(struct object *object, const char *key, json_t *array)
{
    if (json_array_size(array) > 0)
        put(object, key, array);
    else
        json_decref(array);
}

static void append(struct object *object, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        object->ok = false;
}

/* One write a line: what is killed between two of them leaves whole lines. Consumes `object`. */
static bool write_line(FILE *out, struct object object)
{
    char *line = object.ok ? json_dumps(object.json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object.json);
    if (line == NULL) {
        errno = ENOMEM;
        return false;
    }
    size_t length = strlen(line);
    line[length] = '\n'; /* in the place of the NUL: fwrite is told the length */
    bool ok = fwrite(line, 1, length + 1, out) == length + 1 && fflush(out) == 0;
    free(line);
    return ok;
}

static void put_clock(struct object *object, const struct conditions *conditions)
{
    if (!(conditions->clock_hz > 0))
        return;
    put_real(object, "hz", conditions->clock_hz);
    if (conditions->clock_error_hz != 0)
        put_real(object, "error_hz", conditions->clock_error_hz);
    put_text(object, "source", conditions->clock_source);
}

static struct object region_object(const struct conditions *conditions)
{
    struct object region = object_new(NULL), addresses = object_new(NULL);
    put_text(&region, "start", conditions->start);
    put_text(&region, "start_source", conditions->start_source);
    put_text(&region, "end", conditions->end);
    put_text(&region, "end_source", conditions->end_source);
    put_address(&addresses, "start", conditions->start_address);
    put_address(&addresses, "end", conditions->end_address);
    put_object(&region, "addresses", addresses);
    return region;
}

bool json_header(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n,
                 time_t started)
{
    struct object header = {.json = json_object(), .ok = true}, tool = object_new(NULL);
    put_text(&header, "schema", JSON_SCHEMA);
    put_text(&header, "type", "header");
    put_text(&tool, "name", "pmu-probe");
    put_text(&tool, "version", PMU_PROBE_VERSION);
    put_object(&header, "tool", tool);
    put_text(&header, "link", conditions->link);
    put_text(&header, "core", conditions->core);
    put_text(&header, "counter", conditions->counter);
    put_text(&header, "note", conditions->note);
    put_text(&header, "elf", conditions->elf);
    put_text(&header, "build_id", conditions->build_id);
    put_object(&header, "region", region_object(conditions));

    struct object clock = object_new(NULL);
    put_clock(&clock, conditions);
    put_object(&header, "clock", clock);

    json_t *names = json_array();
    for (size_t i = 0; i < n; i++)
        append(&header, names, clean_string(columns[i].name));
    put_array(&header, "columns", names);

    struct tm utc;
    char text[64];
    if (started != 0 && gmtime_r(&started, &utc) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        put_text(&header, "started", text);
    return write_line(out, header);
}

/* Registers and memory at the end of a hit. */
static struct object words_object(const struct result_words *names, const uint64_t *values)
{
    struct object object = object_new(NULL);
    for (size_t i = 0; i < names->n; i++)
        put_unsigned(&object, names->names[i], values[i]);
    return object;
}

bool json_hit(FILE *out, const struct hit_result *hit, const struct summary *summary)
{
    const struct column *columns = summary->columns;
    struct object line = object_new("hit"), values = object_new(NULL);
    put_unsigned(&line, "hit", hit->number);
    if (summary->passes > 1)
        put_unsigned(&line, "pass", hit->pass + UINT64_C(1));
    put(&line, "tainted", json_boolean(hit->tainted));
    put_real(&line, "seconds", hit->seconds);
    json_t *bounds = json_array();
    for (size_t i = 0; i < hit->n; i++) {
        if (hit->values[i].absent)
            continue;
        put_unsigned(&values, columns[i].name, hit->values[i].count);
        if (hit->values[i].at_least)
            append(&line, bounds, clean_string(columns[i].name));
    }
    put_object(&line, "values", values);
    put_array(&line, "at_least", bounds);
    if (hit->words != NULL)
        put_object(&line, "new_max", words_object(&summary->at_max, hit->words));
    return write_line(out, line);
}

static struct object column_object(const struct column *column)
{
    const struct statistics *statistics = column->statistics;
    struct object object = object_new(NULL);
    if (column->unsupported[0] != '\0') {
        put_text(&object, "not_supported", column->unsupported);
        return object;
    }
    put_unsigned(&object, "count", statistics_count(statistics));
    if (statistics_count(statistics) > 0) {
        bool exact = false;
        put_unsigned(&object, "median", statistics_quantile(statistics, 0.5, &exact));
        put(&object, "median_exact", json_boolean(exact));
        put_real(&object, "mean", statistics_mean(statistics));
        put_real(&object, "sd", statistics_deviation(statistics));
        struct series_error error = statistics_error(statistics);
        put_real(&object, "mean_error", error.standard);
        put_real(&object, "mean_error_df", error.df);
        put_real(&object, "drift", error.drift);
        put_unsigned(&object, "min", statistics_min(statistics));
        put_unsigned(&object, "max", statistics_max(statistics));
        put_unsigned(&object, "p90", statistics_quantile(statistics, 0.9, NULL));
        put_unsigned(&object, "p99", statistics_quantile(statistics, 0.99, NULL));
    }
    put(&object, "calibrated", json_boolean(column->calibrated));
    if (column->calibrated) {
        put_real(&object, "overhead", column->overhead);
        put_real(&object, "plus_minus", column->plus_minus);
    }
    if (column->at_least > 0) {
        put_unsigned(&object, "at_least", column->at_least);
        put_unsigned(&object, "at_least_max", column->at_least_max);
    }
    return object;
}

/* In seconds, with the clock that they were computed by: it may be known only after the run. */
static struct object time_object(const struct summary *summary)
{
    struct object time = object_new(NULL);
    double hz = summary->conditions.clock_hz;
    if (summary->n == 0 || !(hz > 0))
        return time;
    const struct column *cycles = &summary->columns[0];
    if (statistics_count(cycles->statistics) > 0) {
        put_real(&time, "median", (double)statistics_quantile(cycles->statistics, 0.5, NULL) / hz);
        put_real(&time, "mean", statistics_mean(cycles->statistics) / hz);
        put_real(&time, "sd", statistics_deviation(cycles->statistics) / hz);
        put_real(&time, "min", (double)statistics_min(cycles->statistics) / hz);
        put_real(&time, "max", (double)statistics_max(cycles->statistics) / hz);
    }
    if (cycles->at_least > 0)
        put_real(&time, "at_least_max", (double)cycles->at_least_max / hz);
    if (json_object_size(time.json) > 0)
        put_clock(&time, &summary->conditions);
    return time;
}

static struct object metrics_object(const struct metric_result *metrics, size_t n)
{
    struct object object = object_new(NULL);
    for (size_t i = 0; i < n; i++)
        put(&object, metrics[i].name, isfinite(metrics[i].value) ? json_real(metrics[i].value) : json_null());
    return object;
}

bool json_summary(FILE *out, const struct summary *summary)
{
    struct object line = object_new("summary"), columns = object_new(NULL);
    put_unsigned(&line, "hits", summary->hits);
    if (summary->wanted > 0)
        put_unsigned(&line, "wanted", summary->wanted);
    put_unsigned(&line, "tainted", summary->tainted);
    if (summary->left > 0)
        put_unsigned(&line, "left", summary->left);
    if (summary->steps_past > 0)
        put_unsigned(&line, "steps_past", summary->steps_past);
    put_real(&line, "seconds", summary->seconds);
    if (summary->passes > 1)
        put_unsigned(&line, "passes", summary->passes);
    put_text(&line, "disagreement", summary->disagreement);
    if (summary->hits > 0)
        put(&line, "inclusive", json_true()); /* of whatever interrupted the region */
    if (summary->undisturbed != NULL) {
        struct object undisturbed = object_new(NULL);
        put_unsigned(&undisturbed, "count", statistics_count(summary->undisturbed));
        if (statistics_count(summary->undisturbed) > 0) {
            put_unsigned(&undisturbed, "median", statistics_quantile(summary->undisturbed, 0.5, NULL));
            put_unsigned(&undisturbed, "max", statistics_max(summary->undisturbed));
        }
        put_object(&line, "without_exceptions", undisturbed);
    }
    put_text(&line, "ended", summary->ended);
    put_text(&line, "uncalibrated", summary->uncalibrated);
    put_text(&line, "advice", summary->advice);
    if (summary->at_max.n > 0 && summary->max_number > 0) {
        struct object at_max = words_object(&summary->at_max, summary->at_max.values);
        put_unsigned(&at_max, "hit", summary->max_number);
        put_object(&line, "at_max", at_max);
    }
    for (size_t i = 0; i < summary->n; i++)
        put_object(&columns, summary->columns[i].name, column_object(&summary->columns[i]));
    put_object(&line, "columns", columns);
    put_object(&line, "metrics", metrics_object(summary->metrics, summary->n_metrics));
    put_object(&line, "time", time_object(summary));
    return write_line(out, line);
}

bool json_counts(FILE *out, const char *type, const struct counts *counts)
{
    struct object line = object_new(type), columns = object_new(NULL);
    put_real(&line, "seconds", counts->seconds);
    put_real(&line, "since_begin", counts->since_begin);
    for (size_t i = 0; i < counts->n; i++) {
        const struct counts_row *row = &counts->rows[i];
        struct object one = object_new(NULL);
        if (row->unsupported != NULL && row->unsupported[0] != '\0')
            put_text(&one, "not_supported", row->unsupported);
        if (!row->counted && json_object_size(one.json) == 0) {
            json_decref(one.json);
            continue;
        }
        if (row->counted) {
            put_unsigned(&one, "count", row->count);
            put_real(&one, "seconds", row->seconds);
            put(&one, "at_least", json_boolean(row->at_least));
        }
        put_object(&columns, row->name, one);
    }
    put_object(&line, "columns", columns);
    put_object(&line, "metrics", metrics_object(counts->metrics, counts->n_metrics));
    put_unsigned(&line, "skew_us", counts->skew_us);
    if (counts->halts > 0) {
        put_unsigned(&line, "halts", counts->halts);
        put_unsigned(&line, "halted_us", counts->halted_us);
    }
    put_unsigned(&line, "lost", counts->lost);
    return write_line(out, line);
}
