#include "report/comparison.h"

#include "base/file.h"
#include "report/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, FACT = 160 };

struct reading {
    struct baseline *out;
    struct error *error;
    unsigned line; /* from 1; 0: the whole file */
    bool header, summary;
};

__attribute__((format(printf, 2, 3))) static bool fails(const struct reading *reading, const char *format,
                                                        ...)
{
    char fact[2 * FACT], clean[UTF8_CLEAN_ROOM(sizeof fact)];
    va_list list;
    va_start(list, format);
    vsnprintf(fact, sizeof fact, format, list);
    va_end(list);
    utf8_clean(clean, sizeof clean, fact);
    if (reading->line > 0)
        return error_set(reading->error, ERROR_USAGE, "%s:%u: %s", reading->out->file, reading->line, clean);
    return error_set(reading->error, ERROR_USAGE, "%s: %s", reading->out->file, clean);
}

static void take_text(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    utf8_clean(out, size, text != NULL ? text : "");
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

static void take_clock(struct conditions *conditions, const json_t *object)
{
    double hz = 0;
    if (!take_real(&hz, object, "hz"))
        return;
    conditions->clock_hz = hz;
    if (!take_real(&conditions->clock_error_hz, object, "error_hz"))
        conditions->clock_error_hz = 0;
    take_text(conditions->clock_source, sizeof conditions->clock_source, object, "source");
}

static bool take_header(struct reading *reading, const json_t *object)
{
    struct conditions *conditions = &reading->out->conditions;
    if (reading->header)
        return fails(reading, "a second header; a baseline is one run");
    const json_t *region = json_object_get(object, "region");
    take_text(conditions->link, sizeof conditions->link, object, "link");
    take_text(conditions->core, sizeof conditions->core, object, "core");
    take_text(conditions->counter, sizeof conditions->counter, object, "counter");
    take_text(conditions->note, sizeof conditions->note, object, "note");
    take_text(conditions->elf, sizeof conditions->elf, object, "elf");
    take_text(conditions->build_id, sizeof conditions->build_id, object, "build_id");
    take_text(conditions->start, sizeof conditions->start, region, "start");
    take_text(conditions->end, sizeof conditions->end, region, "end");
    take_clock(conditions, json_object_get(object, "clock"));
    take_text(reading->out->started, sizeof reading->out->started, object, "started");
    reading->header = true;
    return true;
}

static bool take_column(struct reading *reading, const char *name, const json_t *object)
{
    struct baseline *out = reading->out;
    if (out->n == RESULT_COLUMNS)
        return fails(reading, "more than %d columns", RESULT_COLUMNS);
    struct baseline_column *column = &out->columns[out->n++];
    struct verdict_side *side = &column->side;
    utf8_clean(column->name, sizeof column->name, name);
    column->unsupported = json_object_get(object, "not_supported") != NULL;
    if (column->unsupported)
        return true;
    if (!take_unsigned(&side->n, object, "count"))
        return fails(reading, "no count of %.48s", column->name);
    if (side->n > 0 &&
        (!take_real(&side->mean, object, "mean") || !take_real(&side->sd, object, "sd") ||
         !take_unsigned(&side->min, object, "min") || !take_unsigned(&side->max, object, "max")))
        return fails(reading, "mean, sd, min or max of %.48s is missing or no count", column->name);
    column->has_median = take_real(&column->median, object, "median");
    /* Older files do not have it */
    struct series_error known = {0};
    if (take_real(&known.standard, object, "mean_error") && take_real(&known.df, object, "mean_error_df") &&
        take_real(&known.drift, object, "drift"))
        side->error = known;
    uint64_t bounds = 0;
    side->at_least = take_unsigned(&bounds, object, "at_least") && bounds > 0;
    column->calibrated = json_is_true(json_object_get(object, "calibrated"));
    if (column->calibrated && !take_real(&side->plus_minus, object, "plus_minus"))
        return fails(reading, "no plus_minus of %.48s, which was calibrated", column->name);
    return true;
}

static bool take_summary(struct reading *reading, json_t *object)
{
    if (reading->summary)
        return fails(reading, "a second summary; a baseline is one run");
    if (!json_is_integer(json_object_get(object, "hits")))
        return fails(reading, "a summary without hits: not of pmu-probe delta");
    take_text(reading->out->ended, sizeof reading->out->ended, object, "ended");
    /* The clock may have become known only after the header was written */
    take_clock(&reading->out->conditions, json_object_get(object, "time"));
    const char *name;
    json_t *column;
    json_object_foreach(json_object_get(object, "columns"), name, column)
    {
        if (!take_column(reading, name, column))
            return false;
    }
    reading->summary = true;
    return true;
}

static bool take_line(struct reading *reading, json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const json_t *schema = json_object_get(object, "schema");
    const char *named = json_string_value(schema);
    if (!reading->header && schema == NULL)
        return fails(reading, "no header of schema " JSON_SCHEMA ": not written by pmu-probe -j");
    if (schema != NULL && (named == NULL || strcmp(named, JSON_SCHEMA) != 0))
        return fails(reading, "its schema is %.64s, and " JSON_SCHEMA " is wanted",
                     named != NULL ? named : "no name");
    if (type == NULL || (!reading->header && strcmp(type, "header") != 0))
        return fails(reading, "a line of no known type");
    if (strcmp(type, "header") == 0)
        return take_header(reading, object);
    return strcmp(type, "summary") != 0 || take_summary(reading, object);
}

/* `last`: the file ends in this line, without a newline. */
static bool read_line(struct reading *reading, const char *line, size_t length, bool last)
{
    if (length > BASELINE_LINE_MAX)
        return fails(reading, "a line longer than 1 MiB");
    json_error_t problem;
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &problem);
    bool ok = false;
    if (object == NULL && last && reading->header)
        fails(reading, "no summary: that run was cut off in this line");
    else if (object == NULL)
        fails(reading, "not JSON: %.*s", FACT, problem.text);
    else if (!json_is_object(object))
        fails(reading, "not a JSON object");
    else
        ok = take_line(reading, object);
    json_decref(object);
    return ok;
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r", line[i]) == NULL || line[i] == '\0')
            return false;
    return true;
}

