/* SPDX-License-Identifier: MIT */
#include "report/json.h"

#include "base/deadline.h"
#include "base/values.h"
#include "report/number.h"
#include "report/terminal.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIELD = 1024, BINS = 80 };

struct json_part json_part_new(const char *type)
{
    struct json_part part = {.json = json_object(), .ok = true};
    if (type != NULL)
        part.ok = json_object_set_new(part.json, "type", json_string(type)) == 0;
    return part;
}

static void json_put(struct json_part *part, const char *key, json_t *value)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    if (json_object_set_new(part->json, utf8_clean(clean, sizeof(clean), key), value) != 0)
        part->ok = false;
}

json_t *json_part_string(const char *text)
{
    char clean[UTF8_CLEAN_ROOM(FIELD)];
    return json_string(utf8_clean(clean, sizeof(clean), text));
}

void json_part_text(struct json_part *part, const char *key, const char *text)
{
    if (text[0] != '\0')
        json_put(part, key, json_part_string(text));
}

static json_t *count_json(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void json_part_unsigned(struct json_part *part, const char *key, uint64_t value)
{
    json_put(part, key, count_json(value));
}

void json_part_real(struct json_part *part, const char *key, double value)
{
    if (isfinite(value))
        json_put(part, key, json_real(value));
}

void json_part_bool(struct json_part *part, const char *key, bool value)
{
    json_put(part, key, json_boolean(value));
}

void json_part_some(struct json_part *part, const char *key, uint64_t value)
{
    if (value > 0)
        json_part_unsigned(part, key, value);
}

void json_part_true(struct json_part *part, const char *key, bool value)
{
    if (value)
        json_part_bool(part, key, true);
}

json_t *json_hex(uint64_t address)
{
    char text[32];
    snprintf(text, sizeof(text), "0x%08" PRIx64, address);
    return json_string(text);
}

void json_part_hex(struct json_part *part, const char *key, uint64_t address)
{
    json_put(part, key, json_hex(address));
}

void json_part_object(struct json_part *part, const char *key, struct json_part inner)
{
    part->ok = part->ok && inner.ok;
    if (json_object_size(inner.json) + json_array_size(inner.json) > 0)
        json_put(part, key, inner.json);
    else
        json_decref(inner.json);
}

void json_part_array(struct json_part *part, const char *key, json_t *array)
{
    if (json_array_size(array) > 0)
        json_put(part, key, array);
    else
        json_decref(array);
}

void json_part_append(struct json_part *part, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        part->ok = false;
}

void json_part_add(struct json_part *part, json_t *array, struct json_part inner)
{
    part->ok = part->ok && inner.ok;
    json_part_append(part, array, inner.json);
}

struct json_part json_part_copy(const json_t *line)
{
    json_t *copy = line != NULL ? json_copy((json_t *)line) : json_object();
    return (struct json_part){.json = copy, .ok = copy != NULL};
}

struct json_part json_list_new(void)
{
    return (struct json_part){.json = json_array(), .ok = true};
}

void json_list_say(struct json_part *list, const char *format, ...)
{
    char text[3 * FIELD];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_part_append(list, list->json, json_part_string(text));
}

json_t *json_list_end(struct json_part list)
{
    if (list.ok && list.json != NULL)
        return list.json;
    json_decref(list.json);
    return NULL;
}

/* Writes the reals of a line in the fewest digits that read back the same. The line only becomes shorter. */
static void shorten_reals(char *line)
{
    static const char of_number[] = "+-.0123456789eE";
    char *to = line;
    bool inside = false; /* a string */
    for (const char *from = line; *from != '\0';) {
        if (inside && *from == '\\') {
            *to++ = *from++;
            *to++ = *from++;
            continue;
        }
        size_t length = inside ? 0 : strspn(from, of_number);
        if (length > NUMBER_ROOM || strcspn(from, ".eE") >= length) { /* not a real */
            inside ^= *from == '"';
            for (size_t i = 0; i < length || i == 0; i++)
                *to++ = *from++;
            continue;
        }
        char real[NUMBER_ROOM + 2], text[NUMBER_ROOM];
        memcpy(real, from, length);
        real[length] = '\0';
        number_shortest(text, sizeof(text), strtod(real, NULL));
        if (strpbrk(text, ".e") == NULL) /* it stays a real */
            snprintf(text + strlen(text), sizeof(text) - strlen(text), ".0");
        size_t used = strlen(text) <= length ? strlen(text) : length;
        memmove(to, used == length ? from : text, used);
        to += used;
        from += length;
    }
    *to = '\0';
}

/* One write a line: a run that is killed leaves whole lines. */
bool json_line_write(FILE *out, const json_t *json)
{
    char *line = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (line == NULL) {
        errno = ENOMEM;
        return false;
    }
    shorten_reals(line);
    size_t length = strlen(line);
    line[length] = '\n'; /* replaces the NUL: fwrite gets the length */
    bool ok = fwrite(line, 1, length + 1, out) == length + 1 && fflush(out) == 0;
    free(line);
    return ok;
}

bool json_part_write(FILE *out, struct json_part part)
{
    bool ok = part.ok && json_line_write(out, part.json);
    if (!part.ok)
        errno = ENOMEM;
    json_decref(part.json);
    return ok;
}

static void put_started(struct json_part *header, time_t started)
{
    struct tm utc;
    char text[64];
    if (started != 0 && gmtime_r(&started, &utc) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        json_part_text(header, "started", text);
}

static struct json_part header_part(const char *schema)
{
    struct json_part header = json_part_new(NULL), tool = json_part_new(NULL);
    json_part_text(&header, "schema", schema);
    json_part_text(&header, "type", "header");
    json_part_text(&tool, "name", "pmu-probe");
    json_part_text(&tool, "version", PMU_PROBE_VERSION);
    json_part_object(&header, "tool", tool);
    return header;
}

struct json_part json_command_part(const char *command, const char *link)
{
    struct json_part header = header_part(JSON_SCHEMA);
    json_part_text(&header, "command", command);
    json_part_text(&header, "link", link);
    put_started(&header, deadline_wall_s());
    return header;
}

bool json_command_header(FILE *out, const char *command, const char *link)
{
    return json_part_write(out, json_command_part(command, link));
}

/* An address of zero is unknown. */
static void json_put_address(struct json_part *part, const char *key, uint64_t address)
{
    if (address != 0)
        json_part_hex(part, key, address);
}

static void json_put_clock(struct json_part *object, const struct conditions *conditions)
{
    if (!(conditions->clock_hz > 0))
        return;
    json_part_real(object, "hz", conditions->clock_hz);
    if (conditions->clock_error_hz != 0)
        json_part_real(object, "error_hz", conditions->clock_error_hz);
    json_part_text(object, "source", conditions->clock_source);
}

struct json_part json_region_part(const struct conditions *conditions)
{
    struct json_part region = json_part_new(NULL), addresses = json_part_new(NULL);
    json_part_text(&region, "start", conditions->start);
    json_part_text(&region, "start_source", conditions->start_source);
    json_part_text(&region, "start_file", conditions->start_file);
    json_part_text(&region, "end", conditions->end);
    json_part_text(&region, "end_source", conditions->end_source);
    json_put_address(&addresses, "start", conditions->start_address);
    json_put_address(&addresses, "end", conditions->end_address);
    json_part_object(&region, "addresses", addresses);
    return region;
}

struct json_part json_header_part(const char *schema, const struct conditions *conditions,
                                  const struct column *columns, size_t n, time_t started)
{
    struct json_part header = header_part(schema);
    json_part_text(&header, "link", conditions->link);
    json_part_text(&header, "core", conditions->core);
    json_part_text(&header, "counter", conditions->counter);
    json_part_text(&header, "note", conditions->note);
    json_part_text(&header, "elf", conditions->elf);
    json_part_text(&header, "build_id", conditions->build_id);
    json_part_text(&header, "elf_hash", conditions->elf_hash);
    json_part_object(&header, "region", json_region_part(conditions));

    struct json_part clock = json_part_new(NULL);
    json_put_clock(&clock, conditions);
    json_part_object(&header, "clock", clock);

    json_t *names = json_array();
    for (size_t i = 0; i < n; i++)
        json_part_append(&header, names, json_part_string(columns[i].name));
    json_part_array(&header, "columns", names);
    put_started(&header, started);
    return header;
}

struct json_part json_plan_header(const char *schema, const char *command,
                                  const struct conditions *conditions, const struct plan *plan)
{
    struct column columns[PLAN_COLUMNS] = {0};
    size_t n = plan != NULL ? plan->n_columns : 0;
    for (size_t i = 0; i < n; i++)
        snprintf(columns[i].name, sizeof columns[i].name, "%s", plan->columns[i].name);
    struct json_part header = json_header_part(schema, conditions, columns, n, deadline_wall_s());
    json_part_text(&header, "command", or_empty(command));
    return header;
}

bool json_header(FILE *out, const struct conditions *conditions, const struct column *columns, size_t n,
                 time_t started)
{
    return json_part_write(out, json_header_part(JSON_SCHEMA, conditions, columns, n, started));
}

void json_metric_words(struct json_part *line, const struct metric_result *metrics, size_t n)
{
    struct json_part units = json_part_new(NULL), reasons = json_part_new(NULL), errata = json_part_new(NULL);
    for (size_t i = 0; i < n; i++) {
        json_part_text(&units, metrics[i].name, metrics[i].unit);
        if (!isfinite(metrics[i].value))
            json_part_text(&reasons, metrics[i].name, metrics[i].why);
        json_part_text(&errata, metrics[i].name, metrics[i].errata);
    }
    json_part_object(line, "metric_units", units);
    json_part_object(line, "metric_reasons", reasons);
    json_part_object(line, "metric_errata", errata);
}

/* The same as texts: a real does not hold all digits of an address. */
static struct json_part words_as_texts(const struct result_words *words)
{
    struct json_part object = json_part_new(NULL);
    char text[32];
    for (size_t i = 0; i < words->n; i++) {
        snprintf(text, sizeof text, "0x%" PRIx64, words->values[i]);
        json_part_text(&object, words->names[i], text);
    }
    return object;
}

/* Registers and memory at the end of a hit. */
static struct json_part words_object(const struct result_words *names, const uint64_t *values)
{
    struct json_part object = json_part_new(NULL);
    for (size_t i = 0; i < names->n; i++)
        json_part_unsigned(&object, names->names[i], values[i]);
    return object;
}

struct json_part json_hit_part(const struct hit_result *hit, const struct summary *summary)
{
    const struct column *columns = summary->columns;
    struct json_part line = json_part_new("hit"), values = json_part_new(NULL);
    json_part_unsigned(&line, "hit", hit->number);
    if (summary->passes > 1)
        json_part_unsigned(&line, "pass", hit->pass + UINT64_C(1));
    json_part_bool(&line, "tainted", hit->tainted);
    json_part_true(&line, "exception", hit->excepted);
    json_part_true(&line, "warmup", hit->warmup);
    json_part_real(&line, "seconds", hit->seconds);
    json_t *bounds = json_array();
    for (size_t i = 0; i < hit->n; i++) {
        if (hit->values[i].absent)
            continue;
        json_part_unsigned(&values, columns[i].name, hit->values[i].count);
        if (hit->values[i].at_least)
            json_part_append(&line, bounds, json_part_string(columns[i].name));
    }
    json_part_object(&line, "values", values);
    json_part_array(&line, "at_least", bounds);
    if (hit->words != NULL)
        json_part_object(&line, "new_max", words_object(&summary->at_max, hit->words));
    return line;
}

bool json_hit(FILE *out, const struct hit_result *hit, const struct summary *summary)
{
    return json_part_write(out, json_hit_part(hit, summary));
}

static void add_bin(struct json_part *part, json_t *bins, uint64_t low, uint64_t count)
{
    json_t *pair = json_array();
    json_part_append(part, pair, count_json(low));
    json_part_append(part, pair, count_json(count));
    json_part_append(part, bins, pair);
}

/* False: they are too many, or were not kept. */
static bool json_add_values(struct json_part *part, json_t *bins, const struct statistics *statistics,
                            const struct outliers *shape)
{
    bool exact = false;
    uint64_t at = shape->low, next, last;
    statistics_quantile(statistics, 0.5, &exact);
    while (exact && json_array_size(bins) < BINS &&
           statistics_between(statistics, at, shape->high, &next, &last) > 0) {
        add_bin(part, bins, next, statistics_between(statistics, next, next, &last, &last));
        if (next == shape->high)
            return true;
        at = next + 1;
    }
    return false;
}

static void put_far(struct json_part *part, const char *key, uint64_t count, uint64_t least, uint64_t most)
{
    struct json_part far = json_part_new(NULL);
    if (count > 0) {
        json_part_unsigned(&far, "count", count);
        json_part_unsigned(&far, "least", least);
        json_part_unsigned(&far, "most", most);
    }
    json_part_object(part, key, far);
}

/* Each value with how often it was, as long as they are few; else bins of one width, without empty ones. */
static struct json_part distribution_object(const struct statistics *statistics)
{
    struct json_part part = json_part_new(NULL);
    struct outliers shape = statistics_outliers(statistics);
    struct histogram_bin some[BINS];
    uint64_t width = 1;
    json_t *bins = json_array();
    if (statistics_min(statistics) == statistics_max(statistics)) {
        json_decref(bins);
        return part;
    }
    if (!json_add_values(&part, bins, statistics, &shape)) {
        size_t n = statistics_histogram(statistics, shape.low, shape.high, some, BINS);
        json_array_clear(bins);
        for (size_t i = 0; i < n; i++)
            if (some[i].count > 0)
                add_bin(&part, bins, some[i].low, some[i].count);
        width = n > 1 ? some[1].low - some[0].low : shape.high - shape.low;
    }
    json_part_unsigned(&part, "low", shape.low);
    json_part_unsigned(&part, "high", shape.high);
    json_part_unsigned(&part, "width", width);
    json_part_array(&part, "bins", bins);
    put_far(&part, "below", shape.below, shape.below_least, shape.below_most);
    put_far(&part, "above", shape.above, shape.above_least, shape.above_most);
    return part;
}

/* The upper of two hits in the middle, if it is another one. */
static void put_other_middle(struct json_part *object, const struct statistics *statistics)
{
    uint64_t n = statistics_count(statistics);
    bool exact = false;
    uint64_t low = statistics_quantile(statistics, 0.5, &exact);
    uint64_t next = statistics_quantile(statistics, ((double)n / 2 + 0.5) / (double)n, NULL);
    if (exact && n % 2 == 0 && next != low)
        json_part_unsigned(object, "median_above", next);
}

static struct json_part column_object(const struct column *column)
{
    const struct statistics *statistics = column->statistics;
    struct json_part object = json_part_new(NULL);
    if (column->unsupported[0] != '\0') {
        json_part_text(&object, "not_supported", column->unsupported);
        return object;
    }
    json_part_unsigned(&object, "count", statistics_count(statistics));
    json_part_text(&object, "errata", column->errata);
    if (statistics_count(statistics) > 0) {
        bool exact = false;
        json_part_unsigned(&object, "median", statistics_quantile(statistics, 0.5, &exact));
        json_part_bool(&object, "median_exact", exact);
        json_part_real(&object, "mean", statistics_mean(statistics));
        json_part_real(&object, "sd", statistics_deviation(statistics));
        struct series_error error = column_error(column);
        if (column->at_least == 0) { /* else what is not included may be any */
            json_part_real(&object, "mean_error", error.standard);
            json_part_real(&object, "mean_error_df", error.df);
            json_part_real(&object, "drift", error.drift);
        }
        json_part_unsigned(&object, "min", statistics_min(statistics));
        json_part_unsigned(&object, "max", statistics_max(statistics));
        json_part_unsigned(&object, "p90", statistics_quantile(statistics, 0.9, NULL));
        json_part_unsigned(&object, "p99", statistics_quantile(statistics, 0.99, NULL));
        put_other_middle(&object, statistics);
        json_part_object(&object, "distribution", distribution_object(statistics));
    }
    json_part_bool(&object, "calibrated", column->calibrated);
    if (column->calibrated) {
        json_part_real(&object, "overhead", column->overhead);
        json_part_real(&object, "plus_minus", column->plus_minus);
    }
    if (column->at_least > 0) {
        json_part_unsigned(&object, "at_least", column->at_least);
        json_part_unsigned(&object, "at_least_max", column->at_least_max);
        json_part_some(&object, "bits", column->bits);
    }
    return object;
}

/* In seconds, with the clock that gave them: it may become known only after the run. */
static struct json_part time_object(const struct summary *summary)
{
    struct json_part time = json_part_new(NULL);
    double hz = summary->conditions.clock_hz;
    if (summary->n == 0 || !(hz > 0) || summary->columns[0].unsupported[0] != '\0')
        return time;
    const struct column *cycles = &summary->columns[0];
    if (statistics_count(cycles->statistics) > 0) {
        json_part_real(&time, "median", (double)statistics_quantile(cycles->statistics, 0.5, NULL) / hz);
        json_part_real(&time, "mean", statistics_mean(cycles->statistics) / hz);
        json_part_real(&time, "sd", statistics_deviation(cycles->statistics) / hz);
        json_part_real(&time, "min", (double)statistics_min(cycles->statistics) / hz);
        json_part_real(&time, "max", (double)statistics_max(cycles->statistics) / hz);
    }
    if (cycles->at_least > 0)
        json_part_real(&time, "at_least_max", (double)cycles->at_least_max / hz);
    if (json_object_size(time.json) > 0)
        json_put_clock(&time, &summary->conditions);
    if (time.json != NULL && json_object_get(time.json, "hz") != NULL && summary->conditions.clock_off_hz > 0)
        json_part_real(&time, "off_hz", summary->conditions.clock_off_hz);
    return time;
}

struct json_part json_metrics(const struct metric_result *metrics, size_t n)
{
    struct json_part object = json_part_new(NULL);
    for (size_t i = 0; i < n; i++)
        json_put(&object, metrics[i].name,
                 isfinite(metrics[i].value) ? json_real(metrics[i].value) : json_null());
    return object;
}

/* Of more than 1 % that are left out the rest may be others than all; see trace.md. */
static struct json_part calls_object(const struct summary *summary)
{
    const struct summary_calls *calls = &summary->calls;
    struct json_part part = json_part_new(NULL);
    if (calls->seen == 0)
        return part;
    double share = calls_left_out(calls);
    json_part_unsigned(&part, "seen", calls->seen);
    json_part_unsigned(&part, "exact", calls->exact);
    json_part_real(&part, "left_out", share);
    json_part_bool(&part, "isolated", share > result_few_left_out);
    json_part_unsigned(&part, "late", calls->late);
    json_part_unsigned(&part, "together", calls->together);
    json_part_unsigned(&part, "unproved", calls->unproved);
    json_part_unsigned(&part, "lost", calls->lost);
    json_part_unsigned(&part, "unpaired", calls->unpaired);
    json_part_unsigned(&part, "gaps", calls->gaps);
    if (calls->longest > statistics_max(summary->columns[0].statistics))
        json_part_unsigned(&part, "longest_left_out", calls->longest);
    return part;
}

void json_summary_fill(struct json_part *line, const struct summary *summary)
{
    struct json_part columns = json_part_new(NULL);
    json_part_unsigned(line, "hits", summary->hits);
    json_part_some(line, "wanted", summary->wanted);
    json_part_unsigned(line, "tainted", summary->tainted);
    json_part_some(line, "warmup", summary->warmup);
    if (summary->precision > 0) {
        struct json_part precision = json_part_new(NULL);
        json_part_real(&precision, "wanted", summary->precision);
        json_part_bool(&precision, "reached", summary->precise <= summary->precision);
        json_part_real(&precision, "mean", summary->precise);
        json_part_object(line, "precision", precision);
    }
    json_part_some(line, "left", summary->left);
    if (summary->cut > 0) {
        json_part_unsigned(line, "cut", summary->cut);
        json_part_unsigned(line, "cut_at_least", summary->cut_least);
    }
    json_part_some(line, "steps_past", summary->steps_past);
    json_part_object(line, "calls", calls_object(summary));
    json_part_text(line, "doubt", summary->doubt);
    json_part_true(line, "slept", summary->slept);
    json_part_real(line, "seconds", summary->seconds);
    if (summary->halts.us > 0) {
        json_part_unsigned(line, "halts", summary->halts.n);
        json_part_real(line, "halted_us", summary->halts.us);
        json_part_real(line, "halted_plus_minus_us", summary->halts.plus_minus_us);
        json_part_real(line, "halted_share", summary->halts.share);
        json_part_true(line, "halted_at_most", summary->halts.at_most);
    }
    if (summary->passes > 1)
        json_part_unsigned(line, "passes", summary->passes);
    json_part_text(line, "disagreement", summary->disagreement);
    json_part_text(line, "clock_change", summary->conditions.clock_change);
    if (summary->hits > 0)
        json_part_bool(line, "inclusive", true); /* exceptions inside the region count */
    if (summary->undisturbed != NULL) {
        struct json_part undisturbed = json_part_new(NULL);
        json_part_unsigned(&undisturbed, "count", statistics_count(summary->undisturbed));
        if (statistics_count(summary->undisturbed) > 0) {
            json_part_unsigned(&undisturbed, "median", statistics_quantile(summary->undisturbed, 0.5, NULL));
            json_part_unsigned(&undisturbed, "max", statistics_max(summary->undisturbed));
        }
        json_part_object(line, "without_exceptions", undisturbed);
    }
    json_part_text(line, "ended", summary->ended);
    json_part_text(line, "uncalibrated", summary->uncalibrated);
    json_part_text(line, "advice", summary->advice);
    if (summary->at_max.n > 0 && summary->max_number > 0) {
        struct json_part at_max = words_object(&summary->at_max, summary->at_max.values);
        json_part_unsigned(&at_max, "hit", summary->max_number);
        json_part_object(line, "at_max", at_max);
        json_part_object(line, "at_max_words", words_as_texts(&summary->at_max));
    }
    for (size_t i = 0; i < summary->n; i++)
        json_part_object(&columns, summary->columns[i].name, column_object(&summary->columns[i]));
    json_part_object(line, "columns", columns);
    json_part_object(line, "metrics", json_metrics(summary->metrics, summary->n_metrics));
    json_metric_words(line, summary->metrics, summary->n_metrics);
    json_part_object(line, "time", time_object(summary));
}