bool baseline_parse(const char *text, size_t size, const char *path, struct baseline *out,
                    struct error *error)
{
    struct reading reading = {.out = out, .error = error};
    memset(out, 0, sizeof *out);
    utf8_clean(out->file, sizeof out->file, path);
    if (size > BASELINE_FILE_MAX)
        return fails(&reading, "larger than 64 MiB");
    for (size_t at = 0; at < size;) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - line) : size - at;
        reading.line++;
        if (!is_blank(line, length) && !read_line(&reading, line, length, end == NULL))
            return false;
        at += length + (end != NULL);
    }
    reading.line = 0;
    if (!reading.header)
        return fails(&reading, "empty");
    return reading.summary || fails(&reading, "no summary: that run was cut off");
}

/* NULL: *why says why. */
static char *read_all(int fd, const volatile sig_atomic_t *cancel, size_t *size, const char **why)
{
    char *text = NULL, *more;
    size_t room = 0;
    *size = 0;
    for (*why = NULL; *why == NULL;) {
        if (*size == room) {
            room = room == 0 ? CHUNK : room * 2;
            more = realloc(text, room);
            if (more == NULL) {
                *why = "out of memory";
                break;
            }
            text = more;
        }
        ssize_t got = file_read(fd, text + *size, room - *size, cancel);
        *size += got > 0 ? (size_t)got : 0;
        if (*size > BASELINE_FILE_MAX)
            *why = "larger than 64 MiB";
        else if (got < 0)
            *why = strerror(errno);
        else if (*size < room)
            return text;
    }
    free(text);
    return NULL;
}

bool baseline_read(const char *path, const volatile sig_atomic_t *cancel, struct baseline *out,
                   struct error *error)
{
    char name[UTF8_CLEAN_ROOM(256)];
    utf8_clean(name, sizeof name, path);
    int fd = file_open_to_read(path, cancel);
    if (fd < 0 && errno == EINTR)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    if (fd < 0)
        return error_set(error, ERROR_USAGE, "%s: %s", name, strerror(errno));
    size_t size = 0;
    const char *why = NULL;
    errno = 0;
    char *text = read_all(fd, cancel, &size, &why);
    bool cancelled = text == NULL && errno == EINTR;
    close(fd);
    if (cancelled)
        return error_set(error, ERROR_CANCELLED, "cancelled");
    bool ok = text != NULL ? baseline_parse(text, size, path, out, error)
                           : error_set(error, ERROR_USAGE, "%s: %s", name, why);
    free(text);
    return ok;
}
